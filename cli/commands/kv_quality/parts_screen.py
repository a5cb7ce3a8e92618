"""The parts of caches, each tried alone: a table of divergences, the largest marked by a bar."""

from collections.abc import Sequence

from glasscli.cli.commands.kv_quality.figures import nats
from glasscli.cli.commands.kv_quality.run import Found
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.quality.by import By
from glasscli.quality.parts import Part

SAYS = {
    By.kv: "by part: each packed, dropped or merged alone; KLD, which does not add up",
    By.layer: "by layer: that cache in one layer alone; KLD, which does not add up",
    By.head: "by KV head: tokens dropped in one head of one layer alone; KLD, which does not add up",
    By.depth: "by depth: KLD at the scored positions, from the middle of a chunk to its end",
}
BAR = 24  # cells of the longest


def parts_lines(page: Page, found: Found) -> list[Line]:
    """What was found of each cache's parts."""
    tried = zip(found.results, found.parts, strict=False)
    there = [(result.choice.explicit_text, parts) for result, parts in tried if parts]
    if not there or found.by is None:
        return []
    title = page.wrap(SAYS[found.by], style="bold")
    if found.by is By.head:
        return spaced(title, *(_heads(page, name, parts) for name, parts in there))
    if found.by is By.layer:
        return spaced(title, *(_bars(page, name, parts) for name, parts in there))
    return [*title, *_side_by_side(page, there)]


def _side_by_side(page: Page, there: Sequence[tuple[str, Sequence[Part]]]) -> list[Line]:
    """A row a cache, a column a part."""
    names = list(dict.fromkeys(part.name for _, parts in there for part in parts))
    rows = []
    for cache, parts in there:
        said = {part.name: nats(part.kld) for part in parts}
        rows.append([cache, *(said.get(name, "–") for name in names)])
    return page.table(["cache", *names], rows, left=(0,)) or _flowing(page, there)


def _bars(page: Page, cache: str, parts: Sequence[Part]) -> list[Line]:
    """A row a part, and a bar beside it."""
    most = max(part.kld for part in parts) or 1.0
    bars = ["█" * round(BAR * part.kld / most) for part in parts]
    rows = [[part.name, nats(part.kld), bar] for part, bar in zip(parts, bars, strict=True)]
    return page.table([cache, "KLD", ""], rows, left=(0, 2)) or _flowing(page, [(cache, parts)])


def _heads(page: Page, cache: str, parts: Sequence[Part]) -> list[Line]:
    """A row a layer, a column a key/value head; the largest stands out by a block behind it."""
    most = max(part.kld for part in parts)
    heads = sorted({part.kv_head for part in parts if part.kv_head is not None})
    cells: dict[int | None, dict[int | None, str]] = {}
    for part in parts:
        cells.setdefault(part.layer, {})[part.kv_head] = f"{nats(part.kld)} {_shade(part.kld, most)}"
    rows = [[f"layer {layer}", *(row.get(head, "") for head in heads)] for layer, row in cells.items()]
    return page.table([cache, *(f"KV {head}" for head in heads)], rows, left=(0,)) or _flowing(page, [(cache, parts)])


def _shade(value: float, most: float) -> str:
    """How much of the largest, as a character."""
    return "·░▒▓█"[min(4, int(5 * value / most))] if most else "·"


def _flowing(page: Page, there: Sequence[tuple[str, Sequence[Part]]]) -> list[Line]:
    lines: list[Line] = []
    for cache, parts in there:
        lines += page.say(cache, style="bold")
        lines += page.flow("  ", [f"{part.name}: {nats(part.kld)}" for part in parts])
    return lines
