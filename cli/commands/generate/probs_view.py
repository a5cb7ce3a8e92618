"""The table of choices: each token, how likely it was, and what else it might have been."""

import math
import sys
from collections.abc import Callable

from glasscli.cli.commands.generate.footer import biases, counted
from glasscli.cli.console import Color
from glasscli.cli.page.cells import cells, pad
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Page
from glasscli.cli.page.style import DIM
from glasscli.cli.page.wrap import fill
from glasscli.errors import TokenizerError
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation
from glasscli.tokenizer.tokenizer import Tokenizer

# Name, width, and how a step fills it; numbers stand right. Left out from the end where the screen is narrow.
Column = tuple[str, int, Callable[[Step], str]]
COLUMNS: tuple[Column, ...] = (
    ("p", 6, lambda step: probability(math.exp(step.logprob))),
    ("rank", 5, lambda step: f"{step.rank:,}"),
    ("surprise", 8, lambda step: f"{step.surprise_bits:.1f} b"),
    ("entropy", 7, lambda step: f"{step.entropy_bits:.2f} b"),
    ("kept", 6, lambda step: "→".join(map(str, step.kept.values())) or f"{step.n_kept}"),
    ("drawn", 6, lambda step: probability(step.p_sampled)),
)
TOKEN_WIDTH = 11
RUNNERS = "runners-up (p)"


class ProbsView:
    """Writes a row a token, at once; the widths are settled before the first."""

    def __init__(self, tokenizer: Tokenizer, color: Color, n_runners: int) -> None:
        self._tokenizer, self._n_runners = tokenizer, max(0, n_runners)
        self._page = Page.of_stdout(color)
        self._columns: list[Column] = []
        self._hidden: list[str] = []
        self._runners_width = 0

    def start(self, run: Generation) -> None:
        """Settle the widths and write the head of the table."""
        params, digits = run.written.params, len(str(run.loaded.config.vocab_size))
        n_filters = 0 if params.greedy else (params.top_k > 0) + (params.top_p < 1) + (params.min_p > 0)
        kept_width = max(6, n_filters * (digits + 1) - 1)
        self._columns = [(name, kept_width if name == "kept" else size, says) for name, size, says in COLUMNS]
        while len(self._columns) > 1 and self._used() > self._page.width:
            self._hidden.insert(0, self._columns.pop()[0])
        self._runners_width = self._page.width - self._used() - 2
        if self._n_runners and self._runners_width < len(RUNNERS):
            self._hidden.append("runners-up")
            self._n_runners = 0
        heads = [f"{'#':>4}", pad("token", TOKEN_WIDTH), *(f"{name:>{size}}" for name, size, _ in self._columns)]
        head = "  ".join(heads[:2]) + " " + " ".join(heads[2:])
        self._line(head + (f"  {RUNNERS}" if self._n_runners else ""), dim=True)

    def step(self, step: Step) -> None:
        """Write a row."""
        figures = [f"{says(step):>{size}}" for _, size, says in self._columns]
        if not self._page.unicode:
            figures = [figure.replace("→", ">") for figure in figures]
        row = f"{step.index + 1:>4}  {pad(self._label(step.token_id), TOKEN_WIDTH)} {' '.join(figures)}"
        self._line(f"{row}  {self._runners(step)}".rstrip() if self._n_runners else row)

    def rest(self, text: str) -> None:
        """The table has tokens, not text."""

    def end(self, run: Generation) -> None:
        """Write what the sampler did, and what the columns mean."""
        legend = ["p, rank, surprise, entropy: raw model", "kept, drawn: after the sampler's stages"]
        legend.append(f"{'·' if self._page.unicode else '_'} is a leading space")
        hidden = f"too narrow for {', '.join(self._hidden)}".split() if self._hidden else []
        width = self._page.width
        lines = [*_lines(chain(run), width, " → "), *_lines(legend, width), *_lines(hidden, width, " ")]
        for line in lines:
            self._line(line, dim=True)
        sys.stdout.flush()

    def _used(self) -> int:
        return 6 + TOKEN_WIDTH + sum(1 + size for _, size, _ in self._columns)

    def _label(self, token_id: int) -> str:
        try:
            return self._tokenizer.label(token_id, ascii_only=not self._page.unicode)
        except TokenizerError:
            return f"<id {token_id}>"

    def _runners(self, step: Step) -> str:
        """The likeliest other tokens, as many as fit."""
        others = [pair for pair in step.top if pair[0] != step.token_id][: self._n_runners]
        text = ""
        for token_id, logprob in others:
            item = f"{self._label(token_id)} {probability(math.exp(logprob), 2)}"
            joined = f"{text}  {item}" if text else item
            if cells(joined) > self._runners_width:
                break
            text = joined
        return text

    def _line(self, text: str, dim: bool = False) -> None:
        self._page.show([[(text, DIM if dim else "")]])
        sys.stdout.flush()


def _lines(items: list[str], width: int, joint: str = "   ") -> list[str]:
    """Items in lines of a width, with `joint` between them; nothing for none."""
    pieces = ((joint, item) for item in items)
    return fill(pieces, width, " ", " " + joint.lstrip(), whole=True) if items else []


def chain(run: Generation) -> list[str]:
    """The stages of the sampler with their settings, in order."""
    params = run.written.params
    first = f"sampler  {run.loaded.config.vocab_size:,}"
    repeat = "repeat off" if params.repetition_penalty == 1 else f"repeat {params.repetition_penalty:g}"
    changes = [*biases(params), repeat, *counted(params)]
    if params.greedy:
        return [first, *changes, "the likeliest"]
    return [
        first,
        *changes,
        f"temp {params.temperature:g}",
        f"top-k {params.top_k or 'off'}",
        f"top-p {params.top_p:g}" if params.top_p < 1 else "top-p off",
        f"min-p {params.min_p:g}" if params.min_p else "min-p off",
    ]
