"""The text itself, token by token: raw bytes into a pipe, harmless characters in lines of words on a terminal."""

from glasscli.cli.console import Color, is_terminal, use_color
from glasscli.cli.page.scale import SURPRISE
from glasscli.cli.page.style import DIM
from glasscli.cli.page.text import RunningText
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation


class TextView:
    """Streams the text to stdout, flushed at every token. Tokens are tinted by surprise if `tinted`."""

    def __init__(self, prompt: str, color: Color, echo: bool | None, tinted: bool = False, wraps: bool = True) -> None:
        self._on_terminal = is_terminal()
        self._running = RunningText(self._on_terminal, wraps)
        self._colored = use_color(color)
        self._tinted = tinted and self._colored
        self._prompt = prompt if (self._on_terminal if echo is None else echo) else ""

    def start(self, run: Generation) -> None:
        """Show the prompt, if it is wanted."""
        if self._prompt:
            self._running.write(self._prompt, DIM if self._colored else "")

    def step(self, step: Step) -> None:
        """Show what a step lets out."""
        self._running.write(step.text, SURPRISE.style(step.surprise_bits) if self._tinted else "")

    def rest(self, text: str) -> None:
        """Show text that was held back when the run was interrupted."""
        self._running.write(text)

    def end(self, run: Generation) -> None:
        """Close the last line. A pipe gets one newline, whatever the text ends with."""
        if not (self._on_terminal and self._running.at_line_start):
            self._running.write("\n")
