"""`glass tokenize --json`."""

from collections.abc import Sequence
from typing import Any

from glasscli.tokenizer.merges import Word
from glasscli.tokenizer.tokenized import Token, distinct
from glasscli.tokenizer.tokenizer import Tokenizer


def document(tokenizer: Tokenizer, text: str, tokens: Sequence[Token], words: Sequence[Word] | None) -> dict[str, Any]:
    """All that is known of the tokens of a text.

    `text` of a token is null where it holds a part of a character only; `bytes` are hexadecimal.
    """
    entries = {id(token): _entry(tokenizer, token) for token in distinct(tokens)}
    found: dict[str, Any] = {
        "schema": "glass.tokens/1",
        "tokenizer": {"kind": tokenizer.kind, "vocab_size": tokenizer.vocab_size},
        "text": text,
        "n_tokens": len(tokens),
        "n_characters": len(text),
        "n_bytes": len(text.encode()),
        "tokens": [entries[id(token)] for token in tokens],
    }
    if words is not None:
        found["words"] = [
            {
                "symbols": [symbol.hex() for symbol in word.symbols],
                "merges": [
                    {"at": m.at, "left": m.left.hex(), "right": m.right.hex(), "rank": m.rank} for m in word.merges
                ],
                "ids": list(word.token_ids),
            }
            for word in words
        ]
    return found


def _entry(tokenizer: Tokenizer, token: Token) -> dict[str, Any]:
    return {
        "id": token.token_id,
        "text": token.text,
        "bytes": token.data.hex(),
        "piece": tokenizer.piece(token.token_id),
        "kind": token.kind,
        "parts": [{"char": p.char, "start": p.start, "stop": p.stop, "n_bytes": p.n_bytes} for p in token.parts],
    }
