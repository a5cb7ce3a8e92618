"""Running text on a terminal, broken at words although it comes in pieces and each is shown at once.

A word that has begun near the end of a line may not fit once more of it comes: what is there of it is then wiped with
backspaces, which every terminal knows, and written again on the next line. The last column stays free: a cursor that
waits behind it would go back by one too few.
"""

import re
from collections.abc import Callable

from glasscli.cli.page.cells import cells, clusters
from glasscli.cli.page.style import paint

BREAKS = re.compile(r"([\n\t])")  # what is a part by itself, never a part of one
TAB = 8  # columns between a terminal's tab stops
Piece = tuple[str, str]  # what a terminal draws as one, style


class Flowing:
    """Where the cursor is, and the word that it stands in.

    A word ends at a space; a wide character, such as 語 or an emoji, is one by itself. Newlines and spaces stay, but
    for those at which a line is broken. A word wider than a line is broken where the line ends.
    """

    def __init__(self, width: Callable[[], int]) -> None:
        """`width` tells how many columns there are, at any time."""
        self._width, self._room = width, 0
        self._column = 0  # where the cursor will be when all is written
        self._word: list[Piece] = []
        self._n_shown = 0  # pieces of the word that stand there already
        self._full = False  # the line is: spaces that follow are left out, and anything else goes to the next
        self._out: list[Piece] = []

    def push(self, text: str, style: str = "") -> str:
        """What to write so that `text`, which must steer no terminal, follows what was there."""
        self._room, self._out = self._width() - 1, []
        for part in (part for run in BREAKS.split(text) for part in clusters(run)):
            if part == "\n":
                self._break()
            elif part in " \t":
                self._space(part, style)
            else:
                self._letter(part, style)
        self._out += self._word[self._n_shown :]
        self._n_shown = len(self._word)
        return _painted(self._out)

    def _letter(self, part: str, style: str) -> None:
        size = cells(part)
        if self._full:
            self._break()
        if self._column + size > self._room and size < 2:
            self._move_word()
        if self._column + size > self._room:
            self._break()
        if size > 1:
            self._end_word()
        self._word.append((part, style))
        self._column += size
        if size > 1:
            self._end_word()

    def _space(self, part: str, style: str) -> None:
        self._end_word()
        size = 1 if part == " " else TAB - self._column % TAB
        self._full = self._full or self._column + size > self._room
        if not self._full:
            self._out.append((part, style))
            self._column += size

    def _move_word(self) -> None:
        """Begin the word again on the next line, unless it fills this one."""
        size = cells("".join(part for part, _ in self._word))
        if not size or size == self._column:
            return
        n_back = cells("".join(part for part, _ in self._word[: self._n_shown]))
        self._out.append(("\b" * n_back + " " * n_back + "\n", ""))
        self._column, self._n_shown = size, 0

    def _end_word(self) -> None:
        self._out += self._word[self._n_shown :]
        self._word, self._n_shown = [], 0

    def _break(self) -> None:
        self._end_word()
        self._out.append(("\n", ""))
        self._column, self._full = 0, False


def _painted(pieces: list[Piece]) -> str:
    """The pieces one after the other, neighbours of one style together."""
    runs: list[Piece] = []
    for part, style in pieces:
        if runs and runs[-1][1] == style:
            runs[-1] = (runs[-1][0] + part, style)
        else:
            runs.append((part, style))
    return "".join(paint(part, style) for part, style in runs)
