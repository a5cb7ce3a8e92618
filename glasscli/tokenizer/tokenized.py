"""A text cut into tokens, with what can be said of each: its bytes, and which characters it holds only a part of."""

from dataclasses import dataclass

from glasscli.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class Part:
    """The bytes of one character that a token holds: from `start` up to `stop` (exclusive) of `n_bytes`."""

    char: str
    start: int
    stop: int
    n_bytes: int


@dataclass(frozen=True)
class Token:
    """One token of a text.

    Attributes:
        kind: "text"; "special" or "added" for what stands beside the learnt vocabulary; "unknown" where the
            tokenizer had no token for a piece of the text, which is lost.
        text: its characters, or None if it holds a part of one.
        parts: the characters it holds only a part of, at most two.
    """

    token_id: int
    data: bytes
    kind: str
    text: str | None
    parts: tuple[Part, ...]


def tokenize(tokenizer: Tokenizer, text: str, *, parse_special: bool = False) -> list[Token]:
    """The tokens of `text`, those that the tokenizer adds included.

    Args:
        parse_special: whether names of special tokens in the text stand for those tokens.

    Raises:
        UsageError: the text is not valid Unicode.
    """
    token_ids = tokenizer.encode(text, parse_special=parse_special)
    pieces = [tokenizer.piece_bytes(token_id) for token_id in token_ids]
    spans = _characters(b"".join(pieces))
    tokens, end = [], 0
    for token_id, data in zip(token_ids, pieces, strict=True):
        start, end = end, end + len(data)
        parts = tuple(_cut_off(spans, start, end)) if spans is not None else ()
        tokens.append(Token(token_id, data, _kind(tokenizer, token_id), _text(data), parts))
    return tokens


def _kind(tokenizer: Tokenizer, token_id: int) -> str:
    if token_id == tokenizer.unknown_id:
        return "unknown"
    if token_id in tokenizer.special_ids:
        return "special"
    return "added" if token_id in tokenizer.added_ids else "text"


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _characters(data: bytes) -> dict[int, tuple[str, int]] | None:
    """For each byte of a character of several bytes: the character and where it starts. None if not UTF-8."""
    whole = _text(data)
    if whole is None:
        return None
    spans: dict[int, tuple[str, int]] = {}
    start = 0
    for char in whole:
        size = len(char.encode())
        if size > 1:
            spans.update(dict.fromkeys(range(start, start + size), (char, start)))
        start += size
    return spans


def _cut_off(spans: dict[int, tuple[str, int]], start: int, end: int) -> list[Part]:
    """The characters of which the bytes from `start` up to `end` are only a part."""
    parts = []
    for char, first in dict.fromkeys(spans[i] for i in (start, end - 1) if i in spans and start < end):
        n_bytes = len(char.encode())
        if first < start or first + n_bytes > end:
            parts.append(Part(char, max(start - first, 0), min(end - first, n_bytes), n_bytes))
    return parts
