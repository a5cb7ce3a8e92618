"""What the attention heads do: the scores that a previous-token and an induction head are known by.

For a pattern A of a sequence, positions counted from 0:

    previous = mean of A[p, p - 1] over p >= 1
    sink     = mean of A[p, 0]     over p >= 1
    induct   = mean, over the p whose token occurred before, of A[p] on the places after those

On one random sequence the last may be three times what it is on another, so it is a mean over many, each behind the
end-of-text mark that opens every text this model was trained on.

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
    """One head's scores.

    Attributes:
        induct, induct_sd: mean and standard deviation over the probes.
        uniform: what a head that looks everywhere alike scores on induction.
    """

    layer: int
    head: int
    previous: float
    sink: float
    induct: float
    induct_sd: float
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


N_PROBES, N_TOKENS, SEED = 32, 24, 0


def told_twice(vocab_size: int) -> list[list[int]]:
    """The probes: an end-of-text mark, 24 different random tokens, then the same once more."""
    draw = random.Random(SEED)
    return [[END_ID, *draw.sample(range(1, vocab_size), N_TOKENS) * 2] for _ in range(N_PROBES)]


def measure(model: Llama, stories: Sequence[str], tokenizer: Tokenizer) -> list[Head]:
    """All heads: previous and sink over the stories (each token counts alike), induction on the probes."""
    previous = torch.zeros(model.shape.n_layers, model.shape.n_heads)
    sink, n_rows = torch.zeros_like(previous), 0
    for story in stories:
        ids = [END_ID, *tokenizer.encode(story, add_special_tokens=False).ids][: model.shape.max_seq_len]
        pattern = patterns(model, ids)
        previous += pattern.diagonal(-1, dim1=2, dim2=3).sum(-1)
        sink += pattern[:, :, 1:, 0].sum(-1)
        n_rows += len(ids) - 1
    probes = [patterns(model, ids) for ids in told_twice(model.shape.vocab_size)]
    # Row p of the second telling looks at place p − 23; rows 23 and 24 of the diagonal belong to the first.
    induct = torch.stack([probe.diagonal(1 - N_TOKENS, dim1=2, dim2=3)[:, :, 2:].mean(-1) for probe in probes])
    uniform = sum(1 / (p + 1) for p in range(N_TOKENS + 1, 2 * N_TOKENS + 1)) / N_TOKENS
    return [
        Head(
            layer,
            head,
            (previous / n_rows)[layer, head].item(),
            (sink / n_rows)[layer, head].item(),
            induct.mean(0)[layer, head].item(),
            induct.std(0)[layer, head].item(),
            uniform,
        )
        for layer in range(model.shape.n_layers)
        for head in range(model.shape.n_heads)
    ]
