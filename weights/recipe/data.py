"""Stories in, batches out: reading the corpus, cutting windows, filling rows of like length.

Every row begins at a story's first token, so in training a token sees what it will see in use:
its own story from the start, and nothing of another. An epoch is a pure function of the seed and
its number, so a resumed run can rebuild it and carry on in its middle.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from .names import POOL_OF, choose_names, count_names
from .settings import Settings
from .tokenizer import END_ID, END_OF_TEXT

Ids = NDArray[np.int64]

IGNORE = -100  # a target that is not counted, as in torch's cross_entropy
WIDTHS = (192, 224, 256, 288, 320, 384, 448, 512)  # few, since each is compiled once
_NAME = re.compile(r" ?\b(" + "|".join(sorted(POOL_OF, key=len, reverse=True)) + r")\b")


def read_stories(path: Path) -> list[str]:
    """The stories of a corpus file: each is followed by a line `<|endoftext|>`. Repeats are dropped."""
    parts = path.read_text(encoding="utf-8").split(END_OF_TEXT)
    stories = (part.strip("\n") for part in parts)
    return list(dict.fromkeys(story for story in stories if story.strip()))


@dataclass(frozen=True)
class Window:
    """A stretch of one story: up to 512 inputs and, for each, the token to predict or IGNORE."""

    inputs: Ids
    targets: Ids


def cut_windows(ids: Ids, overlap: int, context: int = 512) -> Iterator[Window]:
    """Windows over one story's ids (both end-of-text marks included); each token is a target once.

    A story that fits gives one window. A longer one is read on in further windows, each beginning
    with the last `overlap` tokens of the one before, so that a target is never without context.
    """
    n_targets = len(ids) - 1
    start = done = 0
    while done < n_targets:
        stop = min(start + context, n_targets)
        targets = ids[start + 1 : stop + 1].copy()
        targets[: done - start] = IGNORE
        yield Window(ids[start:stop], targets)
        start, done = stop - overlap, stop


class Story:
    """A story's token ids, with its names kept apart so that they can be changed."""

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        pieces: list[str] = []
        self.slots: list[tuple[str, str]] = []  # (name, what stands before it: a space or nothing)
        end = 0
        for match in _NAME.finditer(text):
            pieces.append(text[end : match.start()])
            self.slots.append((match[1], match[0][: -len(match[1])]))
            end = match.end()
        pieces.append(text[end:])
        encoded = tokenizer.encode_batch(pieces, add_special_tokens=False)
        self.pieces = [np.array(piece.ids, np.int64) for piece in encoded]
        self.names = list(dict.fromkeys(name for name, _ in self.slots))

    def ids(self, spell: dict[str, Ids], renamed: dict[str, str]) -> Ids:
        """The whole story between two end-of-text marks, names replaced as `renamed` says."""
        mark = np.array([END_ID], np.int64)
        parts = [mark, self.pieces[0]]
        for (name, before), piece in zip(self.slots, self.pieces[1:], strict=True):
            parts += [spell[before + renamed.get(name, name)], piece]
        return np.concatenate([*parts, mark])


class Corpus:
    """Training stories, and the epochs they give."""

    def __init__(self, stories: Sequence[str], tokenizer: Tokenizer) -> None:
        self.stories = [Story(text, tokenizer) for text in stories]
        spellings = [before + name for name in POOL_OF for before in ("", " ")]
        encoded = tokenizer.encode_batch(spellings, add_special_tokens=False)
        self.spell = {text: np.array(e.ids, np.int64) for text, e in zip(spellings, encoded, strict=True)}
        self.counts = count_names(name for story in self.stories for name in story.names)

    def epoch(self, settings: Settings, number: int) -> list[tuple[Tensor, Tensor]]:
        """Every training story once, in the order of epoch `number`, as (inputs, targets) batches [rows, width]."""
        rng = random.Random(f"{settings.seed}/{number}")
        windows: list[Window] = []
        for story in self.stories:
            swap = rng.random() < settings.swap_share
            ids = story.ids(self.spell, choose_names(story.names, self.counts, rng) if swap else {})
            windows += cut_windows(ids, overlap=64)
        rng.shuffle(windows)
        batches = list(fill_batches(windows, settings.batch_tokens))
        rng.shuffle(batches)
        return batches


def fill_batches(windows: Sequence[Window], batch_tokens: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Group windows of like length into full batches [batch_tokens // width, width], padded on the right.

    What fills no batch of its own width moves up to the next; the last batch has empty rows. Padding
    needs no mask: attention is causal, and padded targets are IGNORE.
    """
    by_width: defaultdict[int, list[Window]] = defaultdict(list)
    for window in windows:
        by_width[min(width for width in WIDTHS if width >= len(window.inputs))].append(window)
    left: list[Window] = []
    for width in WIDTHS:
        n_rows = max(1, batch_tokens // width)
        rows = left + by_width[width]
        n_whole = len(rows) if width == WIDTHS[-1] else len(rows) - len(rows) % n_rows
        for start in range(0, n_whole, n_rows):
            yield pad(rows[start : start + n_rows], n_rows, width)
        left = rows[n_whole:]


def pad(windows: Sequence[Window], n_rows: int, width: int) -> tuple[Tensor, Tensor]:
    """Windows as one batch: inputs filled up with end-of-text, targets with IGNORE."""
    inputs = torch.full((n_rows, width), END_ID)
    targets = torch.full((n_rows, width), IGNORE)
    for row, window in enumerate(windows):
        inputs[row, : len(window.inputs)] = torch.from_numpy(window.inputs)
        targets[row, : len(window.targets)] = torch.from_numpy(window.targets)
    return inputs, targets
