"""`glass generate --show attn`: each token, and the words that its step looked at."""

import re

import pytest
from helpers.in_process import glass
from helpers.shipped_heads import copying_head
from helpers.strict_json import strict
from helpers.terminal import in_terminal
from rich.cells import cell_len

LILY = "Once upon a time there was a little girl named Lily. One day,"


def test_the_name_comes_from_where_it_stood() -> None:
    """The induction head of the shipped model brings the name back; over all heads it comes first, too."""
    greedy = ("generate", LILY, "-n", "1", "-t", "0", "--show", "attn")
    assert re.search(r"^ +1  ·Lily +\.\d{3}  ·Lily\[11\] \.\d\d  ", glass(*greedy).out, re.MULTILINE)
    copies = copying_head()
    one = glass(*greedy, "--layer", str(copies.layer), "--head", str(copies.head)).out
    found = re.search(r"^ +1  ·Lily +\.\d{3}  ·Lily\[11\] (\.\d\d)", one, re.MULTILINE)
    assert found is not None
    assert float(found[1]) > 0.5, "more than on all else"
    assert f"over head {copies.head} of layer {copies.layer}" in " ".join(one.split())
    assert "over all heads of all layers" in " ".join(glass(*greedy).out.split())


def test_json_holds_a_share_for_every_token_read() -> None:
    command = ("generate", LILY, "-n", "4", "-t", "0", "--show", "attn", "--head", "1,2")
    document = strict(glass(*command, "--json").out)
    assert document["looked_at"] == {"measure": "A·‖v‖", "layers": [0, 1, 2, 3], "heads": [1, 2]}
    n_prompt = len(document["prompt_ids"])
    for i, token in enumerate(document["tokens"]):
        assert len(token["looked_at"]) == n_prompt + i
        assert sum(token["looked_at"]) == pytest.approx(1, abs=1e-4)
    lines = [strict(line) for line in glass(*command, "--jsonl").out.splitlines()]
    assert [line["looked_at"] for line in lines[:-1]] == [token["looked_at"] for token in document["tokens"]]
    assert "looked_at" not in strict(glass("generate", LILY, "-n", "1", "--json").out)["tokens"][0]


def test_the_text_is_the_one_of_an_unwatched_run() -> None:
    command = ("generate", LILY, "-n", "12", "--seed", "5", "--json")
    assert strict(glass(*command, "--show", "attn").out)["text"] == strict(glass(*command).out)["text"]


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_rows_fit_the_page(columns: int, encoding: str) -> None:
    ran = glass("generate", LILY, "-n", "3", "-t", "0", "--show", "attn", columns=columns, encoding=encoding)
    assert ran.code == 0
    if columns >= 40:
        assert max(map(cell_len, ran.out.splitlines())) <= columns
        assert len(re.findall(r"\[\d+\] [.<]", ran.out)) >= 3
    assert encoding == "utf-8" or ran.out.isascii()


def test_a_terminal_gets_the_rows_and_the_numbers_below() -> None:
    code, shown = in_terminal("generate", LILY, "-n", "2", "-t", "0", "--show", "attn", columns=100)
    assert code == 0
    assert "looked at (share)" in shown
    assert "2 tokens" in shown


REFUSED = {
    "--layer 1": "--layer picks what --show attn looks at: add that",
    "--head 1 --show probs": "--head picks what --show attn looks at: add that",
    "--show attn --no-cache": "--show attn looks at steps behind a cache that keeps its tokens in place: no --no-cache",
    "--show attn --overflow slide": "--show attn looks at steps behind a cache that keeps its tokens in place: no ",
    "--show attn --layer 9": "--layer 9: this model has layers 0–3.",
    "--show attn --head 4": "--head 4: this model has query heads 0–3.",
    "--show attn --logprobs 2": "--logprobs has nothing to go into: add --json, --jsonl, --csv or --show probs",
    "--show probs --json": "--show and --json are two formats: choose one",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_makes_no_sense_is_refused(options: str) -> None:
    ran = glass("generate", LILY, "-n", "1", *options.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"glass: {REFUSED[options]}")


def test_parts_can_be_taken_out_while_it_is_watched() -> None:
    ran = glass("generate", LILY, "-n", "2", "-t", "0", "--show", "attn", "--ablate", "3.2")
    assert ran.code == 0
    assert re.search(r"^ +1  ·she", ran.out, re.MULTILINE)
