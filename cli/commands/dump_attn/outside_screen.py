"""Numbers of the model around its layers: embedding, last norm, logits, probabilities, the loss gradient."""

from typing import TYPE_CHECKING

import numpy as np

from glasscli.cli.commands.dump_attn.layer_screen import prompt_lines
from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.cells import cells, join_fitting, pad
from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD
from glasscli.inspect.dump import Dump
from glasscli.inspect.stream_checks import check_outside
from glasscli.inspect.stream_steps import OUTSIDE

if TYPE_CHECKING:
    from glasscli.arrays import Array
    from glasscli.checkpoint.load import LoadedModel

N_TOP = 8


def show_outside(page: Page, dump: Dump, loaded: "LoadedModel", demo: bool) -> None:
    """Each of the dump's steps around the layers: its title, its numbers, what was found to be true."""
    checks = check_outside(dump, loaded.model)
    lines = prompt_lines(page, dump, demo)
    for name, values in dump.outside.items():
        step = OUTSIDE[name]
        shape = " × ".join(map(str, values.shape))
        title = f"{name} = {step.equation(dump.config)} · {shape} ({', '.join(step.axes)})"
        lines += [[], *page.wrap(title, "  ", HEAD, first="")]
        if name in checks:
            ok = checks[name].ok
            lines += page.wrap(f"{'✓' if ok else '✗'} {checks[name].text}", "  ", ACCENT if ok else BAD)
        shown = _vectors(page, dump, values) if step.width == "D" else _likeliest(page, dump, loaded, name, values)
        lines += [[], *shown]
    page.show(lines)


def _vectors(page: Page, dump: Dump, values: "Array") -> list[Line]:
    labels = [(dump.start + i, page.label(dump.tokens[dump.start + i].raw)) for i in range(len(values))]
    return matrix(page, labels, values)


def _likeliest(page: Page, dump: Dump, loaded: "LoadedModel", name: str, values: "Array") -> list[Line]:
    """A row a position: the tokens with the largest numbers, of the gradient also the one that came."""
    unused = frozenset(loaded.unused_ids)
    digits, sign = 2 if name == "logits" else 3, "+" if name == "grad" else ""
    labels = [page.label(token.raw) for token in dump.tokens]
    widest = min(16, max(cells(labels[dump.start + i]) for i in range(len(values))))
    lines: list[Line] = [[(f" {'after':>{widest + 4}}  the largest of {values.shape[1]:,}", DIM)]]
    for i, row in enumerate(values):
        order = [i for i in np.argsort(-row, kind="stable").tolist() if i not in unused][:N_TOP]
        order = [int(row.argmin()), *order] if name == "grad" else order
        pieces = [(page.label(loaded.tokenizer.piece_bytes(token_id)), row[token_id]) for token_id in order]
        items = [f"{piece} {value:{sign}.{digits}f}" for piece, value in pieces]
        place = dump.start + i
        start = f" {pad(labels[place], widest, right=True)} {place:>3} "
        lines.append([(join_fitting(start, items, page.width), "")])
    if name == "grad":
        lines += [[], *page.wrap("first the token that came, the only one below 0: its logit is pulled up", " ", DIM)]
    return lines
