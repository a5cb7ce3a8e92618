"""A GGUF's tokenizer: the ids that llama.cpp gives, the tokens of whom it was made from, and what is refused."""

import itertools
import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from helpers.gguf_files import as_written, write_gguf
from helpers.model_folders import TEXTS, byte_level

from glasscli.checkpoint.gguf.header import read_header
from glasscli.errors import TokenizerError
from glasscli.tokenizer.gguf import end_ids, tokenizer_of
from glasscli.tokenizer.pre_tokenizers import PRE_TOKENIZERS
from glasscli.tokenizer.scores import merges
from glasscli.tokenizer.tokenizer import Tokenizer

# Made by make_llama_cpp_ids.py beside it.
PLACE = Path(__file__).parents[1] / "data" / "gguf" / "llama_cpp_ids.json"
TRUTH: dict[str, Any] = json.loads(PLACE.read_text(encoding="utf-8"))
KEYS = "tokenizer.ggml."


def metadata_of(tmp_path: Path, metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata as they come back from a file."""
    return read_header(write_gguf(tmp_path / "m.gguf", as_written(metadata))).metadata


def made(tmp_path: Path, metadata: dict[str, Any], **changes: Any) -> Tokenizer:
    changed = metadata | {KEYS + name: value for name, value in changes.items()}
    return tokenizer_of(metadata_of(tmp_path, {k: v for k, v in changed.items() if v is not None}), "m.gguf")


def refused(tmp_path: Path, metadata: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(TokenizerError) as found:
        made(tmp_path, metadata, **changes)
    assert str(found.value).startswith("m.gguf: ")
    return str(found.value)


@pytest.mark.parametrize("way", [way for way in TRUTH["ids"] if not way.startswith("scores")])
def test_every_way_to_cut_gives_llama_cpps_ids(way: str, tmp_path: Path) -> None:
    tokenizer = made(tmp_path, TRUTH["gpt2"], pre=way)
    equal = [tokenizer.encode(text) == ids for text, ids in zip(TRUTH["texts"], TRUTH["ids"][way], strict=True)]
    parted = [text for text, same in zip(TRUTH["texts"], equal, strict=True) if not same]
    # Of these two, llama.cpp's expression leaves combining marks out of words; the models' own has them in.
    assert all(has_marks(text) for text in parted) if way in ("tekken", "gpt-4o") else not parted
    assert sum(equal) >= 40
    assert len({str(ids) for ids in TRUTH["ids"].values()}) > 12  # the texts tell the ways apart


def has_marks(text: str) -> bool:
    return any(unicodedata.category(c).startswith("M") for c in text)


def test_every_way_to_cut_is_tried() -> None:
    tried = {PRE_TOKENIZERS[way] for way in TRUTH["ids"] if not way.startswith("scores")}
    assert tried == set(PRE_TOKENIZERS.values())


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("prefix", [False, True])
def test_scores_give_llama_cpps_ids(prefix: bool, special: bool, tmp_path: Path) -> None:
    tokenizer = made(tmp_path, TRUTH["llama"], add_space_prefix=prefix)
    for text, expected in zip(TRUTH["texts"], TRUTH["ids"][f"scores, prefix {prefix}, special {special}"], strict=True):
        assert tokenizer.encode(text, parse_special=special) == expected, text
        if "<user>" not in text:  # after it another space is put in front, which nothing takes off again
            assert tokenizer.decode(expected) == text


def test_a_tokenizer_json_comes_back(tmp_path: Path) -> None:
    original = byte_level()
    vocab, state = original.get_vocab(), json.loads(original.model.__getstate__())
    tokens = sorted(vocab, key=vocab.__getitem__)
    metadata = {
        f"{KEYS}model": "gpt2",
        f"{KEYS}pre": "gpt-2",
        f"{KEYS}tokens": tokens,
        f"{KEYS}token_type": [3] + [1] * (len(tokens) - 1),
        f"{KEYS}merges": [" ".join(pair) for pair in state["merges"]],
        f"{KEYS}bos_token_id": 0,
        f"{KEYS}add_bos_token": True,
    }
    found, expected = made(tmp_path, metadata), Tokenizer(original)
    for text in TEXTS:
        for special in (False, True):
            assert found.encode(text, parse_special=special) == expected.encode(text, parse_special=special)
    for attribute in ("kind", "vocab_size", "special_ids", "added_ids", "spelling"):
        assert getattr(found, attribute) == getattr(expected, attribute)
    assert [found.piece(i) for i in range(found.vocab_size)] == tokens


def test_marks_around_a_text(tmp_path: Path) -> None:
    def marks(metadata: dict[str, Any], **said: Any) -> list[int]:
        return made(tmp_path, metadata, pre="qwen2", **said).encode("")

    assert marks(TRUTH["gpt2"]) == []
    assert marks(TRUTH["gpt2"], add_bos_token=True, bos_token_id=2) == [2]
    assert marks(TRUTH["gpt2"], add_bos_token=True, add_eos_token=True, bos_token_id=2) == [2, 1]
    assert marks(TRUTH["llama"]) == [1]  # SentencePiece's begin, unless the file says otherwise
    assert marks(TRUTH["llama"], bos_token_id=None) == [1]
    assert marks(TRUTH["llama"], add_bos_token=False, add_eos_token=True) == [2]
    assert made(tmp_path, TRUTH["gpt2"], pre="llama-bpe").encode("") == [1]  # as Llama 3 does


def test_ends_of_text(tmp_path: Path) -> None:
    def ends(**said: Any) -> list[int]:
        changed = TRUTH["gpt2"] | {KEYS + name: value for name, value in said.items()}
        return end_ids(metadata_of(tmp_path, changed), "m.gguf")

    assert ends() == [1]
    assert ends(eos_token_id=0) == [0, 1]  # <|end|> ends a turn, whatever the file says
    assert ends(eos_token_id=0, eot_token_id=5, eom_token_id=6) == [0, 5, 6, 1]
    assert ends(eos_token_id=10**6) == [1]
    tokens = [*TRUTH["gpt2"][f"{KEYS}tokens"], "<|return|>", "<|call|>", "</s>"]
    kinds = [*TRUTH["gpt2"][f"{KEYS}token_type"], 3, 3, 1]
    n = len(tokens) - 3
    assert ends(tokens=tokens, token_type=kinds, eos_token_id=n) == [n, n + 1]  # there <|end|> ends a part of a turn
    assert end_ids({}, "m.gguf") == []


def test_phi_3s_marks_swallow_what_follows(tmp_path: Path) -> None:
    text = "<|end|>  \n x"
    usual = made(tmp_path, TRUTH["gpt2"], pre="gpt-2")
    phi = made(tmp_path, TRUTH["gpt2"] | {"general.name": "Phi-3 mini"}, pre="gpt-2")
    assert phi.encode(text, parse_special=True) == usual.encode("<|end|>x", parse_special=True)
    assert phi.encode(text) == usual.encode(text)


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    ours, scores = TRUTH["gpt2"] | {f"{KEYS}pre": "gpt-2"}, TRUTH["llama"]
    assert "its pre-tokenizer is 'new-model', which" in refused(tmp_path, ours, pre="new-model")
    assert "names no pre-tokenizer" in refused(tmp_path, ours, pre=None)
    assert "holds no tokenizer" in refused(tmp_path, ours, model=None)
    assert "its tokenizer is 'bert'" in refused(tmp_path, ours, model="bert")
    assert "tokens is missing" in refused(tmp_path, ours, tokens=None)
    assert "tokens is no list" in refused(tmp_path, ours, tokens="a")
    assert "tokens does not list what it should" in refused(tmp_path, ours, tokens=[1, 2])
    assert "has a token twice" in refused(tmp_path, ours, tokens=["a", "a"], token_type=None)
    assert "have 2 types" in refused(tmp_path, ours, token_type=[1, 1])
    assert "merges is missing" in refused(tmp_path, ours, merges=None)
    assert "'ab' is no pair" in refused(tmp_path, ours, merges=["ab"])
    assert "do not fit its tokens" in refused(tmp_path, ours, merges=["<unk> nothing"])
    assert "scores is missing" in refused(tmp_path, scores, scores=None)
    assert "a score each" in refused(tmp_path, scores, scores=[1.0])
    assert "a score each" in refused(tmp_path, scores, scores=[float("nan")] * len(scores[f"{KEYS}tokens"]))


def joined(text: str, scores: dict[str, float]) -> list[str]:
    """SentencePiece word by word: of all neighbours that make a token, join those with the highest score."""
    parts = list(text)
    while True:
        found = [(scores[a + b], -i) for i, (a, b) in enumerate(itertools.pairwise(parts)) if a + b in scores]
        if not found:
            return parts
        at = -max(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def test_pairs_by_score_join_as_scores_do(tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(200):
        words = {"a", "b", "c", "▁"} | {"".join(rng.choices("abc▁", k=rng.randint(2, 4))) for _ in range(30)}
        scores = {word: -float(i) for i, word in enumerate(rng.sample(sorted(words), len(words)))}
        pairs = merges({word: i for i, word in enumerate(sorted(words))}, scores)
        assert sorted({a + b for a, b in pairs}, key=lambda word: -scores[word]) == list(
            dict.fromkeys(a + b for a, b in pairs)
        )
        ranks = {pair: rank for rank, pair in enumerate(pairs)}
        for _ in range(5):
            text = "".join(rng.choices("abc▁", k=12))
            assert by_rank(text, ranks) == joined(text, scores) or has_a_run(text)


def by_rank(text: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    """Byte-pair encoding word by word."""
    parts = list(text)
    while found := [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(parts)) if pair in ranks]:
        at = min(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def has_a_run(text: str) -> bool:
    """Whether a group of characters is there twice in a row: where the two may part (see `scores`)."""
    return any(text[i : i + n] == text[i + n : i + 2 * n] for n in range(1, 7) for i in range(len(text)) if i + n < 12)
