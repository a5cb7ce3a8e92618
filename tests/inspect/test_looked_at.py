"""What a step looked at: shares over heads and layers, beside the sum written out."""

import numpy as np
import pytest
from helpers.dump_cases import PROMPT, tiny

from glasscli import generate
from glasscli.cache.choice_text import parse_choice
from glasscli.errors import UsageError
from glasscli.inspect.dump import dump_attention, dump_decode
from glasscli.inspect.looked_at import Watch, looked_at


def test_shares_are_weights_times_lengths_summed_over_heads_and_layers() -> None:
    dump = dump_attention(tiny(), PROMPT, [0, 2])
    expected = np.zeros(15)
    for trace in dump.layers:
        for head in (1, 3):
            for key in range(15):
                value = trace.cache_v_KSE[head // 2, key].astype(float)
                expected[key] += trace.pattern_HTS[head, 14, key] * np.sqrt((value * value).sum())
    np.testing.assert_allclose(looked_at(dump.layers, [3, 1]), expected / expected.sum(), rtol=1e-6)


def test_each_step_of_a_text_is_seen_as_a_dump_of_it_sees_it() -> None:
    watch = Watch.of([0, 1, 2], range(4))
    run = generate(tiny(), PROMPT, max_new_tokens=5, seed=3, ignore_eos=True, trace=watch.trace)
    seen = [(step.token_id, watch.shares()) for step in run]
    assert [len(shares) for _, shares in seen] == [15, 16, 17, 18, 19]
    plain = generate(tiny(), PROMPT, max_new_tokens=5, seed=3, ignore_eos=True)
    assert [step.token_id for step in plain] == [token_id for token_id, _ in seen]  # watching changes no text
    dump = dump_decode(tiny(), PROMPT, [0, 1, 2], [token_id for token_id, _ in seen])
    for row, (_, shares) in enumerate(seen):
        lengths = [np.linalg.norm(trace.cache_v_KSE.astype(float), axis=-1) for trace in dump.layers]
        parts = [
            trace.pattern_HTS[head, row, : 15 + row] * length[head // 2, : 15 + row]
            for trace, length in zip(dump.layers, lengths, strict=True)
            for head in range(4)
        ]
        expected = np.sum(parts, axis=0)
        np.testing.assert_allclose(shares, expected / expected.sum(), atol=1e-6)


def test_what_a_smaller_cache_let_go_of_is_not_looked_at() -> None:
    watch = Watch.of([1], range(4))
    choice = parse_choice("sinks=1+window=3")
    run = generate(tiny(), PROMPT, max_new_tokens=3, seed=0, ignore_eos=True, cache=choice, trace=watch.trace)
    for n, _ in enumerate(run, 15):
        shares = watch.shares()
        assert np.flatnonzero(shares).tolist() == [0, n - 3, n - 2, n - 1]
        assert shares.sum() == pytest.approx(1)


def test_a_step_that_moves_its_tokens_is_not_watched() -> None:
    trace = Watch.of([0], range(4)).trace
    with pytest.raises(UsageError, match="a trace looks at steps behind a cache"):
        generate(tiny(), PROMPT, use_cache=False, trace=trace)
    with pytest.raises(UsageError, match="a trace looks at steps behind a cache"):
        generate(tiny(), PROMPT, overflow="slide", trace=trace)
