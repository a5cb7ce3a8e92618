"""What one token stands for: its bytes, and a label that a screen can show.

A tokenizer's vocabulary spells tokens in an alphabet of its own. Two are known: byte-level BPE (GPT-2, Llama 3,
SmolLM), where each character stands for one byte, and SentencePiece (Llama 1 and 2), where `▁` is a space and
`<0xE2>` a byte. Nothing here knows ids.
"""

import json
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

from glasscli.errors import TokenizerError
from glasscli.untrusted_files import quoted

_SHOWN = {" ": "·", "\n": "⏎", "\t": "⇥"}
_SHOWN_ASCII = {" ": "_", "\n": "\\n", "\t": "\\t"}
LONGEST_LABEL = 128  # characters of a token; the longest of vocabularies in use are runs of 128 spaces


def byte_alphabet() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for.

    Bytes that print in Latin-1 are their own character; the other 68, in order, are U+0100 and up, so that a
    space is `Ġ` and a newline `Ċ`. Source: Radford et al. 2019, the GPT-2 encoder.
    """
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printing]
    return {chr(byte): byte for byte in printing} | {chr(256 + i): byte for i, byte in enumerate(others)}


@dataclass(frozen=True)
class Spelling:
    """How a vocabulary's strings become bytes.

    Attributes:
        bytes_of: the byte-level alphabet, or None for the SentencePiece way.
        replace: pairs (written, meant), such as ("▁", " ").
        byte_tokens: whether `<0xE2>` stands for one byte.
        strip: spaces taken off the front of a whole text, where the tokenizer puts one in front of each.
        drop_first: a character that means nothing in the first token of a text.
    """

    bytes_of: dict[str, int] | None = None
    replace: tuple[tuple[str, str], ...] = ()
    byte_tokens: bool = False
    strip: int = 0
    drop_first: str = ""

    @classmethod
    def from_decoder(cls, state: bytes | None, source: str) -> "Spelling":
        """Read it off the decoder part of a tokenizer.json.

        Args:
            state: the decoder as JSON, or None if the tokenizer has none.
            source: opens the message of an error.

        Raises:
            TokenizerError: a kind of decoder that glass does not know. Guessing would garble the text.
        """
        return _then(cls(), json.loads(state) if state else {"type": "none"}, source)

    def piece_bytes(self, token: str, first: bool = False) -> bytes:
        """The bytes that `token` stands for; `first` if it opens a text."""
        if self.bytes_of is not None:
            try:
                return bytes([self.bytes_of[c] for c in token])
            except KeyError:  # not spelled in the alphabet: the text itself
                return token.encode()
        if self.byte_tokens and len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
            try:
                return bytes.fromhex(token[3:5])
            except ValueError:
                pass
        if first and self.drop_first:
            token = token.replace(self.drop_first, "")
        for written, meant in self.replace:
            token = token.replace(written, meant)
        return token.encode()


def label_of(data: bytes, ascii_only: bool = False) -> str:
    """`data` as a screen can show it, one line, nothing hidden and nothing pretended.

    A space is `·`, a newline `⏎`, a tab `⇥`. Bytes that are no whole character by themselves are `<0xE2>`, and
    characters that print nothing or steer a terminal are `<U+200D>`, as is a `·` that is really in the text. Past 128
    characters it is cut, with `…`.

    Args:
        ascii_only: use `_`, `\\n`, `\\t`, and `<U+00E9>` for all that is not ASCII.
    """
    shown = _SHOWN_ASCII if ascii_only else _SHOWN
    text = data[: 4 * LONGEST_LABEL + 4].decode("utf-8", "surrogateescape")
    parts = []
    for c in text[:LONGEST_LABEL]:
        code = ord(c)
        if 0xDC80 <= code <= 0xDCFF:  # surrogateescape's mark for a byte that is no part of a character
            parts.append(f"<0x{code - 0xDC00:02X}>")
        elif c in shown:
            parts.append(shown[c])
        elif code < 0x20 or code == 0x7F:
            parts.append(f"<0x{code:02X}>")
        elif code < 0x7F or not (ascii_only or c in "·⏎⇥" or _is_hidden(c)):
            parts.append(c)
        else:
            parts.append(f"<U+{code:04X}>")
    if len(text) > LONGEST_LABEL:
        parts.append("..." if ascii_only else "…")
    return "".join(parts)


def _is_hidden(c: str) -> bool:
    """Whether a character prints nothing of its own: controls, formats, unassigned, odd spaces, combining marks."""
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Mn", "Me")


def _then(spelling: Spelling, step: dict[str, Any], source: str) -> Spelling:
    """`spelling` with one more decoder step."""
    kind = step["type"]
    if kind == "Sequence":
        for inner in step["decoders"]:
            spelling = _then(spelling, inner, source)
        return spelling
    if kind == "ByteLevel":
        return replace(spelling, bytes_of=byte_alphabet())
    if kind == "ByteFallback":
        return replace(spelling, byte_tokens=True)
    if kind == "Fuse":
        return spelling
    if kind == "Strip" and step["content"] == " " and step["stop"] == 0:
        return replace(spelling, strip=step["start"])
    if kind == "Replace" and "String" in step["pattern"]:
        return replace(spelling, replace=(*spelling.replace, (step["pattern"]["String"], step["content"])))
    if kind == "Metaspace":
        mark = step["replacement"]
        first = "" if step.get("prepend_scheme", "always") == "never" else mark
        return replace(spelling, replace=(*spelling.replace, (mark, " ")), drop_first=first)
    raise TokenizerError(f"{source}: has the decoder {quoted(kind)}; glass knows ByteLevel, Metaspace and ByteFallback")
