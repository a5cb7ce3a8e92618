"""Maps of shaded cells, drawn by hand: which shade a weight gets, what is pooled, what stands above."""

import numpy as np
import pytest

from glasscli.cli.commands.dump_attn.heatmap import Map, heatmaps
from glasscli.cli.page.page import Page

# The lowest weight of each shade but the first, as --help, the legend and the README say.
BOUNDS = {False: (0.05, 0.2, 0.4, 0.7), True: (0.001, 0.01, 0.1, 0.5)}


def drawn(values: list[list[float]], hidden: list[list[int]] | None = None, log: bool = False, **page: object) -> str:
    pattern = np.array(values)
    mask = np.ones(pattern.shape, bool) if hidden is None else ~np.array(hidden, bool)
    here = Page(**{"width": 80, **page})  # type: ignore[arg-type]
    labels = [f"t{i}" for i in range(pattern.shape[1])]
    lines = heatmaps(here, [Map(("head 0", "h0"), pattern, mask)], labels, pattern.shape[1] - pattern.shape[0], log)
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("unicode", "shades"), [(True, ".░▒▓█"), (False, ".:-=#")])
def test_a_shade_begins_at_its_bound(log: bool, unicode: bool, shades: str) -> None:
    bounds = BOUNDS[log]
    weights = [0.0, *(x for bound in bounds for x in (bound * 0.999, bound)), 1.0]
    row = drawn([weights], log=log, unicode=unicode).splitlines()[-1]
    cells = row.split(" 9 ")[1]
    assert cells[::2] == "".join(shades[i // 2] for i in range(10))


def test_the_legend_names_the_bounds() -> None:
    assert ". <.05  ░ .05  ▒ .2  ▓ .4  █ .7" in drawn([[1.0]])
    legend = drawn([[1.0]], log=True)
    assert ". <.001  ░ .001  ▒ .01  ▓ .1  █ .5" in legend
    assert "log scale" in legend


def test_rows_are_queries_and_what_is_masked_is_blank() -> None:
    assert drawn([[0.0, 1.0, 0.9], [0.5, 0.3, 0.1]], [[0, 0, 1], [0, 0, 0]]).splitlines()[-4:] == [
        "      head 0",
        "      0 1 2",
        " t1 1 . ██",
        " t2 2 ▓▓▒▒░░",
    ]


def test_a_long_map_is_pooled_by_maximum_and_says_so() -> None:
    values = np.full((100, 100), 0.01)
    values[41, 7] = 0.99
    text = drawn(values.tolist())
    assert "each cell = max of 3×3" in text
    rows = text.splitlines()[-34:]
    assert [(i, row.split(" ")[-1].index("█")) for i, row in enumerate(rows) if "█" in row] == [(13, 2)]
    assert rows[13].split()[:2] == ["t39", "39"]
    assert len(rows[0].split(" ")[-1]) == 34
