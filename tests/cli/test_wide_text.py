"""Families, skin tones, flags, CJK and combining marks on every screen that can hold them: columns stay columns."""

import json
from pathlib import Path

import pytest
from helpers.in_process import LLAMA, glass, text_of
from helpers.model_folders import byte_level, write_folder
from tokenizers import AddedToken

from glasscli.cli.commands.generate.footer import footer_lines

FAMILY, TONED, TONE, FLAG, KEYCAP, CJK, MARKED = "👩‍👩‍👧", "👍🏽", "🏽", "🇩🇪", "1️⃣", "日本", "e\u0301"
DRAWN = {FAMILY: 2, TONED: 2, TONE: 2, FLAG: 2, KEYCAP: 2, CJK: 4, MARKED: 1}  # a tone after the thumb it colours


def drawn(text: str) -> int:
    """Cells that a terminal draws `text` in, which holds nothing odd but what is in `DRAWN`. Counts for itself."""
    for odd, width in DRAWN.items():
        text = text.replace(odd, "x" * width)
    assert not any(c in text for c in "\u200d\ufe0f\u0301"), ascii(text)
    return len(text)


def configs(folder: Path) -> list[str]:
    """Config files named after each of `DRAWN`, and one with an everyday name."""
    paths = [folder / f"m{name}.json" for name in (*DRAWN, "plain")]
    for path in paths:
        path.write_text(json.dumps(LLAMA))
    return [str(path) for path in paths]


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_columns_of_models_side_by_side(columns: int, tmp_path: Path) -> None:
    out = text_of(glass("kv-budget", "--compare", ",".join(configs(tmp_path)), "-q", columns=columns))
    assert max(map(drawn, out.splitlines())) <= columns
    if columns == 100:
        rows = [line for line in out.splitlines() if line.startswith("m") and "GQA" in line]
        assert len(rows) == len(DRAWN) + 1
        assert len({drawn(row[: row.index("GQA")]) for row in rows}) == 1


def test_the_legend_of_a_plot(tmp_path: Path) -> None:
    out = text_of(glass("kv-budget", "--compare", ",".join(configs(tmp_path)), "--sweep", columns=100))
    rows = [line for line in out.splitlines() if "bf16" in line]
    assert len(rows) == len(DRAWN) + 1
    assert len({drawn(row[: row.index("bf16")]) for row in rows}) == 1


@pytest.mark.parametrize("columns", [30, 60])
def test_a_folder_of_an_odd_name(columns: int, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / ("".join(DRAWN) * 4))
    out = text_of(glass("info", "-m", str(folder), columns=columns))
    assert max(map(drawn, out.splitlines())) <= columns
    title = "".join(out.split("\n\n")[0].splitlines())
    assert folder.name in title
    assert all(line.count("\u200d") in (0, 2, 4, 6, 8, 10, 12, 14, 16) for line in out.splitlines())  # none is parted


@pytest.mark.parametrize("columns", [40, 80])
def test_tokens(columns: int, tmp_path: Path) -> None:
    tokenizer = byte_level(bos=False)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in (TONED, TONE, FLAG, CJK)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    out = text_of(glass("tokenize", "-m", str(tmp_path), f"ab{TONED}{FLAG}{CJK}a{TONE}", "-q", columns=columns))
    assert max(map(drawn, out.splitlines())) <= columns
    rows = [line for line in out.splitlines() if any(f" {text} " in line for text in (TONED, TONE, FLAG, CJK))]
    assert len(rows) == 4
    starts = [row.index(" e6 97" if CJK in row else " f0 9f") for row in rows]
    assert len({drawn(row[:start]) for row, start in zip(rows, starts, strict=True)}) == 1


@pytest.mark.parametrize("text", DRAWN)
def test_a_footer_ends_where_the_terminal_does(text: str) -> None:
    (line,) = footer_lines([f"stopped before '{text}'", "seed 1"], 100)
    assert text in line
    assert drawn(line) == 100
    assert max(map(drawn, footer_lines([text * 9, text * 9, text * 9], 40))) <= 40
