"""How well a model predicts the held-out stories: nats per token and bits per byte.

Protocol: each story stands alone between two end-of-text marks. Every token after the first mark is
scored once, the closing mark included, from at most 512 tokens before it; a story longer than that
is read on in windows of 512 that share 256. The sum in nats over ln 2 and over the UTF-8 bytes of the story texts
(marks are not bytes) is bits per byte, which no choice of tokenizer can flatter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from .data import IGNORE, Window, cut_windows, fill_batches
from .model import Llama
from .tokenizer import END_ID


@dataclass(frozen=True)
class Score:
    """Totals over a set of stories."""

    nats: float
    n_tokens: int
    n_bytes: int

    @property
    def nats_per_token(self) -> float:
        return self.nats / self.n_tokens

    @property
    def bits_per_byte(self) -> float:
        return self.nats / math.log(2) / self.n_bytes


class HeldOut:
    """Stories made into batches once, to be scored again and again."""

    def __init__(self, stories: Sequence[str], tokenizer: Tokenizer) -> None:
        self.n_bytes = sum(len(story.encode()) for story in stories)
        windows: list[Window] = []
        for encoded in tokenizer.encode_batch(list(stories), add_special_tokens=False):
            windows += cut_windows(np.array([END_ID, *encoded.ids, END_ID], np.int64), overlap=256)
        self.batches: list[tuple[Tensor, Tensor]] = list(fill_batches(windows, batch_tokens=8_192))

    @torch.no_grad()
    def score(self, model: Llama) -> Score:
        """Run the model over every batch in float32."""
        nats, n_tokens = 0.0, 0
        for inputs, targets in self.batches:
            n_targets = int((targets != IGNORE).sum())
            nats += model.loss(inputs, targets).item() * n_targets
            n_tokens += n_targets
        return Score(nats, n_tokens, self.n_bytes)
