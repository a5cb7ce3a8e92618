"""Random configs of every family against transformers in float64, whatever settings happen to meet in one."""

from typing import Any

import numpy as np
import pytest
from helpers.random_configs import VOCAB, random_config
from test_family_parity import logits_in_blocks

from glasscli import Llama, ModelConfig, cache_size
from glasscli.config.architectures import ARCHITECTURES

N_TOKENS = 60


def models(given: dict[str, Any], seed: int) -> tuple[Any, Llama, dict[str, Any]]:
    """transformers' model in float64, glass's with the same weights, and the config as a file would say."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(seed)
    config = AutoConfig.for_model(**given)
    theirs = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval().float()
    with torch.no_grad():
        for name, weight in theirs.named_parameters():
            norm = ("norm" in name or ".ln_" in name) and name.endswith("weight") and "gemma" not in given["model_type"]
            weight.copy_(torch.randn_like(weight) * 0.2 + float(norm))
    tensors = {name: array.numpy().copy() for name, array in theirs.state_dict().items()}
    written = config.to_dict() | {"architectures": [type(theirs).__name__]}
    return theirs.double(), Llama(ModelConfig.from_dict(written), tensors), written


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ARCHITECTURES)
def test_logits_and_bytes(family: str, seed: int) -> None:
    theirs, ours, written = models(random_config(family, seed), seed)
    ids = np.random.default_rng(seed).integers(0, VOCAB, N_TOKENS).tolist()
    expected = logits_in_blocks(theirs, ids, N_TOKENS)
    grows = any(rope is not None and rope.grows for rope in ours.config.ropes)
    for size in (N_TOKENS, 1, 7):
        cache = ours.new_cache(N_TOKENS)
        found = np.concatenate([ours(ids[i : i + size], cache) for i in range(0, N_TOKENS, size)])
        wanted = logits_in_blocks(theirs, ids, size) if grows else expected
        np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-4)
        assert cache.nbytes == cache_size(written, N_TOKENS, k_dtype="f32", v_dtype="f32").bytes_total
    if not grows:  # such a text reads its beginning otherwise than a longer one beside it
        _batch(ours, ids, expected)


def _batch(ours: Llama, ids: list[int], expected: np.ndarray) -> None:
    starts = [3, 11]
    cache = ours.new_cache(N_TOKENS, batch=2)
    for row, start in enumerate(starts):
        ours(ids[:start], cache.row(row))
        cache.lengths[row] = start
    for step in range(N_TOKENS - max(starts)):
        found = ours.decode_batch([ids[start + step] for start in starts], cache)
        np.testing.assert_allclose(found, expected[[start + step for start in starts]], rtol=0, atol=2e-4)
