"""What a terminal shows of what was written to it: a model that knows newline, backspace, tab and wide characters."""

import re

from glasscli.cli.page.cells import cells, clusters


def screen(written: str, columns: int) -> list[str]:
    """The lines on it, without colours.

    A character that has no room goes to a line of its own, as terminals do; such a line is marked with `>`.
    """
    lines: list[list[str]] = [[]]
    at = 0
    plain = re.split(r"([\n\b\t])", re.sub(r"\x1b\[[0-9;]*m", "", written))
    for part in (part for run in plain for part in clusters(run)):
        if part == "\n":
            lines.append([])
            at = 0
        elif part == "\b":
            assert at > 0, "back past the line's start"
            at -= 1
        else:
            size = 8 - at % 8 if part == "\t" else cells(part)
            if at + size > columns:
                lines.append([">"])
                at = 0
            lines[-1][at : at + size] = [" "] * size if part == "\t" else [part, *[""] * (size - 1)]
            at += size
    return ["".join(line).rstrip(" ") for line in lines]
