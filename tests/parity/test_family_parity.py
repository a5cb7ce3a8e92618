"""Every family against transformers in float64: logits at every position, greedy tokens, folders, long texts."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden.make_families import PATH, made
from helpers.family_configs import FAMILIES
from helpers.model_folders import byte_level
from test_llama import greedy, greedy_of, logits_of

from glasscli import Llama, ModelConfig, cache_size, load_model

N_TOKENS = 200


@cache
def pair(kind: str) -> tuple[Any, Llama, dict[str, Any]]:
    """transformers' model in float64 and glass's with the same float32 weights, and the config as a file would say."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(5)
    config = AutoConfig.for_model(**FAMILIES[kind])
    theirs = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
    with torch.no_grad():
        for name, weight in theirs.named_parameters():
            norm = "norm" in name or ".ln_" in name
            about = 1.0 if norm and name.endswith("weight") and "gemma" not in config.model_type else 0.0
            weight.copy_(torch.randn_like(weight) * 0.2 + about)
    tensors = {name: array.numpy().copy() for name, array in theirs.state_dict().items()}
    given = config.to_dict() | {"architectures": [type(theirs).__name__]}
    ours = Llama(ModelConfig.from_dict(given), tensors)
    return theirs.double(), ours, given


def logits_in_blocks(model: Any, ids: list[int], size: int) -> np.ndarray:
    """transformers' logits, `size` tokens a call: some rotations depend on how long the text is by then."""
    import torch

    past, parts = None, []
    with torch.no_grad():
        for i in range(0, len(ids), size):
            out = model(torch.tensor([ids[i : i + size]]), past_key_values=past, use_cache=True)
            past = out.past_key_values
            parts.append(out.logits[0].numpy())
    return np.concatenate(parts)


def random_ids(n: int, seed: int = 1) -> list[int]:
    found: list[int] = np.random.default_rng(seed).integers(0, 96, n).tolist()
    return found


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("size", [N_TOKENS, 1, 3, 8])
def test_logits_at_every_position(kind: str, size: int) -> None:
    theirs, ours, _ = pair(kind)
    ids = random_ids(N_TOKENS)
    grows = any(rope is not None and rope.grows for rope in ours.config.ropes)
    expected = logits_in_blocks(theirs, ids, size) if grows else logits_of(theirs, ids)
    kv = ours.new_cache(N_TOKENS)
    parts = [ours(ids[i : i + size], kv) for i in range(0, N_TOKENS, size)]
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=2e-4)
    assert np.abs(expected).max() > 0.5


@pytest.mark.parametrize("kind", FAMILIES)
def test_logits_of_a_batch(kind: str) -> None:
    theirs, ours, _ = pair(kind)
    texts = [random_ids(60, seed) for seed in range(3)]
    starts = [1, 20, 9]
    kv = ours.new_cache(60, batch=3)
    for row, (ids, start) in enumerate(zip(texts, starts, strict=True)):
        ours(ids[:start], kv.row(row))
        kv.lengths[row] = start
    expected = [logits_of(theirs, ids) for ids in texts]
    for step in range(60 - max(starts)):
        found = ours.decode_batch([ids[s + step] for ids, s in zip(texts, starts, strict=True)], kv)
        wanted = np.stack([e[s + step] for e, s in zip(expected, starts, strict=True)])
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_greedy_tokens(kind: str) -> None:
    theirs, ours, _ = pair(kind)
    ids = random_ids(5)
    assert greedy(ours, ids, 256) == greedy_of(theirs, ids, 256)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_cache_has_the_bytes_of_the_budget(kind: str) -> None:
    _, ours, given = pair(kind)
    for tokens in (1, 7, 200):
        assert ours.new_cache(tokens).nbytes == cache_size(given, tokens, k_dtype="f32", v_dtype="f32").bytes_total


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if "sliding_window" in FAMILIES[kind]])
def test_twenty_windows_at_constant_memory(kind: str) -> None:
    theirs, ours, _ = pair(kind)
    n_tokens = 20 * FAMILIES[kind]["sliding_window"]
    ids = random_ids(n_tokens, 3)
    kv = ours.new_cache(n_tokens)
    held, slides = kv.nbytes, [i for i, spec in enumerate(ours.layout) if hasattr(spec, "size")]
    assert slides
    found = [ours([token_id], kv)[0] for token_id in ids]
    np.testing.assert_allclose(np.stack(found), logits_of(theirs, ids), rtol=0, atol=2e-4)
    assert kv.nbytes == held
    assert all(kv.held(i).keys.shape[2] == FAMILIES[kind]["sliding_window"] for i in slides)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_folder_that_transformers_wrote(kind: str, tmp_path: Path) -> None:
    theirs, _, _ = pair(kind)
    theirs.save_pretrained(tmp_path)  # float64 weights
    byte_level(96 + 200).save(str(tmp_path / "tokenizer.json"))
    loaded = load_model(tmp_path)
    ids = random_ids(40)
    np.testing.assert_allclose(loaded.model(ids), logits_of(theirs, ids), rtol=0, atol=2e-4)


@pytest.mark.parametrize("kind", FAMILIES)
def test_the_stored_logits_are_what_transformers_computes(kind: str) -> None:
    stored = json.loads(PATH.read_text())["logits"][kind]
    np.testing.assert_allclose(made(kind), stored, rtol=0, atol=2e-6)
