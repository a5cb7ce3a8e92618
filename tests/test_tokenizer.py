"""Text to ids and back: equal to the `tokenizers` package where that is right, and never a split character."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from model_folders import END, byte_level, sentencepiece_like

from glasscli.errors import TokenizerError, UsageError
from glasscli.merges import merges
from glasscli.pieces import Spelling, byte_alphabet, label_of
from glasscli.tokenizer import Tokenizer, load_tokenizer

KINDS: dict[str, Callable[[], tokenizers.Tokenizer]] = {
    "byte-level": byte_level,
    "sentencepiece": sentencepiece_like,
    "metaspace": lambda: sentencepiece_like(metaspace=True),
}
TEXTS = [
    "",
    " ",
    "the cat",
    " the  cat",
    "the cat \n\n sat",
    "日本語 🙂 é",
    "👩‍👩‍👧",
    "a<s>b",
    "\x00\x1b[0m",
    "\ufffd",
    "x" * 500,
]


@pytest.fixture(scope="module", params=KINDS)
def backend(request: pytest.FixtureRequest) -> tokenizers.Tokenizer:
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(byte_level())


def streamed(tokenizer: Tokenizer, token_ids: list[int], after: tuple[int, ...] = ()) -> list[str]:
    stream = tokenizer.stream(after)
    return [*map(stream.push, token_ids), stream.finish()]


# --- there and back ---------------------------------------------------------------------------------------------


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


_TOKENIZER = Tokenizer(byte_level())


# --- streaming --------------------------------------------------------------------------------------------------


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


# --- special tokens ---------------------------------------------------------------------------------------------


def test_special_tokens_in_a_text_are_text_unless_asked_for(tokenizer: Tokenizer) -> None:
    text = f"hi {END} there"
    plain, parsed = tokenizer.encode(text), tokenizer.encode(text, special=True)
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


# --- pieces and labels ------------------------------------------------------------------------------------------


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


def test_ids_that_are_no_token(tokenizer: Tokenizer) -> None:
    for token_id in (-1, 320, 2**32, 2**70):
        with pytest.raises(TokenizerError, match=f"no token has the id {token_id}"):
            tokenizer.piece_bytes(token_id)
    assert tokenizer.unused_ids(324) == [320, 321, 322, 323]
    assert tokenizer.unused_ids(320) == []


# --- merges -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_merges_end_at_the_tokens(text: str, backend: tokenizers.Tokenizer) -> None:
    ours = Tokenizer(backend)
    words = merges(ours, text)
    assert [i for word in words for i in word.token_ids] == [i for i in ours.encode(text) if i not in ours.added_ids]
    for word in words:
        *_, last = word.chain()
        assert list(last) == [ours.piece_bytes(i) for i in word.token_ids]
        assert all(len(left) > 0 for left in word.symbols)


def test_merges_by_hand() -> None:
    """t+h (rank 0) before th+e (1) before ▁+the (2), though ▁ stands first."""
    (word,) = merges(Tokenizer(sentencepiece_like()), "the")
    assert [b"|".join(symbols) for symbols in word.chain()] == [b" |t|h|e", b" |th|e", b" |the", b" the"]
    assert [(merge.at, merge.left, merge.right, merge.rank) for merge in word.merges] == [
        (1, b"t", b"h", 0),
        (1, b"th", b"e", 1),
        (0, b" ", b"the", 2),
    ]


def test_only_bpe_has_merges() -> None:
    backend = tokenizers.Tokenizer(tokenizers.models.Unigram([("<unk>", 0.0), ("a", -1.0)], 0, False))
    backend.decoder = tokenizers.decoders.Metaspace()
    with pytest.raises(TokenizerError, match="'Unigram'; only BPE"):
        merges(Tokenizer(backend), "a")


# --- what is refused --------------------------------------------------------------------------------------------


def test_half_a_surrogate_pair_is_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match=r"half a surrogate pair \(U\+DC80\) at character 3"):
        tokenizer.encode("ab\udc80c")


def valid(**changes: Any) -> str:
    return json.dumps({**json.loads(byte_level().to_str()), **changes})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{", "is no valid tokenizer.json"),
        ("[]", "is no valid tokenizer.json"),
        ("{}", "is no valid tokenizer.json"),
        ("[" * 100_000, "is no valid tokenizer.json"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS pointer"),
        ("<html>", "is a web page"),
        (valid(model={"type": "Nonsense\x1b[0m"}), "is no valid tokenizer.json"),
        (valid(decoder=None), "has the decoder 'none'"),
        (valid(decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}), "has the decoder 'WordPiece'"),
        (valid(model={"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}), "out of vocabulary"),
        (
            valid(pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}),
            "is no valid tokenizer.json",
        ),
    ],
)
def test_broken_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(TokenizerError, match=re.escape(said)) as caught:
        load_tokenizer(tmp_path)
    assert all(line.isprintable() for line in str(caught.value).splitlines())


@pytest.mark.parametrize("broken", ["on loading", "on splitting"])
def test_bugs_of_the_package_are_errors_and_print_nothing(
    broken: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(byte_level().to_str())
    if broken == "on loading":  # a merge shorter than the prefix that is cut off its second half
        document["model"]["continuing_subword_prefix"] = "xyzw"
    else:  # a template with a token that it does not describe
        document["post_processor"]["special_tokens"] = {}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path).encode("the cat")
    assert capfd.readouterr() == ("", "")
    print("here again", file=sys.stderr)
    assert capfd.readouterr().err == "here again\n"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b'{"\xff": 1}')
    with pytest.raises(TokenizerError, match="is no valid tokenizer"):
        load_tokenizer(tmp_path)


def test_a_missing_file_and_one_of_the_older_kind(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match="there is no such file"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.model").write_bytes(b"x")
    with pytest.raises(TokenizerError, match=r"has tokenizer\.model and no"):
        load_tokenizer(tmp_path)


MEMORY = """
import resource, sys
import tokenizers
from glasscli.tokenizer import load_tokenizer
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
load_tokenizer(sys.argv[1])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
@pytest.mark.parametrize("part", ["merges", "vocabulary", "added tokens", "unknown field"])
def test_hostile_files_take_a_bounded_multiple_of_their_size(part: str, tmp_path: Path) -> None:
    model: dict[str, Any] = {"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": []}
    added: list[dict[str, Any]] = []
    if part == "merges":
        model["merges"] = [["a", "a"]] * 200_000
    elif part == "vocabulary":
        model["vocab"] = {f"{i:x}": i for i in range(150_000)}
    elif part == "added tokens":
        added = [{"id": i, "content": str(i), "special": True} for i in range(20_000)]
        added = [
            {**token, **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)} for token in added
        ]
    else:
        model["unknown"] = [[]] * 700_000
    (tmp_path / "tokenizer.json").write_text(valid(model=model, added_tokens=added, post_processor=None))
    size = (tmp_path / "tokenizer.json").stat().st_size
    assert size > 1_500_000
    result = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(result.stdout) < 64 * size


def test_a_file_past_the_limit_is_not_parsed(tmp_path: Path) -> None:
    with (tmp_path / "tokenizer.json").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(TokenizerError, match="is longer than 67,108,864 bytes"):
        load_tokenizer(tmp_path)


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    byte_level().save(str(tmp_path / "elsewhere.json"))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").symlink_to("../elsewhere.json")
    with pytest.raises(TokenizerError, match="link to a file outside"):
        load_tokenizer(tmp_path / "model")
