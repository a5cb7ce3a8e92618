"""The forward pass: against a slow float64 reference, and against itself in every way tokens can arrive."""

import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers import reference
from helpers.random_llama import KINDS, settings, tensors, token_ids

from glasscli import KVCache, Llama, ModelConfig, Trace, UsageError
from glasscli.model.ops import Norm

N_TOKENS = 40


def build(config: dict[str, Any], seed: int = 0) -> Llama:
    return Llama(ModelConfig.from_dict(config), tensors(config, seed))


@pytest.fixture(params=sorted(KINDS))
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    return settings(**KINDS[request.param])


def test_logits_equal_the_slow_reference(config: dict[str, Any]) -> None:
    ids = token_ids(config, N_TOKENS)
    expected = reference.logits(config, tensors(config), ids)
    np.testing.assert_allclose(build(config)(ids), expected, rtol=0, atol=1e-4)
    assert np.abs(expected).max() > 1  # the comparison above says something


@pytest.mark.parametrize("size", [1, 3, 8, 17])
def test_every_position_is_the_same_however_tokens_come(config: dict[str, Any], size: int) -> None:
    model, ids = build(config), token_ids(config, N_TOKENS)
    cache = model.new_cache(N_TOKENS)
    parts = [model(ids[i : i + size], cache) for i in range(0, N_TOKENS, size)]
    np.testing.assert_allclose(np.concatenate(parts), model(ids), rtol=0, atol=1e-4)
    assert cache.length == N_TOKENS


def test_a_prompt_longer_than_a_block_equals_one_block() -> None:
    config = settings()
    model, ids = build(config), token_ids(config, 300)
    traced = model(ids, trace=Trace([]))  # a traced call computes everything in one block
    np.testing.assert_allclose(model(ids), traced, rtol=0, atol=1e-4)
    np.testing.assert_allclose(model(ids, last_only=True), model(ids)[-1:], rtol=0, atol=1e-5)


def test_decode_goes_over_from_few_keys_to_many() -> None:
    config = settings(max_position_embeddings=1200)
    model, ids = build(config), token_ids(config, 1100)
    cache = model.new_cache(1200)
    model(ids[:500], cache)
    stepped = np.concatenate([model([i], cache) for i in ids[500:]])
    np.testing.assert_allclose(stepped, model(ids)[500:], rtol=0, atol=1e-4)


def test_a_traced_run_computes_the_same(config: dict[str, Any]) -> None:
    model, ids = build(config), token_ids(config, N_TOKENS)
    np.testing.assert_allclose(model(ids, trace=Trace(range(3))), model(ids), rtol=0, atol=1e-5)
    plain, traced = model.new_cache(), model.new_cache()
    model(ids[:-1], plain)
    model(ids[:-1], traced)
    fast, slow = model(ids[-1:], plain), model(ids[-1:], traced, trace=Trace([0]))
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-4)
    for layer in range(3):
        for fast_part, slow_part in zip(plain.held(layer)[:2], traced.held(layer)[:2], strict=True):
            np.testing.assert_allclose(fast_part, slow_part, rtol=0, atol=1e-5)


def test_a_batch_equals_its_sequences_one_by_one(config: dict[str, Any]) -> None:
    model = build(config)
    prompts = [token_ids(config, n, seed=n) for n in (3, 20, 1, 11)]
    following = np.array([token_ids(config, 5, seed=50 + b) for b in range(4)])
    cache = model.new_cache(32, batch=4)
    for b, prompt in enumerate(prompts):
        row = cache.row(b)
        model(prompt, row)
        cache.lengths[b] = row.length
    steps = [model.decode_batch(following[:, i].tolist(), cache) for i in range(3)]
    for b, prompt in enumerate(prompts):
        expected = model(prompt + following[b, :3].tolist())[-3:]
        np.testing.assert_allclose(np.stack([step[b] for step in steps]), expected, rtol=0, atol=1e-4)
    some = cache.select([2, 1])
    shorter = model.decode_batch(following[[2, 1], 3].tolist(), some)
    for i, b in enumerate([2, 1]):
        expected = model(prompts[b] + following[b, :4].tolist())[-1]
        np.testing.assert_allclose(shorter[i], expected, rtol=0, atol=1e-4)


def test_a_cache_may_go_from_one_model_to_another() -> None:
    """What a model leaves of a step must not make the next model answer with its weights."""
    config = settings()
    first, second = build(config, seed=0), build(config, seed=1)
    cache, ids = first.new_cache(), token_ids(config, 4)
    first(ids[:2], cache)
    first(ids[2:3], cache)
    cache.truncate(0)
    second(ids[:3], cache)
    np.testing.assert_allclose(second(ids[3:], cache), second(ids)[3:], rtol=0, atol=1e-4)


def test_everything_is_float32(config: dict[str, Any]) -> None:
    model, ids = build(config), token_ids(config, 5)
    cache, trace = model.new_cache(), Trace([1])
    assert model(ids, cache, trace=trace).dtype == np.float32
    assert model(ids[:1], cache).dtype == np.float32
    assert model.decode_batch(ids[:1], cache).dtype == np.float32
    kept = {name: value for name, value in vars(trace.layers[1]).items() if isinstance(value, np.ndarray)}
    assert {v.dtype for name, v in kept.items() if name != "mask_TS"} == {np.dtype(np.float32)}
    block = [w for w in vars(model.weights.blocks[0]).values() if w is not None]
    norms = [w.weight for w in (model.weights.norm, *block) if isinstance(w, Norm)]
    weights = [model.weights.embedding, *norms, *(w for w in block if not isinstance(w, Norm))]
    assert {w.dtype for w in weights} == {np.dtype(np.float32)}


def test_sliding_keeps_the_sinks_and_renumbers_the_rest() -> None:
    """After one layer, dropping tokens and turning keys back equals never having read them."""
    config = settings(num_hidden_layers=1)
    model, ids = build(config), token_ids(config, 30)
    cache = model.new_cache(64)
    model(ids, cache)
    model.slide_window(cache, sinks=4, drop=10)
    fresh = model.new_cache(64)
    model(ids[:4] + ids[14:], fresh)
    assert cache.length == fresh.length == 20
    # Keys and values of the first layer depend on the token and its position alone.
    for moved, read in zip(cache.held(0)[:2], fresh.held(0)[:2], strict=True):
        np.testing.assert_allclose(moved, read, rtol=0, atol=1e-5)
    np.testing.assert_allclose(model([7], cache), model([7], fresh), rtol=0, atol=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    model = build(settings())
    with pytest.raises(UsageError, match="no tokens"):
        model([])
    with pytest.raises(UsageError, match="token id 96 is outside the model's vocabulary of 96"):
        model([1, 96])
    with pytest.raises(UsageError, match="token id -1 "):
        model([-1])
    cache = model.new_cache(3)
    with pytest.raises(UsageError, match="don't fit a cache"):
        model([1, 2, 3, 4], cache)
    model([1, 2, 3], cache)
    with pytest.raises(UsageError, match="don't fit a cache"):
        model([1], cache)


def test_each_tensor_is_asked_for_once() -> None:
    """So a mapping that reads on demand never holds two copies of the model."""

    class Counted(dict[str, Any]):
        asked: ClassVar[list[str]] = []

        def __getitem__(self, name: str) -> Any:
            self.asked.append(name)
            return super().__getitem__(name)

    config = settings()
    Llama(ModelConfig.from_dict(config), Counted(tensors(config)))
    assert sorted(Counted.asked) == sorted(tensors(config))


def test_a_long_prompt_adds_little_memory() -> None:
    """4,096 tokens through a model of the shipped shape, last logits only: at most 25 MiB more at the peak."""
    program = """
import re
from helpers.random_llama import settings, tensors
from glasscli import Llama, ModelConfig
config = settings(hidden_size=128, intermediate_size=384, num_hidden_layers=4, head_dim=32, vocab_size=1024,
                  max_position_embeddings=4096)
model = Llama(ModelConfig.from_dict(config), tensors(config))
def peak_kib():  # not getrusage: its maximum is inherited from the process that started this one
    return int(re.search("VmHWM:(.*)kB", open("/proc/self/status").read())[1])
model([1] * 128, model.new_cache(128), last_only=True)
before = peak_kib()
model([1, 2, 3, 4] * 1024, model.new_cache(4096), last_only=True)
print(peak_kib() - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": "tests", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert int(run.stdout) <= 25 * 1024, f"{int(run.stdout) / 1024:.1f} MiB"


def test_the_cache_is_allocated_once_and_nothing_is_copied() -> None:
    model = build(settings())
    cache = model.new_cache(50)
    assert isinstance(cache, KVCache)
    model([1, 2, 3], cache)
    held = [cache.held(layer).keys for layer in range(3)]
    before = [keys.copy() for keys in held]
    model([4], cache)
    for layer in range(3):
        assert np.shares_memory(held[layer], cache.held(layer).keys)
        np.testing.assert_array_equal(cache.held(layer).keys[:, :, :3], before[layer])
