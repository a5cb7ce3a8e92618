"""Which tokens of a text say something again: of words used before, and after the same token as before."""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glasscli.tokenizer.tokenizer import Tokenizer

_WORD = re.compile(r"[^\W_]+")


def repeated_pairs(ids: Sequence[int]) -> list[bool]:
    """For each token whether it has followed the token before it earlier in the text."""
    seen: set[tuple[int, int]] = set()
    found = [False] * min(1, len(ids))
    for pair in pairwise(ids):
        found.append(pair in seen)
        seen.add(pair)
    return found


def repeated_words(tokenizer: "Tokenizer", ids: Sequence[int]) -> list[bool]:
    """For each token whether it holds a letter or digit of a word that was used before, in the same spelling.

    Special tokens end words and belong to none.
    """
    pieces = [b"\n" if i in tokenizer.special_ids else tokenizer.piece_bytes(i) for i in ids]
    # A token may end inside a character, so places are counted in bytes.
    text = b"".join(pieces).decode("utf-8", "surrogateescape")
    starts = list(accumulate((len(char.encode("utf-8", "surrogateescape")) for char in text), initial=0))
    again, seen = [False] * starts[-1], set[str]()
    for match in _WORD.finditer(text):
        if match[0] in seen:
            first, stop = starts[match.start()], starts[match.end()]
            again[first:stop] = [True] * (stop - first)
        seen.add(match[0])
    ends = accumulate(map(len, pieces))
    return [any(again[end - len(piece) : end]) for piece, end in zip(pieces, ends, strict=True)]
