"""How much longer the steps of a tokenizer.json can make a text, told before any text is given to them.

A file of a few KiB with forty steps that each write "aa" for "a" would fill any memory. Knows the steps that the
`tokenizers` package has, by the names in its JSON; what is not listed makes nothing longer.
"""

import base64
import binascii
import json
import math
from typing import TYPE_CHECKING, Any

from glasscli.errors import TokenizerError

if TYPE_CHECKING:
    import tokenizers

# Far above what tokenizers in use need: 12 for Llama's, some 1,400 where SentencePiece's table for NFKC is used;
# their decoders make nothing longer, and they add two or three tokens.
MOST_GROWTH, MOST_OF_A_TOKEN, MOST_ADDED = 10_000, 10, 64

# Bytes out for a byte in, at worst. Of Unicode: ﷺ (3 bytes) has 33 in NFKC, ΐ (2 bytes) has 6 in NFD, İ has 3 in
# lower case.
_FACTORS = {
    "NFC": 3.0,
    "NFD": 3.0,
    "NFKC": 11.0,
    "NFKD": 11.0,
    "Lowercase": 1.5,
    "BertNormalizer": 5.0,  # spaces around a Chinese character, or accents taken apart
    "ByteLevel": 4.0,  # two bytes for one, and such a space in front of each piece
    "Metaspace": 6.0,  # ▁ for a space, and one in front of each piece
}


def check_growth(backend: "tokenizers.Tokenizer", source: str) -> None:
    """Refuse a tokenizer that makes much of little, on purpose or by mistake.

    Args:
        source: opens the message of an error.

    Raises:
        TokenizerError: a text, a token's text, or the number of tokens added could grow past the limits.
    """
    steps = [json.loads(part.__getstate__()) for part in (backend.normalizer, backend.pre_tokenizer) if part]
    if (factor := math.prod(map(growth, steps))) > MOST_GROWTH:
        raise TokenizerError(f"{source}: could make a text {factor:.3g} times as long; expected at most {MOST_GROWTH}")
    decoder = backend.decoder
    if decoder and (factor := growth(json.loads(decoder.__getstate__()))) > MOST_OF_A_TOKEN:
        raise TokenizerError(f"{source}: its decoder could make a token {factor:.3g} times as long")
    if (added := backend.num_special_tokens_to_add(False)) > MOST_ADDED:
        raise TokenizerError(f"{source}: puts {added:,} tokens around every text; expected at most {MOST_ADDED}")


def growth(step: dict[str, Any]) -> float:
    """The most bytes that a step, or a `Sequence` of them, makes of one byte of text."""
    kind = step.get("type")
    if kind == "Sequence":
        steps = step.get("normalizers") or step.get("pretokenizers") or step.get("decoders") or []
        return math.prod(map(growth, steps))
    if kind == "Replace":
        return _replace(step["pattern"], len(step["content"].encode()))
    if kind == "Prepend":  # in front of each stretch between special tokens
        return 1.0 + len(step["prepend"].encode())
    if kind == "Precompiled":
        return _precompiled(step["precompiled_charsmap"])
    return _FACTORS.get(str(kind), 1.0)


def _replace(pattern: dict[str, str], n_bytes: int) -> float:
    if pattern.get("String"):
        return max(1.0, n_bytes / len(pattern["String"].encode()))
    return 1.0 + 2.0 * n_bytes  # an expression, or an empty text, can be found before and after any character


def _precompiled(charsmap: str) -> float:
    """The longest text that SentencePiece's table writes for a character: after its index, texts that end in NUL."""
    try:
        data = base64.b64decode(charsmap)
    except (ValueError, binascii.Error):
        return 1.0
    start = 4 + int.from_bytes(data[:4], "little")
    return max(1.0, *(float(len(text)) for text in data[start:].split(b"\0")))
