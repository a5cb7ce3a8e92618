"""Text to ids and back: equal to the `tokenizers` package where that is right, and never a split character."""

import json
import random
from pathlib import Path

import pytest
import tokenizers
from helpers.model_folders import END, TEXTS, byte_level
from hypothesis import given
from hypothesis import strategies as st

from glasscli.errors import TokenizerError, UsageError
from glasscli.tokenizer.tokenizer import Tokenizer, load_tokenizer

_TOKENIZER = Tokenizer(byte_level())  # for tests that hypothesis runs, which fixtures do not suit


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(byte_level())


def streamed(tokenizer: Tokenizer, token_ids: list[int], after: tuple[int, ...] = ()) -> list[str]:
    stream = tokenizer.stream(after)
    return [*map(stream.push, token_ids), stream.finish()]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_and_text_are_those_of_the_tokenizers_package(text: str, backend: tokenizers.Tokenizer) -> None:
    ours = Tokenizer(backend)
    backend.encode_special_tokens = True
    token_ids = backend.encode(text).ids
    assert ours.encode(text) == token_ids
    for skip in (True, False):
        assert ours.decode(token_ids, skip) == backend.decode(token_ids, skip_special_tokens=skip)


def test_any_ids_decode_as_in_the_tokenizers_package(backend: tokenizers.Tokenizer) -> None:
    """Random ids, special ones among them. Where a run of `<0x..>` tokens is no UTF-8 the package replaces the
    whole run, good characters in it too, which a stream can't know beforehand; there only the rest must agree."""
    ours, draw, compared = Tokenizer(backend), random.Random(0), 0
    for _ in range(2000):
        token_ids = [draw.randrange(backend.get_vocab_size()) for _ in range(draw.randrange(8))]
        theirs = backend.decode(token_ids, skip_special_tokens=False)
        if ours.spelling.byte_tokens and "\ufffd" in theirs:
            continue
        compared += 1
        assert ours.decode(token_ids, False) == theirs
    assert compared > 300


@given(st.text())
def test_any_text_survives_a_byte_level_tokenizer(text: str) -> None:
    ours = _TOKENIZER
    token_ids = ours.encode(text)
    assert token_ids[0] == 0
    assert ours.decode(token_ids) == text
    assert "".join(streamed(ours, token_ids)) == text
    assert b"".join(map(ours.piece_bytes, token_ids[1:])) == text.encode()


@given(st.lists(st.integers(0, 319)), st.integers(0, 5))
def test_a_stream_is_the_whole_text_in_parts(token_ids: list[int], cut: int) -> None:
    after, rest = tuple(token_ids[:cut]), token_ids[cut:]
    head = _TOKENIZER.stream()
    before = "".join(map(head.push, after))
    assert before + "".join(streamed(_TOKENIZER, rest, after)) == _TOKENIZER.decode(token_ids)


def test_a_character_comes_out_when_it_is_whole(tokenizer: Tokenizer) -> None:
    token_ids = tokenizer.encode("é👩‍👧!")[1:]
    parts = streamed(tokenizer, token_ids)
    assert "".join(parts) == "é👩‍👧!"
    assert not any("\ufffd" in part for part in parts)
    assert parts[0] == ""  # the first byte of é


def test_a_character_cut_off_is_said_at_the_end_only(tokenizer: Tokenizer) -> None:
    *token_ids, _ = tokenizer.encode("ab👧")
    parts = streamed(tokenizer, token_ids)
    assert "".join(parts[:-1]) == "ab"
    assert parts[-1] == "\ufffd"


def test_spaces_in_front_and_doubled_survive(backend: tokenizers.Tokenizer) -> None:
    ours = Tokenizer(backend)
    prompt, text = ours.encode("the"), " the  cat"
    ids = {ours.piece(i): i for i in range(ours.vocab_size)}
    space = "Ġ" if ours.spelling.bytes_of else "▁"
    token_ids = [ids[space + "the"], ids[space], *ours.encode("cat")[1:]]
    if not ours.spelling.bytes_of:
        token_ids = [ids["▁the"], ids["▁▁"], ids["c"], ids["at"]]
    else:
        token_ids = [ids["Ġthe"], ids["Ġ"], ids["Ġcat"]]
    assert "".join(streamed(ours, token_ids, tuple(prompt))) == text
    assert ours.decode([*prompt, *token_ids]) == "the" + text


def test_a_special_token_in_mid_stream_is_not_shown(tokenizer: Tokenizer) -> None:
    assert "".join(streamed(tokenizer, [*tokenizer.encode("a"), *tokenizer.encode("b")])) == "ab"
    assert tokenizer.decode(tokenizer.encode("a"), skip_special=False) == END + "a"


def test_special_tokens_in_a_text_are_text_unless_asked_for(tokenizer: Tokenizer) -> None:
    text = f"hi {END} there"
    plain, parsed = tokenizer.encode(text), tokenizer.encode(text, parse_special=True)
    assert plain.count(0) == 1  # the one that the template puts in front
    assert parsed.count(0) == 2
    assert tokenizer.decode(plain) == text
    assert tokenizer.encode(text) == plain  # asking once changes nothing for the next
    assert tokenizer.special_ids == {0}


def test_a_tokenizer_without_a_template_adds_nothing() -> None:
    assert Tokenizer(byte_level(bos=False)).encode("") == []
    assert Tokenizer(byte_level()).encode("") == [0]


@pytest.mark.parity
@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("flag", [True, False, None])
def test_the_template_decides_as_in_transformers(bos: bool, flag: bool | None, tmp_path: Path) -> None:
    """`add_bos_token` in tokenizer_config.json changes nothing where tokenizer.json has a template or none."""
    from transformers import AutoTokenizer

    byte_level(bos=bos).save(str(tmp_path / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": END, "eos_token": END}
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps(config | ({} if flag is None else {"add_bos_token": flag}))
    )
    theirs = AutoTokenizer.from_pretrained(tmp_path)("the cat")["input_ids"]
    assert load_tokenizer(tmp_path).encode("the cat") == theirs


def test_truncation_padding_and_dropout_of_the_file_are_off(tmp_path: Path) -> None:
    backend = byte_level()
    backend.enable_truncation(4)
    backend.enable_padding(length=16, pad_id=0, pad_token=END)
    backend.model.dropout = 0.9
    backend.save(str(tmp_path / "tokenizer.json"))
    ours = load_tokenizer(tmp_path)
    text = "the cat sat on the mat and the dog ran to the tree"
    assert ours.decode(ours.encode(text)) == text
    assert all(ours.encode(text) == Tokenizer(byte_level()).encode(text) for _ in range(20))


def test_ids_that_are_no_token(tokenizer: Tokenizer) -> None:
    for token_id in (-1, 320, 2**32, 2**70):
        with pytest.raises(TokenizerError, match=f"no token has the id {token_id}"):
            tokenizer.piece_bytes(token_id)
    assert tokenizer.unused_ids(324) == [320, 321, 322, 323]
    assert tokenizer.unused_ids(320) == []


def test_half_a_surrogate_pair_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match=r"half a surrogate pair \(U\+DC80\) at character 3"):
        tokenizer.encode("ab\udc80c")


def test_names_of_special_tokens_are_found_in_a_text() -> None:
    backend = byte_level()
    backend.add_special_tokens(["<s>", "[INST]", "<|im_end|>", "\n\n"])
    tokenizer = Tokenizer(backend)
    assert tokenizer.special_in("a [INST] <s><s> <|im_end|") == ["[INST]", "<s>"]
    assert tokenizer.special_in("<<|im_end|>\n\n<|endoftext|>") == ["<|im_end|>", "\n\n", "<|endoftext|>"]
    assert tokenizer.special_in("") == tokenizer.special_in("nothing < of [ that |") == []


def test_a_long_text_has_the_same_ids_as_its_parts_together() -> None:
    """Past 100,000 characters the package is asked for ids alone."""
    tokenizer = Tokenizer(byte_level())
    line = "Lily had a red ball. 日本 <|endoftext|> 🙂\n"
    long = line * 4_000
    assert tokenizer.encode(long) == list(tokenizer.encoding(long).ids)
    assert tokenizer.encode(long, parse_special=True) == list(tokenizer.encoding(long, parse_special=True).ids)
    assert tokenizer.encode(long, framed=False) == tokenizer.encode(long)[1:]
