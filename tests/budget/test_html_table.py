"""A cache's size in a notebook: the numbers of the budget, in a table."""

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from glasscli.budget.cache_size import cache_size


def cells(shown: str) -> list[list[str]]:
    table = ElementTree.fromstring(f"<div>{shown}</div>").find("table")
    assert table is not None
    return [[cell.text or "" for cell in row] for row in table]


def test_the_table_holds_what_the_budget_holds() -> None:
    budget = cache_size("llama-3.1-8b", 8192, batch=4)
    shown = budget._repr_html_()
    # 2 × 32 layers × 8 heads × 128 × 2 bytes = 128 KiB a token; × 4 × 8,192 = 4 GiB
    assert "KV cache 4.0 GiB" in shown
    assert "(4,294,967,296 bytes) · 4 × 8,192 tokens · bf16" in shown
    assert cells(shown) == [
        ["layers", "kind", "a token", "constant", "window", "in all"],
        ["32", budget.lines[0].kind, "128.0 KiB", "–", "–", "4.0 GiB"],
        ["", "in all", "128.0 KiB", "", "", "4.0 GiB"],
    ]


def test_each_kind_of_layer_has_a_line() -> None:
    budget = cache_size("gpt-oss-20b", 32_768, engine="vllm")
    rows = cells(budget._repr_html_())[1:-1]
    assert len(rows) == len(budget.lines) == 2
    assert sorted(row[4] for row in rows) == ["128", "–"]


def test_devices_are_told_where_there_are_several() -> None:
    assert "the fullest of 2 devices holds 512.0 MiB" in cache_size("llama-3.1-8b", 8192, tp=2)._repr_html_()
    assert "devices" not in cache_size("llama-3.1-8b", 8192)._repr_html_()


@pytest.mark.parametrize("module", ["numpy", "tokenizers"])
def test_it_needs_no_numpy(module: str) -> None:
    code = (
        "import sys, glasscli; glasscli.cache_size('llama-3.1-8b', 8)._repr_html_(); "
        f"sys.exit({module!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
