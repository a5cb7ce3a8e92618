"""The text itself, token by token: raw bytes into a pipe, harmless characters on a terminal."""

import sys

from glasscli.cli.console import Color, is_terminal, printable, use_color, write_bytes
from glasscli.cli.page.style import DIM, paint
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation

# Surprise in bits, the tint from there on (256-colour background and foreground), dark to bright.
TINTS = ((1.0, 17, 255), (3.0, 24, 255), (5.0, 66, 255), (7.0, 143, 16), (9.0, 221, 16))


class TextView:
    """Streams the text to stdout, flushed at every token. Tokens are tinted by surprise if `tinted`."""

    def __init__(self, prompt: str, color: Color, echo: bool | None, tinted: bool = False) -> None:
        self._on_terminal = is_terminal()
        self._colored = use_color(color)
        self._tinted = tinted and self._colored
        self._prompt = prompt if (self._on_terminal if echo is None else echo) else ""
        self._at_line_start = False

    def start(self, run: Generation) -> None:
        """Show the prompt, if it is wanted."""
        if self._prompt:
            self._write(self._prompt, DIM if self._colored else "")

    def step(self, step: Step) -> None:
        """Show what a step lets out."""
        self._write(step.text, tint(step.surprise_bits) if self._tinted else "")

    def rest(self, text: str) -> None:
        """Show text that was held back when the run was interrupted."""
        self._write(text)

    def end(self, run: Generation) -> None:
        """Close the last line. A pipe gets one newline, whatever the text ends with."""
        if not (self._on_terminal and self._at_line_start):
            self._write("\n")

    def _write(self, text: str, style: str = "") -> None:
        if not text:
            return
        self._at_line_start = text.endswith("\n")
        if self._on_terminal:
            text = printable(text, keep="\n\t")
        if style:  # line by line, or the colour would run to the terminal's edge
            text = "\n".join(paint(line, style) if line else "" for line in text.split("\n"))
        write_bytes(text.encode("utf-8", "surrogatepass"))  # UTF-8 whatever the locale says
        sys.stdout.buffer.flush()


def tint(surprise_bits: float) -> str:
    """The style of a token this surprising; none below one bit."""
    style = ""
    for least, background, foreground in TINTS:
        if surprise_bits >= least:
            style = f"48;5;{background};38;5;{foreground}"
    return style


def tint_legend(unicode: bool) -> str:
    """What the tints mean, in the tints themselves."""
    parts = []
    for i, (least, _, _) in enumerate(TINTS):
        upto = f"{least:g}-{TINTS[i + 1][0]:g}" if i + 1 < len(TINTS) else f"{least:g}+"
        parts.append(paint(f" {upto} ", tint(least)))
    return f"surprise in bits {'—' if unicode else '-'} plain 0-1 {' '.join(parts)}"
