"""B with parts of A, as a page: what each makes of B's prediction; the stream, layer by layer and place by place."""

import re

from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.stack import table_or_stack
from glasscli.cli.page.style import ACCENT, DIM, HEAD
from glasscli.inspect.patching import Patch, Patching

STREAM = re.compile(r"resid_post (\d+) at (\d+)")


def patch_lines(page: Page, patched: Patching, top: int) -> list[Line]:
    """The patches, those that heal most first."""
    label = page.label(patched.in_a.token.raw)
    title = (
        f"B with one thing from A   {label} is {probability(patched.in_a.p)} in A, {probability(patched.in_b.p)} in B"
    )
    lines = page.wrap(title, "  ", HEAD, first="")
    if patched.patches and all(STREAM.fullmatch(patch.label) for patch in patched.patches):
        lines += _grid(page, patched)
    patches = patched.patches[: top or None]
    names = ("from A", f"p {label}", "KL left", "healed")
    nothing: list[Span] = [
        ("nothing", DIM),
        (probability(patched.in_b.p), ""),
        (f"{patched.kl_bits:.3f} b", ""),
        ("", ""),
    ]
    lines += table_or_stack(page, names, [nothing, *map(_row, patches)], (False, True, True, True))
    left = len(patched.patches) - len(patches)
    if left:
        lines += page.wrap(f"… {left:,} more that heal less (--top 0 shows all)", " ", DIM)
    return lines


def _row(patch: Patch) -> list[Span]:
    return [
        (patch.label, ACCENT),
        (probability(patch.watched.p), ""),
        (f"{patch.kl_bits:.3f} b", ""),
        (healed(patch), ""),
    ]


def healed(patch: Patch) -> str:
    """The share of the difference that is gone, in whole per cent; `–` where there was none."""
    if patch.healed is None:
        return "–"
    return f"{100 * patch.healed:.0f} %".replace("-0 %", "0 %")


def _grid(page: Page, patched: Patching) -> list[Line]:
    """Positions as rows, layers as columns; nothing where that is too wide."""
    found = {}
    for patch in patched.patches:
        if at := STREAM.fullmatch(patch.label):
            found[int(at[2]), int(at[1])] = healed(patch)
    positions, layers = (sorted({key[i] for key in found}) for i in (0, 1))
    head: list[Span] = [("healed by the stream at", DIM), *((f"layer {layer}", DIM) for layer in layers)]
    rows: list[list[Span]] = [[(str(at), DIM), *((found[at, layer], "") for layer in layers)] for at in positions]
    lines = page.columns([head, *rows], [True] * (1 + len(layers)))
    return [*lines, []] if page.fits(lines) else []
