"""A tokenizer.json that is damaged, hostile, huge or somewhere else is refused by name."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.model_folders import byte_level

from glasscli.errors import TokenizerError
from glasscli.tokenizer.tokenizer import load_tokenizer


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
from glasscli.tokenizer.tokenizer import load_tokenizer
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
