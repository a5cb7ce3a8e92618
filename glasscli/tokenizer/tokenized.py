"""A text cut into tokens, with what can be said of each: its bytes, and which characters it holds only a part of."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

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
    """The tokens of `text`, those that the tokenizer adds included. Equal ones are one object.

    Args:
        parse_special: whether names of special tokens in the text stand for those tokens.

    Raises:
        UsageError: the text is not valid Unicode.
    """
    token_ids = tokenizer.encode(text, parse_special=parse_special)
    known = {token_id: _token(tokenizer, token_id) for token_id in set(token_ids)}
    tokens = [known[token_id] for token_id in token_ids]
    if any(token.text is None for token in known.values()):
        _tell_parts(tokens)
    return tokens


def distinct(tokens: Iterable[Token]) -> list[Token]:
    """Each object of `tokens` once: of a long text far fewer."""
    return list({id(token): token for token in tokens}.values())


def _token(tokenizer: Tokenizer, token_id: int) -> Token:
    data = tokenizer.piece_bytes(token_id)
    return Token(token_id, data, _kind(tokenizer, token_id), _text(data), ())


def _tell_parts(tokens: list[Token]) -> None:
    """Say of those that are no text by themselves which characters they hold a part of."""
    spans = _characters(b"".join(token.data for token in tokens))
    if spans is None:
        return
    end = 0
    known: dict[tuple[int, tuple[Part, ...]], Token] = {}
    for i, token in enumerate(tokens):
        start, end = end, end + len(token.data)
        if token.text is None:
            parts = tuple(_cut_off(spans, start, end))
            tokens[i] = known.setdefault((token.token_id, parts), replace(token, parts=parts))


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
