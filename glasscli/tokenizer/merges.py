"""How byte-pair encoding builds the tokens of a text: one merge after the other.

A word starts as its smallest symbols. The pair that was learnt first (lowest rank) is joined, the leftmost of them
if it is there twice, until no pair of neighbours was ever learnt.

Source: Sennrich et al. 2016, arXiv:1508.07909, section 3.2.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from glasscli.errors import TokenizerError
from glasscli.tokenizer.tokenizer import Tokenizer
from glasscli.untrusted_files import quoted


@dataclass(frozen=True)
class Merge:
    """One joining of two neighbours.

    Attributes:
        at: which symbol of the word `left` was, counted from 0.
        rank: how early the pair was learnt; 0 is the first.
    """

    at: int
    left: bytes
    right: bytes
    rank: int


@dataclass(frozen=True)
class Word:
    """One word of a text on its way to tokens.

    Attributes:
        symbols: what it starts as.
        merges: in the order in which they are made.
        token_ids: what it ends as.
    """

    symbols: tuple[bytes, ...]
    merges: tuple[Merge, ...]
    token_ids: tuple[int, ...]

    def chain(self) -> Iterator[tuple[bytes, ...]]:
        """The word's symbols at the start and after each merge; the last are its tokens."""
        symbols = self.symbols
        yield symbols
        for merge in self.merges:
            symbols = (*symbols[: merge.at], merge.left + merge.right, *symbols[merge.at + 2 :])
            yield symbols


def merges(tokenizer: Tokenizer, text: str, *, parse_special: bool = False) -> list[Word]:
    """Every word of `text` with the merges that make its tokens, in order; special tokens are no words.

    Raises:
        TokenizerError: the tokenizer is not byte-pair encoding.
    """
    encoding = tokenizer.encoding(text, parse_special=parse_special)
    model = tokenizer.model_state()
    if model.get("type") != "BPE":
        raise TokenizerError(f"this tokenizer is {quoted(str(model.get('type')))}; only BPE makes its tokens by merges")
    ranks = {_pair(pair): rank for rank, pair in enumerate(model["merges"])}
    groups: dict[Any, list[int]] = {}
    for i, (word, token_id) in enumerate(zip(encoding.word_ids, encoding.ids, strict=True)):
        if token_id not in tokenizer.added_ids:
            groups.setdefault(i if word is None else ("word", word), []).append(token_id)
    return [_word(tokenizer, model, ranks, token_ids) for token_ids in groups.values()]


def _word(tokenizer: Tokenizer, model: dict[str, Any], ranks: dict[tuple[str, str], int], token_ids: list[int]) -> Word:
    """Repeat the merges of one word, and see that they end where the tokenizer did."""
    pieces = [tokenizer.piece(token_id) for token_id in token_ids]

    def raw(piece: str) -> bytes:
        return tokenizer.spelling.piece_bytes(piece)

    # A byte token `<0xE2>` is a symbol as it is: it stands for a character that has no token, and never merges.
    whole = model.get("byte_fallback") and tokenizer.spelling.byte_tokens
    symbols = [s for piece in pieces for s in ([piece] if whole and piece.startswith("<0x") else piece)]
    start, steps = tuple(map(raw, symbols)), []
    while (at := _next(symbols, ranks)) is not None:
        left, right = symbols[at], symbols[at + 1]
        symbols[at : at + 2] = [left + right]
        steps.append(Merge(at, raw(left), raw(right), ranks[left, right]))
    if symbols != pieces:  # a whole word that is a token may skip its merges (`ignore_merges`), or <unk> was put in
        return Word(tuple(map(raw, pieces)), (), tuple(token_ids))
    return Word(start, tuple(steps), tuple(token_ids))


def _next(symbols: list[str], ranks: dict[tuple[str, str], int]) -> int | None:
    """Where the pair that was learnt first stands, or None if no neighbours were learnt."""
    found = [(ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks]
    return min(found)[1] if found else None


def _pair(pair: Any) -> tuple[str, str]:
    """A learnt pair, which files write as a list of two, and older ones as one string with a space."""
    left, right = pair.split(" ", 1) if isinstance(pair, str) else pair
    return left, right
