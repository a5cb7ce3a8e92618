"""Logits and greedy tokens against transformers in float64, for every kind of Llama and the shipped weights."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.random_llama import KINDS, settings, tensors, token_ids

from glasscli import Llama, ModelConfig, load_model
from glasscli.locate.shipped import shipped_folder


def reference(config: dict[str, Any], weights: dict[str, Any]) -> Any:
    """transformers' own model in float64, with `weights`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(**config, attn_implementation="eager")).eval().double()
    state = {name: torch.from_numpy(value) for name, value in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    return model


def logits_of(model: Any, ids: list[int]) -> np.ndarray:
    import torch

    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].numpy()


def greedy_of(model: Any, ids: list[int], n: int) -> list[int]:
    """transformers' most likely tokens, one at a time through its own cache."""
    import torch

    chosen: list[int] = []
    past, fed = None, ids
    with torch.no_grad():
        while len(chosen) < n:
            out = model(torch.tensor([fed]), past_key_values=past, use_cache=True)
            past = out.past_key_values
            chosen.append(int(out.logits[0, -1].argmax()))
            fed = chosen[-1:]
    return chosen


def greedy(model: Llama, ids: list[int], n: int) -> list[int]:
    """The most likely token after each, the lowest id among equals, through the cache."""
    cache = model.new_cache(len(ids) + n)
    chosen = [int(model(ids, cache, last_only=True)[-1].argmax())]
    while len(chosen) < n:
        chosen.append(int(model(chosen[-1:], cache)[-1].argmax()))
    return chosen


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_random_models(kind: str) -> None:
    config = settings(**KINDS[kind])
    ids = token_ids(config, 200)
    expected = logits_of(reference(config, tensors(config)), ids)
    model = Llama(ModelConfig.from_dict(config), tensors(config))
    for size in (200, 1, 3, 8):
        cache = model.new_cache(200)
        parts = [model(ids[i : i + size], cache) for i in range(0, 200, size)]
        np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=2e-4)
    assert np.abs(expected).max() > 1


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_greedy_tokens_of_random_models(kind: str) -> None:
    config = settings(**KINDS[kind])
    model = Llama(ModelConfig.from_dict(config), tensors(config))
    ids = token_ids(config, 5)
    assert greedy(model, ids, 256) == greedy_of(reference(config, tensors(config)), ids, 256)


def test_the_shipped_weights() -> None:
    import torch
    from transformers import AutoModelForCausalLM

    loaded, folder = load_model(), shipped_folder()
    theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
    prompt = loaded.tokenizer.encode("Once upon a time, there was a little girl named Lily.")
    ids = prompt + greedy_of(theirs, prompt, 256)
    expected = logits_of(theirs, ids)
    for size in (len(ids), 1, 3, 8):
        cache = loaded.model.new_cache()
        parts = [loaded.model(ids[i : i + size], cache) for i in range(0, len(ids), size)]
        np.testing.assert_allclose(np.concatenate(parts), expected, rtol=0, atol=2e-4)
    assert greedy(loaded.model, prompt, 256) == ids[len(prompt) :]


def test_the_tokenizer_agrees(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    theirs, ours = AutoTokenizer.from_pretrained(shipped_folder()), load_model().tokenizer
    for text in ("Once upon a time", "  two  spaces", "日本語 🙂", "tab\tand\nnewline", "don't", ""):
        assert ours.encode(text) == theirs(text)["input_ids"]
        assert ours.decode(ours.encode(text)) == theirs.decode(theirs(text)["input_ids"], skip_special_tokens=True)


def test_the_config_is_what_transformers_would_write() -> None:
    from transformers import LlamaConfig

    given = json.loads((shipped_folder() / "config.json").read_text())
    assert ModelConfig.from_dict(LlamaConfig(**given).to_dict()) == ModelConfig.from_dict(given)
