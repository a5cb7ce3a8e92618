"""How much longer a tokenizer makes a text: the bound holds for what the package does, and bombs are refused."""

import base64
import json
from typing import Any

import pytest
import tokenizers
from helpers.model_folders import byte_level
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, normalizers, pre_tokenizers

from glasscli.errors import TokenizerError
from glasscli.tokenizer.limits import growth
from glasscli.tokenizer.tokenizer import Tokenizer

WORST = ["ﷺ", "ΐ", "İ", "ẛ̣", "Å", "中", "a b", " ", "\x00", "\u1e9b\u0323", "𝅘𝅥𝅮", "¼", "aa"]
STEPS = {
    **{name: getattr(normalizers, name)() for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Nmt", "Strip")},
    "BertNormalizer": normalizers.BertNormalizer(),
    "StripAccents": normalizers.StripAccents(),
    "ByteLevel": normalizers.ByteLevel(),
    "Replace": normalizers.Replace("a", "▁▁"),
    "Replace of an expression": normalizers.Replace(Regex(" ?"), "xy"),
    "Prepend": normalizers.Prepend("▁"),
    "Sequence": normalizers.Sequence([normalizers.NFD(), normalizers.Replace("a", "bb"), normalizers.Prepend("x")]),
}
SPLITS = {
    "ByteLevel": pre_tokenizers.ByteLevel(add_prefix_space=True),
    "Metaspace": pre_tokenizers.Metaspace(),
    "Whitespace": pre_tokenizers.Whitespace(),
    "Digits": pre_tokenizers.Digits(individual_digits=True),
}


@pytest.mark.parametrize("name", STEPS)
@given(text=st.lists(st.sampled_from(WORST) | st.text(), min_size=1, max_size=3).map("".join).filter(bool))
def test_no_normalizer_exceeds_its_bound(name: str, text: str) -> None:
    after = STEPS[name].normalize_str(text)
    assert len(after.encode()) <= growth(json.loads(STEPS[name].__getstate__())) * len(text.encode())


@pytest.mark.parametrize("name", SPLITS)
@given(text=st.lists(st.sampled_from(WORST) | st.text(), min_size=1, max_size=3).map("".join).filter(bool))
def test_no_splitter_exceeds_its_bound(name: str, text: str) -> None:
    after = "".join(piece for piece, _ in SPLITS[name].pre_tokenize_str(text))
    assert len(after.encode()) <= growth(json.loads(SPLITS[name].__getstate__())) * len(text.encode())


def test_the_longest_text_of_a_table_counts() -> None:
    table = base64.b64encode((4).to_bytes(4, "little") + b"1234" + b"ab\0" + b"x" * 50 + b"\0c\0").decode()
    assert growth({"type": "Precompiled", "precompiled_charsmap": table}) == 50


def replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


TWICE = replace({"String": "a"}, "aa")
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "E", "type_id": 0}}] * 2000 + [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"E": {"id": "E", "ids": [0] * 2000, "tokens": ["x"] * 2000}},
}
BOMBS: dict[str, tuple[dict[str, Any], str]] = {
    "a is aa": ({"normalizer": {"type": "Sequence", "normalizers": [TWICE] * 40}}, "times as long"),
    "nested": (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [TWICE] * 8}] * 8}},
        "times as long",
    ),
    "everywhere": ({"normalizer": replace({"Regex": ""}, "x" * 5000)}, "could make a text 4e"),
    "in front": ({"normalizer": {"type": "Prepend", "prepend": "x" * 5000}}, "times as long"),
    "bytes of bytes": (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [json.loads(SPLITS["ByteLevel"].__getstate__())] * 40}},
        "times as long",
    ),
    "tokens around": ({"post_processor": TEMPLATE}, "puts 4,000,000 tokens around every text"),
    "pieces": (
        {"decoder": {"type": "Sequence", "decoders": [TWICE] * 40}, "pre_tokenizer": None},
        "decoder could make a token",
    ),
    "empty pattern": (
        {"decoder": replace({"String": ""}, "x" * 50), "pre_tokenizer": None},
        "decoder could make a token",
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_before_they_go_off(bomb: str) -> None:
    parts, said = BOMBS[bomb]
    backend = tokenizers.Tokenizer.from_str(json.dumps({**json.loads(byte_level().to_str()), **parts}))
    with pytest.raises(TokenizerError, match=said):
        Tokenizer(backend)
