"""What each form of `glass generate` looks like: JSON fields, the table of choices, the footer, the tints."""

import math
import re

import pytest
from helpers.in_process import glass
from helpers.strict_json import strict
from helpers.terminal import in_terminal
from rich.cells import cell_len

ANSI = re.compile(r"\x1b\[[0-9;]*m")


# JSON documents.


def test_the_document(model: list[str]) -> None:
    run = glass(*model, "Once", "-n", "6", "--seed", "3", "--json", "--logprobs", "3", "--ignore-eos")
    document = strict(run.out)
    promised = [
        "finish_reason",
        "model",
        "prompt",
        "prompt_ids",
        "sampling",
        "schema",
        "seed",
        "text",
        "timings",
        "tokens",
    ]
    assert set(promised) <= set(document)
    assert document["schema"] == "glass.generate/1"
    assert (document["prompt"], document["seed"], document["finish_reason"]) == ("Once", 3, "length")
    assert len(document["tokens"]) == 6
    for token in document["tokens"]:
        told = "id text bytes logprob p_sampled rank entropy_bits n_kept kept top"
        assert set(token) == set(told.split())
        assert token["kept"] == {"top_p": token["n_kept"]}
        assert [set(other) for other in token["top"]] == [{"id", "text", "bytes", "logprob"}] * 3
        data = bytes.fromhex(token["bytes"])
        assert token["text"] is None or token["text"].encode() == data
        best = [other["logprob"] for other in token["top"]]
        assert best == sorted(best, reverse=True)
        assert token["logprob"] <= best[0] <= 0
    data = b"".join(bytes.fromhex(token["bytes"]) for token in document["tokens"])
    assert data.decode(errors="replace") == document["text"]
    mean = sum(token["logprob"] for token in document["tokens"]) / 6
    assert document["perplexity"] == pytest.approx(math.exp(-mean))


def test_no_text_is_strict_json_too(model: list[str]) -> None:
    document = strict(glass(*model, "Once", "-n", "0", "--json").out)
    assert (document["tokens"], document["text"], document["perplexity"]) == ([], "", None)
    assert document["timings"]["decode_tokens_per_s"] is None
    events = [strict(line) for line in glass(*model, "Once", "-n", "0", "--jsonl").out.splitlines()]
    assert [event["event"] for event in events] == ["done"]


def test_half_a_character_has_no_text_but_bytes(model: list[str]) -> None:
    document = strict(glass(*model, "x", "-n", "60", "--seed", "1", "-t", "3", "--json").out)
    halves = [token for token in document["tokens"] if token["text"] is None]
    assert halves  # a random model writes many
    for token in halves:
        with pytest.raises(UnicodeDecodeError):
            bytes.fromhex(token["bytes"]).decode()


# The table.


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 250])
@pytest.mark.parametrize("args", [[], ["-t", "0"], ["--top-k", "5", "--min-p", "0.1", "--repetition-penalty", "1.2"]])
def test_no_line_of_the_table_is_too_wide(model: list[str], columns: int, args: list[str]) -> None:
    run = glass(*model, "日本語 🙂", "-n", "20", "--seed", "1", "--show", "probs", *args, columns=columns)
    lines = run.out.splitlines()
    assert max(map(cell_len, lines)) <= columns
    hidden = [name for name in ("entropy", "kept", "drawn", "runners-up") if name not in lines[0]]
    told = " ".join(line.strip() for line in lines[20:])
    assert all(name in told for name in hidden)
    assert ("too narrow" in told) is bool(hidden)


def test_columns_stand_below_each_other_whatever_the_tokens(model: list[str]) -> None:
    run = glass(
        *model, "x", "-n", "200", "--seed", "1", "-t", "2", "--ignore-eos", "--show", "probs", "--logprobs", "1"
    )
    head, *rows = run.out.splitlines()[:201]
    ends = [match.end() for match in re.finditer(r"\S+", head)][2:]
    assert len(ends) == 6
    for row in rows:
        label = next(n for n in range(len(row)) if cell_len(row[:n]) == 17)  # the number and the token
        shown = " " * 17 + row[label:]
        assert len(shown) == ends[-1]
        assert all(shown[end - 1] != " " and shown[end : end + 1] in (" ", "") for end in ends)


def test_numbers_of_the_table_are_those_of_json(model: list[str]) -> None:
    args = [*model, "Once", "-n", "8", "--seed", "2"]
    document = strict(glass(*args, "--json", "--logprobs", "4").out)
    rows = glass(*args, "--show", "probs").out.splitlines()[1:9]
    for token, row in zip(document["tokens"], rows, strict=True):
        cells = row[17:].split()
        assert cells[0] == f"{math.exp(token['logprob']):.3f}"[1:]
        assert int(cells[1].replace(",", "")) == token["rank"]
        assert cells[2] == f"{-token['logprob'] / math.log(2):.1f}"
        assert cells[4] == f"{token['entropy_bits']:.2f}"
        assert int(cells[6]) == token["n_kept"]
        assert cells[7] == f"{token['p_sampled']:.3f}"[1:]


def test_the_table_tells_what_each_filter_left(model: list[str]) -> None:
    args = [*model, "Once", "-n", "8", "--seed", "2", "--top-k", "90", "--top-p", "0.8", "--min-p", "0.3"]
    document = strict(glass(*args, "--json", "--logprobs", "1").out)
    rows = glass(*args, "--show", "probs", "--logprobs", "1").out.splitlines()[1:9]
    for token, row in zip(document["tokens"], rows, strict=True):
        assert row.split()[-2] == "→".join(str(count) for count in token["kept"].values())
        assert token["kept"]["top_k"] >= token["kept"]["top_p"] >= token["kept"]["min_p"] == token["n_kept"]
    ascii_rows = glass(*args, "--show", "probs", "--logprobs", "1", encoding="ascii").out.splitlines()[1:9]
    assert [row.split()[-2] for row in ascii_rows] == [row.split()[-2].replace("→", ">") for row in rows]
    assert glass(*args, "--show", "probs", "--logprobs", "0").code == 0


def test_the_sampler_is_told_in_its_order(model: list[str]) -> None:
    chain = ["--top-k", "5", "--top-p", "0.9", "--min-p", "0.1", "--repetition-penalty", "1.2", "-t", "0.7"]
    told = glass(*model, "x", "-n", "1", "--show", "probs", *chain).out.splitlines()[2]
    assert told == " sampler  320 → repeat 1.2 → temp 0.7 → top-k 5 → top-p 0.9 → min-p 0.1"


# A terminal.


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_the_footer_fits_and_tells_all(model: list[str], columns: int) -> None:
    code, shown = in_terminal(*model, "Once upon", "-n", "3", "--seed", "3", columns=columns, NO_COLOR="1")
    assert code == 0
    lines = shown.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("── "))
    footer = lines[start:]
    assert max(map(cell_len, footer[:-1])) <= columns
    told = " ".join(line.strip("─ ") for line in footer)
    for item in ("3 tokens", "stopped at -n 3", "seed 3", "temp 0.8, top-p 0.95", "tok/s", "KV ", "perplexity", "try "):
        assert item in told


@pytest.mark.parametrize(("columns", "asked", "shown"), [(0, "", 80), (60, "1000000000", 2000), (90, "0", 90)])
def test_the_footer_keeps_to_columns_that_make_sense(model: list[str], columns: int, asked: str, shown: int) -> None:
    _, text = in_terminal(
        *model, "a", "-n", "0", "--seed", "3", "-t", "0", columns=columns, COLUMNS=asked, NO_COLOR="1"
    )
    footer = next(line for line in text.splitlines() if line.startswith("── "))
    assert cell_len(footer) == shown


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--stop", "e"], "stopped before 'e'"),
        (["-n", "600", "--ignore-eos"], "context of 512 full"),
        (["-n", "0"], "0 tokens · stopped at -n 0"),
    ],
)
def test_the_footer_says_why(model: list[str], args: list[str], says: str) -> None:
    _, shown = in_terminal(*model, "Once upon", "--seed", "1", "-n", "400", *args, columns=200, NO_COLOR="1")
    assert says in shown


def test_the_footer_goes_to_stderr_and_can_be_silenced(model: list[str]) -> None:
    _, quiet = in_terminal(*model, "Once", "-n", "3", "--seed", "3", "-q", "--color", "never")
    piped = glass(*model, "Once", "-n", "3", "--seed", "3", "--echo").out
    assert quiet.rstrip("\n") == piped.rstrip("\n")
    for form in ("--json", "--jsonl"):
        _, shown = in_terminal(*model, "Once", "-n", "3", "--seed", "3", form)
        assert "──" not in shown


def test_tints_change_the_colour_alone(model: list[str]) -> None:
    args = [*model, "Once", "-n", "20", "--seed", "3", "-q", "--no-echo"]
    for spelling in ("colour", "color"):
        tinted = glass(*args, "--show", spelling, "--color", "always").out
        assert "\x1b[48;5;" in tinted
        assert ANSI.sub("", tinted) == glass(*args).out
        assert not re.search(r"\x1b\[48[^m]*m[^\x1b]*\n", tinted)  # no tint runs over a line's end
