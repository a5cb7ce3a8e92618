"""The README's picture of a terminal: what one of 100 columns shows of one layer's attention.

python tests/terminal_picture.py     writes tests/data/terminal.svg anew
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from golden.make import MODEL
from golden.rounding import changed_models
from helpers.screen_svg import svg
from helpers.terminal import as_left, in_terminal

PICTURE = Path(__file__).parent / "data" / "terminal.svg"
COLUMNS = 100
ARGUMENTS = ("dump-attn", "--layer", "2")


def screen(**env: str) -> str:
    """The command as it was typed and what the terminal has on it then, with its colours."""
    code, shown = in_terminal(*ARGUMENTS, columns=COLUMNS, **env)
    assert code == 0, shown
    return f"$ glass {' '.join(ARGUMENTS)}\n{as_left(shown)}"


def picture() -> str:
    """The picture as it would be now."""
    return svg(screen(), COLUMNS, f"glass {' '.join(ARGUMENTS)}")


def rounding_shows() -> list[str]:
    """Lines that another machine's rounding may change: those that differ where the weights are changed a little."""
    lines = screen().split("\n")
    with TemporaryDirectory() as base:
        others = [screen(GLASS_MODEL=str(model)).split("\n") for model in changed_models(MODEL, Path(base))]
    return [line for i, line in enumerate(lines) if any(other[i : i + 1] != [line] for other in others)]


def main() -> None:
    """Write the picture, unless it would differ from machine to machine."""
    if shaky := rounding_shows():
        sys.exit("rounding changes these lines; choose another command:\n" + "\n".join(shaky))
    PICTURE.write_text(picture(), "utf-8")
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
