"""`glass kv-quality` as it is typed: the page, the documents, the picture, the exit codes."""

import csv
import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers.dump_cases import tiny_folder
from helpers.in_process import Ran, glass, text_of
from helpers.strict_json import strict
from helpers.terminal import Terminal, in_terminal
from rich.cells import cell_len

from glasscli import load_model
from glasscli.cache.choice_text import parse_choice
from glasscli.quality.texts import documents_of, held_out_text
from glasscli.quality.trained_heads import trained_heads
from glasscli.quality.trial import Trial

QUICK = ("--ctx", "64", "--chunks", "3")
SVG = "{http://www.w3.org/2000/svg}"


def quality(*args: str, **settings: Any) -> Ran:
    return glass("kv-quality", *QUICK, *args, **settings)


def document(*args: str) -> Any:
    ran = quality(*args, "--json")
    assert ran.err == ""
    return strict(text_of(ran))


def test_the_page_says_what_was_read_and_what_is_smallest() -> None:
    out = text_of(quality())
    assert out.startswith("glass-1m\n")
    page = " ".join(out.split())
    for words in (
        "held-out stories 3 of 188 × 64 tokens, second halves scored: 96 perplexity",
        "of f16: bytes of 64 tokens, a chunk",
        "Smallest under a KL divergence of 0.01: ",
        "glass kv-budget --model glass-1m --",
        "llama-server -ctk ",
    ):
        assert words in page
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    assert rows["q8_0"][1:6] == ["544", "B", "–", "53", "%"]
    assert {"q4_0", "f16,window=32", "f16,sinks=4+window=28", "f16,h2o=32", "f16,kv-heads=1"} <= set(rows)


def test_what_the_gpu_needs_is_said_beside_the_command() -> None:
    build = "on CUDA: llama.cpp built with -DGGML_CUDA_FA_ALL_QUANTS=ON, or attention runs on the CPU"
    page = " ".join(text_of(quality("--spec", "q5_0", "--max-kld", "1")).split())
    assert f"llama-server -ctk q5_0 -ctv q5_0 -fa on {build}" in page
    assert "CUDA" not in text_of(quality("--spec", "q8_0", "--max-kld", "1"))
    flags = [row["flags"]["llama_cpp_cuda_build"] for row in document("--spec", "q5_0", "--spec", "q8_0")["caches"]]
    assert flags == [["-DGGML_CUDA_FA_ALL_QUANTS=ON"], None]


def test_the_document_is_the_trial() -> None:
    loaded = load_model()
    trial = Trial(loaded, documents_of(loaded, held_out_text()), 64, 3)
    told = document("--spec", "f32", "--spec", "k=q8_0,v=q4_0")
    assert told["schema"] == "glass.kv-quality/1"
    assert told["text"] | {"source": ""} == {
        "source": "",
        "context": 64,
        "chunks": 3,
        "chunks_there": 188,
        "scored_tokens": 96,
    }
    assert told["full"]["perplexity"] == pytest.approx(trial.perplexity)
    full, mixed = told["caches"]
    assert (full["kld"], full["delta_nats"], full["kld_p99"], full["same_top"]) == (0, 0, 0, 1)
    assert (full["bytes"], full["of_f16"]) == (64 * 2048, 2)
    expected = trial.run(parse_choice("k=q8_0,v=q4_0"))
    assert mixed["kld"] == pytest.approx(expected.divergence.kld)
    assert mixed["bytes_per_token"] == expected.bytes_per_token == 416
    assert mixed["flags"]["llama_cpp"] == ["-ctk", "q8_0", "-ctv", "q4_0", "-fa", "on"]
    assert told["smallest"] == ("k=q8_0,v=q4_0" if mixed["passes"] else None)
    assert not told["interrupted"]


@pytest.mark.parametrize(("by", "n"), [("layer", 4), ("kv", 3), ("head", 8), ("depth", 4)])
def test_parts_are_in_page_document_and_table(by: str, n: int) -> None:
    args = ("--spec", "q4_0,window=16", "--by", by)
    told = document(*args)
    parts = told["caches"][0]["parts"]
    assert (told["by"], len(parts)) == (by, n)
    rows = list(csv.DictReader(io.StringIO(text_of(quality(*args, "--csv")))))
    assert [row["part"] for row in rows] == ["all", *(part["part"] for part in parts)]
    assert [float(row["kld"]) for row in rows[1:]] == [part["kld"] for part in parts]
    out = text_of(quality(*args))
    assert f"by {'part' if by == 'kv' else 'KV head' if by == 'head' else by}: " in out
    assert str(round(parts[0]["kld"], 4)).lstrip("0") in out


def test_what_names_no_format_is_kept_in_f16() -> None:
    """So `of f16` is what is kept of it; the row says the format, and means the same when it is typed."""
    told = document("--spec", "window=32", "--spec", "k=q8_0", "--spec", "kv-heads=1", "--spec", "f32,window=32")
    assert [row["cache"] for row in told["caches"]] == [
        "f16,window=32",
        "k=q8_0,v=f16",
        "f16,kv-heads=1",
        "f32,window=32",
    ]
    assert [row["of_f16"] for row in told["caches"]] == [0.5, (34 / 64 + 1) / 2, 0.5, 1]
    again = document(*(word for row in told["caches"] for word in ("--spec", row["cache"])))
    assert again["caches"] == told["caches"]


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
@pytest.mark.parametrize("by", ["head", "layer", "kv", "depth"])
def test_no_line_is_wider_than_the_terminal(columns: int, by: str) -> None:
    specs = ("--spec", "k=fp8_e4m3,v=f16,sinks=4+window=12,renumber", "--spec", "window=16")
    out = text_of(quality("-m", str(tiny_folder()), *specs, "--by", by, columns=columns))
    assert max(cell_len(line) for line in out.splitlines()) <= columns
    for spec in (specs[1], "f16,window=16"):
        assert spec in "".join(out.split())  # one is wider than 40 columns


def test_the_last_line_offers_what_was_not_asked_for(tmp_path: Path) -> None:
    offered = {"--by": "--by layer", "--svg": "--svg cost.svg", "--spec": "--spec q8_0 --spec k=q8_0,v=q4_0"}
    for asked in ((), ("--by", "layer"), ("--svg", str(tmp_path / "a.svg"), "--spec", "f16")):
        _, shown = in_terminal("kv-quality", "--ctx", "8", "--chunks", "1", *asked, columns=120, NO_COLOR="1")
        hint = next(line for line in shown.splitlines() if line.startswith("try"))
        assert hint.endswith("--json")
        for option, words in offered.items():
            assert (words in hint) == (option not in asked), (asked, words)


@pytest.mark.parametrize("by", [(), ("--by", "head"), ("--by", "kv"), ("--by", "layer"), ("--by", "depth")])
@pytest.mark.parametrize("text", [("--ctx", "8", "--chunks", "1"), ("The cat saw the dog. They ran home.",)])
def test_the_shortest_chunks_can_be_read_with_every_usual_cache(by: tuple[str, ...], text: tuple[str, ...]) -> None:
    told = strict(text_of(glass("kv-quality", *text, *by, "--json")))
    assert 8 <= told["text"]["context"] < 16
    assert told["caches"]
    assert not told["left_out"]


def test_without_unicode_all_is_ascii() -> None:
    out = text_of(quality("--spec", "q4_0", "--by", "layer", encoding="ascii"))
    assert out.isascii()
    assert "\\x" not in out
    assert "\\u" not in out


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["--spec", "f32", "--max-kld", "0"], 0),
        (["--spec", "f16", "--max-kld", "0"], 1),
        (["--spec", "f16", "--spec", "kv-heads=1", "--max-kld", "0.01"], 1),
        (["--spec", "f16", "--spec", "kv-heads=1"], 0),
        (["--max-kld", "0.01"], 0),
        (["--max-kld", "0"], 1),
    ],
)
def test_a_limit_that_was_given_is_a_check(args: list[str], code: int) -> None:
    ran = quality(*args)
    assert ran.code == code
    assert ran.out
    assert ("over a KL divergence" in ran.err) == bool(code)


def test_a_window_longer_than_a_chunk_has_passed_no_check() -> None:
    ran = quality("--spec", "f32,window=64", "--max-kld", "0.01")
    assert ran.code == 1
    assert "too short to check f32,window=64" in ran.err
    assert "too short to drop or pack any" in " ".join(ran.out.split())
    assert quality("--spec", "window=64").code == 0


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--spec", "q9_0"], 2, "--spec 'q9_0': 'q9_0' is not known"),
        (["--spec", "kv-heads=3"], 2, "--spec f16,kv-heads=3: 2 key/value heads can't be merged into 3 groups"),
        (["--spec", "q8_0", "--by", "head"], 2, "q8_0 drops no tokens"),
        (["--max-kld", "nan"], 2, "expected nats from 0 up"),
        (["--ctx", "100000"], 2, "--ctx 100000: a chunk of 100,000 tokens; this model reads 8 to 512"),
        (["--ctx", "1"], 2, "--ctx 1: a chunk of 1 token; this model reads 8 to 512"),
        (["--ctx", "many"], 2, "--ctx: 'many' is not a number of tokens"),
        (["--chunks", "0"], 2, "--chunks: '0' is not a number of chunks"),
        (["--json", "--csv"], 2, "Give one of them"),
        (["Hi", "--text", "x"], 2, "Give one of them"),
        (["--text", "no/such/file"], 2, "No such file"),
        (["Hi"], 2, "no document of the text has the 64 tokens"),
        (["--svg", "no/such/folder.svg"], 1, "there is no folder"),
        (["--svg", "picture.png"], 2, "name a file that ends in .svg"),
    ],
)
def test_what_can_not_be_is_said_before_anything_runs(args: list[str], code: int, said: str) -> None:
    ran = quality(*args)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert ran.err.startswith("glass: ")
    assert ran.err.count("\n") <= 2


def test_a_text_of_ones_own(tmp_path: Path) -> None:
    text = "The cat saw the dog. The dog saw the cat. They ran and ran. " * 3
    file = tmp_path / "text.txt"
    file.write_text(text)
    args = ("kv-quality", "--spec", "q4_0", "--json")
    documents = [
        strict(text_of(glass(*args, text))),
        strict(text_of(glass(*args, "--text", str(file)))),
        strict(text_of(glass(*args, "-", stdin=text.encode()))),
    ]
    assert [told["text"].pop("source") for told in documents] == ["the text given", str(file), "stdin"]
    assert documents[0] == documents[1] == documents[2]
    assert documents[0]["text"]["context"] == 12 or documents[0]["text"]["chunks"] >= 4


def test_the_picture_is_one_file_that_needs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "cost.svg"
    specs = ["f16", "q8_0", "q4_0", "f16,sinks=4+window=12", "f16,kv-heads=1"]
    ran = quality(*(word for spec in specs for word in ("--spec", spec)), "--svg", str(path))
    assert ran.code == 0
    assert f"wrote {path}" in ran.err
    text = path.read_text("utf-8")
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<image|href|@import|url\(", text)
    picture = ET.fromstring(text)
    points = [group for group in picture.iter(f"{SVG}g") if "point" in group.get("class", "")]
    assert len(points) == len(specs)
    labels = {element.text for element in picture.iter(f"{SVG}text")}
    assert set(specs) <= labels
    circles = {title.text.split(":")[0]: float(shape.get("cx", 0)) for shape, title in points if shape.get("cx")}
    assert circles["q4_0"] < circles["q8_0"] < circles["f16"]
    heights = {title.text.split(":")[0]: float(shape.get("cy", 0)) for shape, title in points if shape.get("cy")}
    assert heights["q4_0"] < heights["q8_0"] < heights["f16"]  # y goes down, and so does what they cost
    (steps,) = [path for path in picture.iter(f"{SVG}path") if path.get("class") == "frontier"]
    corners = [tuple(map(float, place.split())) for place in steps.get("d", "").removeprefix("M").split(" L")]
    for label in picture.iter(f"{SVG}text"):
        if label.text in specs:
            left, bottom = float(label.get("x", 0)), float(label.get("y", 0))
            right = left + 6.7 * len(label.text)
            for (x0, y0), (x1, y1) in pairwise(corners):
                outside = max(x0, x1) < left or min(x0, x1) > right or max(y0, y1) < bottom - 9 or min(y0, y1) > bottom
                assert outside, f"the frontier runs through {label.text}"


def test_what_does_not_fit_a_model_is_left_out_of_the_usual_list(tmp_path: Path) -> None:
    from helpers.dump_cases import write_folder

    folder = write_folder(tmp_path / "odd", head_dim=20)
    out = text_of(glass("kv-quality", "-m", str(folder), *QUICK))
    assert "fp8_e4m3" in out
    assert "q8_0" not in out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from glasscli.cli.app import main; main(['kv-quality', '--help']);"
        "print({'numpy', 'safetensors', 'rich', 'tokenizers'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout.endswith("set()\n"), result.stderr


def test_merged_heads_stand_beside_trained_ones() -> None:
    """Of the shipped model alone, whose shape those have, and only where heads were merged."""
    said = "trained with so many from the first step, bits/byte after 50 M tokens"
    trained = " ".join(f"{row.n_kv_heads}: {f'{row.bits_per_byte:.4f}'[1:]}" for row in trained_heads())
    assert f"{said} {trained}" in " ".join(text_of(quality("--spec", "kv-heads=1")).split())
    assert said not in text_of(quality("--spec", "q8_0"))
    assert said not in text_of(quality("--spec", "kv-heads=1", "-q"))
    other = tiny_folder()
    assert said not in text_of(quality("--spec", "kv-heads=1", "-m", str(other), "the cat " * 200))


def test_keys_cost_more_than_values_and_merged_heads_ruin_a_model() -> None:
    told = document("--spec", "k=q4_0,v=q8_0", "--spec", "k=q8_0,v=q4_0", "--spec", "kv-heads=1")
    keys, values, merged = (cache["kld"] for cache in told["caches"])
    assert keys > values
    assert merged > 1


def test_ctrl_c_keeps_the_rows_that_are_done() -> None:
    """Many caches, enough to take more than the second after which a terminal is told how far it is."""
    specs = [word for n in range(40, 500) for word in ("--spec", f"window={n}")]
    terminal = Terminal("kv-quality", *specs, columns=100, NO_COLOR="1")
    while b" of 460  f16,window=" not in terminal.seen:
        terminal.read(len(terminal.seen) + 1)
    terminal.interrupt()
    code, shown = terminal.finish()
    page = shown.split("\r")[-1]  # what is still there when the line that tells is gone
    assert code == 130
    assert "Traceback" not in shown
    rows = [line for line in page.splitlines() if line.startswith("f16,window=")]
    done = int(re.search(r"interrupted: (\d+) of 460 caches were tried", page)[1])  # type: ignore[index]
    assert len(rows) == done
    assert page.startswith("glass-1m\n" if done else "glass: interrupted")


def test_ctrl_c_leaves_a_whole_document() -> None:
    code = (
        "import os, signal, sys\n"
        "from glasscli.cli.app import main\n"
        "from glasscli.quality.trial import Trial\n"
        "run, done = Trial.run, []\n"
        "def count(self, choice):\n"
        "    if len(done) == 2: os.kill(os.getpid(), signal.SIGINT)\n"
        "    done.append(choice); return run(self, choice)\n"
        "Trial.run = count\n"
        "sys.exit(main(['kv-quality', '--ctx', '64', '--chunks', '2', '--json']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 130
    told = strict(ran.stdout)
    assert told["interrupted"]
    assert [cache["cache"] for cache in told["caches"]] == ["f16", "fp8_e4m3"]


def test_a_pipe_sees_no_progress() -> None:
    assert quality("--spec", "q8_0").err == ""
