"""What one token stands for: its bytes and its label, which hides and pretends nothing."""

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from glasscli.tokenizer.pieces import Spelling, byte_alphabet, label_of


def test_the_alphabet_is_that_of_the_tokenizers_package() -> None:
    alphabet = byte_alphabet()
    assert set(alphabet) == set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert sorted(alphabet.values()) == list(range(256))
    assert (alphabet["Ġ"], alphabet["Ċ"], alphabet["a"]) == (0x20, 0x0A, 0x61)


@pytest.mark.parametrize(
    ("data", "label", "in_ascii"),
    [
        (b" the", "·the", "_the"),
        (b"\n\n", "⏎⏎", "\\n\\n"),
        (b"\t", "⇥", "\\t"),
        (b"\xe2", "<0xE2>", "<0xE2>"),
        (b" \xe2\x80", "·<0xE2><0x80>", "_<0xE2><0x80>"),
        (b"\x80", "<0x80>", "<0x80>"),
        (b"\x00\x1b[31m\x7f", "<0x00><0x1B>[31m<0x7F>", "<0x00><0x1B>[31m<0x7F>"),
        ("é日🙂".encode(), "é日🙂", "<U+00E9><U+65E5><U+1F642>"),
        ("·⏎".encode(), "<U+00B7><U+23CE>", "<U+00B7><U+23CE>"),
        ("\u200d\u202e\u00a0\u2028".encode(), "<U+200D><U+202E><U+00A0><U+2028>", "<U+200D><U+202E><U+00A0><U+2028>"),
        ("e\u0301".encode(), "e<U+0301>", "e<U+0301>"),
        (b"", "", ""),
    ],
)
def test_labels_hide_and_pretend_nothing(data: bytes, label: str, in_ascii: str) -> None:
    assert label_of(data) == label
    assert label_of(data, ascii_only=True) == in_ascii


@pytest.mark.parametrize("c", [" ", "a", "é", "日", "🙂"])
def test_labels_of_endless_tokens_are_cut(c: str) -> None:
    assert label_of(c.encode() * 128) == label_of(c.encode()) * 128  # the longest of real vocabularies
    for n in (129, 1_000_000):
        assert label_of(c.encode() * n) == label_of(c.encode()) * 128 + "…"
        assert label_of(c.encode() * n, ascii_only=True) == label_of(c.encode(), ascii_only=True) * 128 + "..."


def test_pieces_that_only_look_like_bytes_are_text() -> None:
    assert Spelling(byte_tokens=True).piece_bytes("<0xE2>") == b"\xe2"
    assert Spelling(byte_tokens=True).piece_bytes("<0xZZ>") == b"<0xZZ>"
    assert Spelling().piece_bytes("<0xE2>") == b"<0xE2>"
    assert Spelling(bytes_of=byte_alphabet()).piece_bytes("日") == "日".encode()


@given(st.binary())
def test_every_label_prints_on_one_line(data: bytes) -> None:
    assert label_of(data).isprintable()
    assert label_of(data, ascii_only=True).isascii()
