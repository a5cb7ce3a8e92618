"""What a cache can still repeat, on a model of three lines that copies whatever it sees."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glasscli.arrays import Array
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.quality.trial import Trial, told_twice

N = 400  # tokens, the first of them special


class Copier:
    """Predicts what followed this token before, if its cache still shows both."""

    has_fast_form = False

    def chosen_cache(self, choice: CacheChoice, max_tokens: int) -> Any:
        return SimpleNamespace(choice=choice, seen=[], stores=[SimpleNamespace(by_attention=False)], nbytes=max_tokens)

    def __call__(self, ids: list[int], cache: Any, last_only: bool = False) -> Array:
        rows = []
        for token in ids:
            cache.seen.append(token)
            choice, at = cache.choice, len(cache.seen) - 1
            kept = [p for p in range(at) if choice.keeps == "all" or p < choice.sinks or p > at - choice.tokens]
            rows.append(np.zeros(N, np.float32))
            for place in kept:
                if cache.seen[place] == token and place + 1 in kept:
                    rows[-1][cache.seen[place + 1]] = 9
        return np.array(rows[-1:] if last_only else rows)


def loaded_copier() -> Any:
    config = SimpleNamespace(bos_ids=(0,), vocab_size=N, max_seq_len=512, n_kv_heads=1, head_dim=32)
    tokenizer = SimpleNamespace(special_ids=frozenset({0}), vocab_size=N)
    return SimpleNamespace(config=config, tokenizer=tokenizer, unused_ids=(N - 1,), model=Copier())


@pytest.fixture(scope="module")
def trial() -> Trial:
    return Trial(loaded_copier(), [[7] * 255], 256)


def test_the_string_stands_at_both_ends_of_a_chunk() -> None:
    ids = told_twice(loaded_copier(), [0, *range(1, 100)], 20, seed=1)
    assert len(ids) == 100
    assert ids[0] == 0
    assert ids[1:21] == ids[-20:]
    assert ids[21:-20] == list(range(1, 60))
    assert len(set(ids[1:21])) == 20
    assert not {0, N - 1} & set(ids[1:21])
    assert told_twice(loaded_copier(), [0, *range(1, 100)], 20, seed=2) != ids


@pytest.mark.parametrize(
    ("spec", "copied"),
    [("f32", 1), ("window=200", 1), ("window=120", 0), ("sinks=4+window=60", 2 / 63)],
)
def test_what_left_the_cache_is_not_repeated(trial: Trial, spec: str, copied: float) -> None:
    """64 tokens come again 192 later: a window of 200 holds them, one of 120 does not.

    Four sinks are the mark and three of the tokens; two of the 63 that are scored follow a token among those.
    """
    assert trial.copied == 1
    found = trial._copied(trial.loaded.model, parse_choice(spec))
    assert found == pytest.approx(copied)
