"""The whole model on one page, a line a place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.ablated import without_words
from glasscli.cli.commands.dump_attn.deliver import deliver
from glasscli.cli.commands.dump_attn.figures import DOT, number
from glasscli.cli.commands.dump_attn.layer_screen import prompt_lines
from glasscli.cli.commands.dump_attn.options import Options
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD
from glasscli.export.arrays import describe
from glasscli.inspect.overview import Overview, Place, read_overview
from glasscli.inspect.predictions import Guess

HEADS = ("place", "formula", "shape", "rms", "check", "would say (p)")


def show_overview(options: Options, loaded: LoadedModel, text: str, ids: Sequence[int]) -> None:
    """The page, or its JSON."""
    found = read_overview(loaded, ids)
    found = replace(found, dump=replace(found.dump, prompt=text, removed=loaded.removed))
    if options.as_json or options.output is not None:
        hashed = replace(found, dump=replace(found.dump, weights_hash=loaded.checkpoint.weights_hash()))
        deliver(options, _document(hashed))
        return
    page = Page.of_stdout(options.color, DOT)
    page.show(overview_lines(page, found, demo=options.demo))


def overview_lines(page: Page, found: Overview, demo: bool) -> list[Line]:
    """Every place in order; the stream's with what they would say after the last token."""
    dump, config = found.dump, found.dump.config
    said = page.label(dump.tokens[-1].raw)
    parts = [f"the whole model · {config.n_layers} layers", f"what it would say after {said} {len(dump.tokens) - 1}"]
    parts += [without_words(dump.removed)] if dump.removed else []
    lines = [*page.listed(parts, "  ", HEAD), *prompt_lines(page, dump, demo), []]
    table = _table(page, found.places)
    lines += _parted(table, found.places)
    wrong = [p.check for p in found.places if p.check is not None and not p.check.ok]
    lines.append([])
    if config.n_layers > 1:
        text = "is entered with what the one before left" if found.joined else "IS ENTERED WITH SOMETHING ELSE"
        lines += page.wrap(f"each layer {text}", "  ", "" if found.joined else BAD)
    n_checks = sum(p.check is not None for p in found.places)
    lines += page.wrap(f"{n_checks - len(wrong)} of {n_checks} checks hold", "  ", BAD if wrong else "")
    return lines


def _table(page: Page, places: Sequence[Place]) -> list[Line]:
    """As many columns, and as many guesses in the last, as the page is wide."""
    right = (False, False, False, True, False, False)
    for left_out, n_says in (((), 3), ((4,), 3), ((1, 4), 3), ((1, 2, 4), 3), ((1, 2, 4), 1)):
        kept = [i for i in range(len(HEADS)) if i not in left_out]
        rows = [[(HEADS[i], DIM) for i in kept]]
        for place in places:
            row = _row(page, place, n_says)
            rows.append([row[i] for i in kept])
        table = page.columns(rows, [right[i] for i in kept])
        if page.fits(table):
            break
    return table


def _parted(table: list[Line], places: Sequence[Place]) -> list[Line]:
    """The table with an empty line where a layer begins or the layers end."""
    lines = [table[0]]
    for line, place, before in zip(table[1:], places, [None, *places], strict=False):
        if before is not None and place.layer != before.layer:
            lines.append([])
        lines.append(line)
    return lines


def _row(page: Page, place: Place, n_says: int) -> list[Span]:
    name = place.name if place.layer is None else f"{place.layer} {place.name}"
    shape = " × ".join(map(str, place.shape))
    check, style = ("", "") if place.check is None else (place.check.text, "" if place.check.ok else BAD)
    says = "  ".join(f"{page.label(guess.token.raw)} {probability(guess.p, 2)}" for guess in place.says[:n_says])
    return [(name, ACCENT), (place.formula, ""), (shape, ""), (number(place.rms), ""), (check, style), (says, "")]


def _document(found: Overview) -> dict[str, Any]:
    return {
        **describe(found.dump),
        "schema": "glass.overview/1",
        "joined": found.joined,
        "places": [
            {
                "layer": place.layer,
                "place": place.name,
                "formula": place.formula,
                "shape": list(place.shape),
                "rms": place.rms,
                "check": None if place.check is None else {"ok": place.check.ok, "text": place.check.text},
                "says": [_guess(guess) for guess in place.says],
            }
            for place in found.places
        ],
    }


def _guess(guess: Guess) -> dict[str, Any]:
    return {"id": guess.token.id, "text": guess.token.text, "bytes": guess.token.raw.hex(), "p": guess.p}
