"""Heads and MLPs taken out, and the loss gradient, against transformers in float64."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from helpers.shipped_heads import copying_head, previous_head
from transformers import AutoModelForCausalLM

from glasscli import load_model
from glasscli.inspect.ablation import Part, ablate_prompt, ablate_text
from glasscli.inspect.circuits import find_feeds
from glasscli.inspect.gradients import loss_gradient
from glasscli.inspect.predictions import one_token
from glasscli.inspect.probes import repeat_probes
from glasscli.locate.shipped import shipped_folder

STORY = "Once upon a time there was a little girl named Lily. One day,"
MORE = STORY + " Lily saw a big dog. The big dog saw Lily and ran to her."


@pytest.fixture(scope="module")
def theirs() -> Any:
    return AutoModelForCausalLM.from_pretrained(shipped_folder(), dtype=torch.float64).eval()


@contextmanager
def without(model: Any, part: Part, mean: bool = False) -> Iterator[None]:
    """A head's input of o_proj, or what down_proj gives, set to zero or to its mean over the positions."""

    def changed(x: torch.Tensor, columns: slice) -> torch.Tensor:
        x = x.clone()
        x[..., columns] = x[..., columns].mean(dim=1, keepdim=True) if mean else 0
        return x

    layer = model.model.layers[part.layer]
    if part.head is None:
        hook = layer.mlp.down_proj.register_forward_hook(lambda _m, _given, out: changed(out, slice(None)))
    else:
        columns = slice(part.head * 32, part.head * 32 + 32)
        hook = layer.self_attn.o_proj.register_forward_pre_hook(lambda _m, given: (changed(given[0], columns),))
    try:
        yield
    finally:
        hook.remove()


def logprobs(model: Any, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].log_softmax(-1)


def test_every_part_of_a_prompt_set_to_zero(theirs: Any) -> None:
    loaded = load_model()
    ids, lily = loaded.encode(STORY), one_token(loaded, "Lily")
    whole = logprobs(theirs, ids)[-1]
    for effect in ablate_prompt(loaded, STORY, token=lily).effects:
        with without(theirs, effect.part):
            changed = logprobs(theirs, ids)[-1]
        assert effect.watched.logprob == pytest.approx(changed[lily.id].item(), abs=1e-4), effect.part.label
        kl = (whole.exp() * (whole - changed)).sum().item() / np.log(2)
        assert effect.kl_bits == pytest.approx(kl, abs=1e-4)
        assert effect.top[0].token.id == changed.argmax().item()


def test_every_head_of_a_layer_set_to_its_mean(theirs: Any) -> None:
    loaded = load_model()
    ids, lily = loaded.encode(STORY), one_token(loaded, "Lily")
    parts = [Part(3, head) for head in (0, 1, 2, 3, None)]
    for effect in ablate_prompt(loaded, STORY, token=lily, parts=parts, method="mean").effects:
        with without(theirs, effect.part, mean=True):
            changed = logprobs(theirs, ids)[-1]
        assert effect.watched.logprob == pytest.approx(changed[lily.id].item(), abs=1e-4), effect.part.label


def test_a_text_without_a_part(theirs: Any) -> None:
    loaded = load_model()
    ids = loaded.encode(MORE)
    at = (range(len(ids) - 1), ids[1:])
    whole = logprobs(theirs, ids)[at]
    for effect in ablate_text(loaded, MORE, parts=[Part(2, 3), Part(3, 2), Part(1)]).effects:
        with without(theirs, effect.part):
            changed = logprobs(theirs, ids)[at]
        assert effect.delta == pytest.approx((whole - changed).mean().item(), abs=1e-4)


def test_the_gradient_is_what_torch_derives(theirs: Any) -> None:
    loaded = load_model()
    ids, lily = loaded.encode(STORY), one_token(loaded, "Lily")
    logits = theirs(torch.tensor([ids])).logits[0, -1].detach().requires_grad_()
    torch.nn.functional.cross_entropy(logits[None], torch.tensor([lily.id])).backward()
    assert logits.grad is not None
    found = loss_gradient(loaded, STORY, target=lily)
    np.testing.assert_allclose(found.gradient, logits.grad.numpy(), atol=1e-5)


def test_which_head_needs_which() -> None:
    """The induction score of two heads with the previous-token head and without it, from transformers' own patterns."""
    loaded = load_model()
    eager = AutoModelForCausalLM.from_pretrained(shipped_folder(), dtype=torch.float64, attn_implementation="eager")
    probes = repeat_probes(loaded, 4)
    half = len(probes[0]) // 2

    def induction(layer: int, head: int) -> float:
        """Mean weight, in the second telling, on the token that came next in the first."""
        scores = []
        for ids in probes:
            with torch.no_grad():
                pattern = eager.eval()(torch.tensor([ids]), output_attentions=True).attentions[layer][0, head]
            scores.append(np.mean([pattern[p, p - half + 1].item() for p in range(half + 1, 2 * half + 1)]))
        return float(np.mean(scores))

    feeds = {(f.writer.label, f.reader.label, f.role): f for f in find_feeds(loaded, 4).pairs}
    looks_back, copies = previous_head(), copying_head()
    for layer, head in ((copies.layer, copies.head), (3, 3)):
        feed = feeds[looks_back.label, f"{layer}.{head}", "induct"]
        assert feed.before == pytest.approx(induction(layer, head), abs=1e-4)
        with without(eager, looks_back):
            assert feed.after == pytest.approx(induction(layer, head), abs=1e-4)
