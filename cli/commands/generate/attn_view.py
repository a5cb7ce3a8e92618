"""Each token as it comes, with the words it looked at: those that its step fetched most from."""

import math
import sys

import numpy as np

from glasscli.cli.console import Color
from glasscli.cli.page.cells import cells, pad
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Page
from glasscli.cli.page.style import DIM
from glasscli.errors import TokenizerError
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation
from glasscli.inspect.looked_at import Watch
from glasscli.tokenizer.tokenizer import Tokenizer

TOKEN_WIDTH = 11
MOST = 6  # words told of a step
HEAD = "looked at (share)"
LEAST = 24  # cells that words take at least
INDENT = " " * 6


class AttnView:
    """Writes a row a token, at once: what it is, how likely, and where its step's heads fetched from."""

    def __init__(self, tokenizer: Tokenizer, color: Color, watch: Watch) -> None:
        self._tokenizer, self._watch = tokenizer, watch
        self._page = Page.of_stdout(color)
        self._run: Generation | None = None
        used = len(self._start(0, "", ""))
        self._below = self._page.width - used < LEAST  # a line of their own on a narrow page
        self._room = self._page.width - (len(INDENT) if self._below else used)

    def start(self, run: Generation) -> None:
        """Write the head of the table."""
        self._run = run
        self._write(self._start("#", "token", "p"), HEAD, dim=True)

    def step(self, step: Step) -> None:
        """Write a row."""
        token = pad(self._label(step.token_id), TOKEN_WIDTH)
        self._write(self._start(step.index + 1, token, probability(math.exp(step.logprob))), self._words())

    def rest(self, text: str) -> None:
        """The table has tokens, not text."""

    def end(self, run: Generation) -> None:
        """Say what the shares are of."""
        layers, heads = self._watch.layers, self._watch.heads
        config = run.loaded.config
        where = "all layers" if len(layers) == config.n_layers else f"layer {', '.join(map(str, layers))}"
        who = "all heads" if len(heads) == config.n_heads else f"head {', '.join(map(str, heads))}"
        says = (
            f"share: of A·‖v‖, each weight times the length of the value it fetches, over {who} of {where}. "
            f"[n]: position, {self._page.safe('·')} a leading space."
            if self._page.unicode
            else f"share: of |v| x weight, over {who} of {where}. [n]: position, _ a leading space."
        )
        self._page.show(self._page.wrap(says, " ", DIM))
        sys.stdout.flush()

    def _start(self, number: int | str, token: str, p: str) -> str:
        return f"{number:>4}  {pad(token, TOKEN_WIDTH)} {p:>5}  "

    def _words(self) -> str:
        """The tokens that were looked at most, as many as fit."""
        assert self._run is not None
        shares = self._watch.shares()
        ids = [*self._run.prompt.token_ids, *self._run.token_ids]
        text = ""
        for position in np.argsort(-shares, kind="stable")[:MOST].tolist():
            item = f"{self._label(ids[position])}[{position}] {probability(float(shares[position]), 2)}"
            joined = f"{text}  {item}" if text else item
            if cells(joined) > self._room or not shares[position]:
                break
            text = joined
        return text

    def _label(self, token_id: int) -> str:
        try:
            return self._tokenizer.label(token_id, ascii_only=not self._page.unicode)
        except TokenizerError:
            return f"<id {token_id}>"

    def _write(self, start: str, words: str, dim: bool = False) -> None:
        style = DIM if dim else ""
        lines = [start, INDENT + words] if self._below else [start + words]
        self._page.show([(line, style)] for line in lines)
        sys.stdout.flush()
