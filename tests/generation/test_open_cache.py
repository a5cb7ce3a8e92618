"""Texts written through another cache: the same however they come about, its bytes really held, or refused at once."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glasscli import ConfigError, SamplingParams, UsageError, generate, load_model
from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import parse_choice
from glasscli.checkpoint.load import LoadedModel
from glasscli.errors import CheckpointError
from glasscli.generation.batch import generate_batch
from glasscli.quality.merged import with_merged_heads

GREEDY = SamplingParams(temperature=0.0)
SPECS = ["f16", "q8_0", "q4_0,norot", "k=q8_0,v=q4_0", "kivi2"]
SPECS += ["window=8", "sinks=2+window=6,renumber", "h2o=8", "tova=8"]
PROMPTS = ["Once upon a time there was a", "Lily had", "The dog ran and ran and ran, and then"]


@pytest.fixture(scope="module")
def shipped() -> LoadedModel:
    return load_model()


@pytest.mark.parametrize("spec", SPECS)
def test_a_text_is_what_the_model_says_of_that_cache(shipped: LoadedModel, spec: str) -> None:
    """Greedy tokens, each read by the readable form of the model behind all before; so are those of a batch."""
    choice = parse_choice(spec)
    alone = [generate(shipped, prompt, params=GREEDY, max_new_tokens=30, cache=choice) for prompt in PROMPTS]
    for run in alone:
        list(run)
        assert run.cache is not None
        n_read = len(run.prompt.token_ids) + len(run.token_ids)
        own = shipped.model.chosen_cache(choice, len(run.prompt.token_ids) + 30)
        assert (run.choice, run.cache.nbytes) == (choice, own.nbytes)
        logits = shipped.model([*run.prompt.token_ids, *run.token_ids], shipped.model.chosen_cache(choice, n_read))
        scored = logits[len(run.prompt.token_ids) - 1 : -1]
        chosen = scored[np.arange(len(run.token_ids)), run.token_ids]
        assert (scored.max(axis=1) - chosen).max() < 0.02  # else but for a tie that a last bit decides
    batch = generate_batch(shipped, PROMPTS, params=GREEDY, max_new_tokens=30, cache=choice)
    steps = [n for n, _ in batch]
    assert len(steps) == sum(len(run.token_ids) for run in batch.runs) > 60
    longest = max(len(run.prompt.token_ids) for run in alone) + 30
    assert batch.kv_bytes == shipped.model.chosen_cache(choice, longest, batch=3).nbytes
    same = sum(a.token_ids == b.token_ids for a, b in zip(alone, batch.runs, strict=True))
    assert same >= 2


def test_memory_is_really_smaller(make_model_folder: Callable[..., Path]) -> None:
    """The peak while decoding behind 3,000 tokens: the cache and 4 MiB, where one layer in float32 takes 8 MiB."""
    folder = make_model_folder(hidden_size=64, head_dim=64, num_key_value_heads=4, max_position_embeddings=4096)
    loaded = load_model(folder)
    peak = {}
    for spec in ("f32", "q8_0", "q4_0", "kivi2", "sinks=4+window=252"):
        tracemalloc.start()
        cache, decoder = loaded.model.chosen_cache(parse_choice(spec), 4096), loaded.model.decoder()
        cache.lengths = [3000]
        for token_id in (5, 6, 7):
            decoder.step(token_id, cache)
        peak[spec] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert cache.nbytes <= peak[spec] < cache.nbytes + 4 * 2**20, spec
    assert peak["q8_0"] < 0.4 * peak["f32"]
    assert peak["sinks=4+window=252"] < 0.2 * peak["f32"]


def test_a_text_slides_on_where_tokens_can_be_forgotten(make_model_folder: Callable[..., Path]) -> None:
    loaded = load_model(make_model_folder(max_position_embeddings=32))
    for spec in ("f16", "bf16", "fp8"):
        run = generate(loaded, "ab", params=GREEDY, max_new_tokens=60, ignore_eos=True, overflow="slide",
                       cache=parse_choice(spec))  # fmt: skip
        assert len(list(run)) == 60
        assert run.n_slid > 20
    for spec in ("window=8", "h2o=8", "tova=8"):
        with pytest.raises(UsageError, match=f"the cache {spec} of this model can't: use error or left"):
            generate(loaded, "ab", overflow="slide", cache=parse_choice(spec))
        assert len(list(generate(loaded, "ab", max_new_tokens=4, overflow="left", cache=parse_choice(spec)))) <= 4


def test_what_can_t_be_is_refused_before_the_first_token(shipped: LoadedModel) -> None:
    refused: list[tuple[type[Exception], str, Callable[[], object]]] = [
        (UsageError, "is for 1 key/value heads and the model has 2",
         lambda: generate(shipped, "a", cache=CacheChoice(kv_heads=1))),
        (UsageError, "is for 1 key/value heads", lambda: generate_batch(shipped, ["a"], cache=CacheChoice(kv_heads=1))),
        (UsageError, "nothing that could be kept as q8_0",
         lambda: generate(shipped, "a", use_cache=False, cache=parse_choice("q8_0"))),
        (ConfigError, "can't be merged into 3 groups", lambda: with_merged_heads(shipped, CacheChoice(kv_heads=3))),
    ]  # fmt: skip
    for kind, says, call in refused:
        with pytest.raises(kind, match=says):
            call()
    one = with_merged_heads(shipped, CacheChoice(kv_heads=1))
    run = generate(one, "a", max_new_tokens=3, cache=CacheChoice(kv_heads=1), ignore_eos=True)
    assert len(list(run)) == 3


def test_blocks_that_do_not_divide_a_head_are_refused(loaded: LoadedModel) -> None:
    with pytest.raises(ConfigError, match="q8_0 packs blocks of 32 elements, which do not divide a head width of 8"):
        generate(loaded, "a", cache=parse_choice("q8_0"))


def test_numbers_too_large_for_a_format_are_its_fault(shipped: LoadedModel) -> None:
    """Keys a million times as large: float32 holds them, a half does not."""
    model = load_model().model
    config = shipped.config
    first, last = config.n_heads * config.head_dim, (config.n_heads + config.n_kv_heads) * config.head_dim
    model.weights.blocks[0].qkv[:, first:last] *= 1e6
    with pytest.raises(CheckpointError, match="With the full cache the same tokens give numbers: f16 can't hold them"):
        list(generate(replace(shipped, model=model), "Once", max_new_tokens=2, cache=parse_choice("f16")))
