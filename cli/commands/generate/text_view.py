"""The text itself, token by token: raw bytes into a pipe, harmless characters on a terminal."""

import sys

from glasscli.cli.console import Color, is_terminal, printable, unicode_ok, use_color, write_bytes
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation

DIM, RESET = "\x1b[2m", "\x1b[0m"
ASCII = {"─": "-", "·": "|", "→": "->", "−": "-", "…": "~"}  # what stands for a character without Unicode

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
            text = "\n".join(f"{style}{line}{RESET}" if line else "" for line in text.split("\n"))
        write_bytes(text.encode("utf-8", "surrogatepass"))  # UTF-8 whatever the locale says
        sys.stdout.buffer.flush()


def tint(surprise_bits: float) -> str:
    """The escape sequence that colours a token this surprising; nothing below one bit."""
    style = ""
    for least, background, foreground in TINTS:
        if surprise_bits >= least:
            style = f"\x1b[48;5;{background};38;5;{foreground}m"
    return style


def tint_legend() -> str:
    """What the tints mean."""
    parts = []
    for i, (least, background, foreground) in enumerate(TINTS):
        upto = f"{least:g}-{TINTS[i + 1][0]:g}" if i + 1 < len(TINTS) else f"{least:g}+"
        parts.append(f"\x1b[48;5;{background};38;5;{foreground}m {upto} {RESET}")
    dash = "—" if unicode_ok(sys.stderr) else "-"
    return f"surprise in bits {dash} plain 0-1 {' '.join(parts)}"
