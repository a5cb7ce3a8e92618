"""What the attention heads do: the scores that a previous-token and an induction head are known by.

For a pattern A of a sequence, positions counted from 0:

    previous = mean of A[p, p - 1] over p >= 1
    sink     = mean of A[p, 0]     over p >= 1
    induct   = mean, over the p whose token occurred before, of A[p] on the places after those

Source: Olsson et al. 2022, arXiv:2209.11895, for the induction score on a random sequence told twice.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch import Tensor

from .model import Llama
from .tokenizer import END_ID


@dataclass(frozen=True)
class Head:
    """One head's scores. `uniform` is what a head that looks everywhere alike scores on induction."""

    layer: int
    head: int
    previous: float
    sink: float
    induct: float
    uniform: float


@torch.no_grad()
def patterns(model: Llama, token_ids: Sequence[int]) -> Tensor:
    """Attention patterns [layers, heads, T, T] of one sequence."""
    n_tokens = len(token_ids)
    future = torch.ones(n_tokens, n_tokens, dtype=torch.bool).triu(1)
    found: list[Tensor] = []
    decoder = model.model
    cos, sin = decoder.turns(n_tokens)
    x = decoder.embed_tokens(torch.tensor([list(token_ids)]))
    for layer in decoder.blocks():
        q, k, _ = layer.self_attn.heads(layer.input_layernorm(x), cos, sin)
        scores = (q @ k.mT)[0] / model.shape.head_dim**0.5
        found.append(scores.masked_fill(future, float("-inf")).softmax(dim=-1))
        x = layer(x, cos, sin)
    return torch.stack(found)


def told_twice(n_tokens: int = 24, seed: int = 0, vocab_size: int = 1024) -> list[int]:
    """`n_tokens` different random tokens (no end-of-text), then the same once more."""
    once = random.Random(seed).sample(range(1, vocab_size), n_tokens)
    return once + once


def measure(model: Llama, stories: Sequence[str], tokenizer: Tokenizer) -> list[Head]:
    """All heads: previous and sink over the stories (each token counts alike), induction on the probe."""
    previous = torch.zeros(model.shape.n_layers, model.shape.n_heads)
    sink, n_rows = torch.zeros_like(previous), 0
    for story in stories:
        ids = [END_ID, *tokenizer.encode(story, add_special_tokens=False).ids][: model.shape.max_seq_len]
        pattern = patterns(model, ids)
        previous += pattern.diagonal(-1, dim1=2, dim2=3).sum(-1)
        sink += pattern[:, :, 1:, 0].sum(-1)
        n_rows += len(ids) - 1
    probe = told_twice(vocab_size=model.shape.vocab_size)
    half = len(probe) // 2
    after = patterns(model, probe).diagonal(1 - half, dim1=2, dim2=3)[:, :, 1:].mean(-1)
    uniform = sum(1 / (p + 1) for p in range(half, 2 * half)) / half
    return [
        Head(
            layer,
            head,
            (previous / n_rows)[layer, head].item(),
            (sink / n_rows)[layer, head].item(),
            after[layer, head].item(),
            uniform,
        )
        for layer in range(model.shape.n_layers)
        for head in range(model.shape.n_heads)
    ]
