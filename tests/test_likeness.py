"""What was perhaps meant: distances worked out by hand, and slips that people make."""

import pytest

from glasscli.likeness import did_you_mean, edits, enumerated, nearest

OPTIONS = ["--temperature", "--temp", "--top-k", "--top-p", "--stop", "--seed", "--max-new-tokens", "--max-tokens"]
OPTIONS += ["--emit", "--weighted", "--no-mask", "--repetition-penalty", "--no-cache", "--layer", "--json", "--jsonl"]
OPTIONS += ["--num", "-n", "-t", "--attn", "--ctx"]


@pytest.mark.parametrize(
    ("a", "b", "least"),
    [
        ("", "", 0),
        ("", "ab", 2),
        ("kitten", "sitting", 3),  # k→s, e→i, +g
        ("sofmax", "softmax", 1),
        ("ca", "ac", 1),  # one swap
        ("ca", "abc", 3),  # 2 would touch the swapped pair again
        ("seed", "seed", 0),
        ("a cat", "an act", 2),  # +n, a swap
    ],
)
def test_edits_by_hand(a: str, b: str, least: int) -> None:
    assert edits(a, b) == edits(b, a) == least


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--tempp", ["--temp"]),
        ("--temprature", ["--temperature"]),
        ("--temper", ["--temperature"]),
        ("--topk", ["--top-k"]),
        ("--top_p", ["--top-p"]),
        ("--sede", ["--seed"]),
        ("--josn", ["--json"]),
        ("--weights", ["--weighted"]),
        ("--penalty", ["--repetition-penalty"]),
        ("--tokens", ["--max-tokens", "--max-new-tokens"]),
        ("--num-gpus", ["--num"]),
        ("--nomask", ["--no-mask"]),
        ("-N", ["-n"]),
        ("--attention", ["--attn"]),
        ("--context", ["--ctx"]),
        ("--atn", ["--attn"]),
        ("--astound", []),  # one t
        ("--verbose", []),
        ("--x", []),
        ("-z", []),
        ("--", []),
        ("", []),
    ],
)
def test_what_options_are_like(typed: str, meant: list[str]) -> None:
    assert nearest(typed, OPTIONS) == meant


def test_short_names_are_told_apart() -> None:
    """Of a name of two letters half is wrong with one slip; a beginning is none."""
    formats = ["f32", "f16", "bf16", "q8_0", "q5_0", "q4_1", "q4_0"]
    assert nearest("q4", formats) == ["q4_0", "q4_1"]
    assert nearest("f8", formats) == []
    assert nearest("f61", formats) == ["f16"]
    assert nearest("q40", formats) == ["q4_0"]
    assert nearest("h10", ["h200", "h100", "h20", "a10"]) == ["h100", "h20"]


def test_the_sentence() -> None:
    assert did_you_mean("llamacpp", ["vllm", "llama.cpp"]) == "Did you mean llama.cpp?"
    assert did_you_mean("q4", ["q4_0", "q4_1"]) == "Did you mean q4_0 or q4_1?"
    assert did_you_mean("kiv", ["kivi4", "kivi2", "kivi8"]) == "Did you mean kivi2, kivi4 or kivi8?"
    assert did_you_mean("q", ["q4_0", "q4_1"]) == ""
    assert nearest("q4", ["q4_0", "q4_0"]) == ["q4_0"]


def test_names_in_a_row() -> None:
    rows = [enumerated(names, "and") for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])]
    assert rows == ["", "a", "a and b", "a, b and c"]
