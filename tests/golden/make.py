"""Write the screens in tests/golden/screens/ anew: what each of their commands prints now.

A screen is a text file. Its first line is `$ `, perhaps settings of the environment, and a glass command; the rest
is what that prints on stdout, then what it says on stderr and its exit code if there is anything to tell. To add
a screen, write a file with its first line alone and run `make golden`; then read what came out.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

SCREENS = Path(__file__).parent / "screens"
UNSET = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "COLORTERM", "GLASS_MODEL", "PYTHONIOENCODING", "LC_ALL")


def screen(command: str) -> str:
    """What `command` prints, without the model, the time or the terminal of this machine."""
    words = shlex.split(command)
    at = words.index("glass")
    settings = dict(word.split("=", 1) for word in words[:at])
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    done = subprocess.run(
        [sys.executable, "-m", "glasscli", *words[at + 1 :]],
        env={**kept, "PYTHONUTF8": "1", **settings},
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    text = done.stdout.decode()
    if done.stderr:
        text += "[stderr]\n" + done.stderr.decode()
    return text + (f"[exit {done.returncode}]\n" if done.returncode else "")


def commands() -> dict[Path, str]:
    """Every screen's file and its command."""
    files = sorted(SCREENS.glob("*.txt"))
    return {file: file.read_text("utf-8").split("\n", 1)[0].removeprefix("$ ") for file in files}


def main() -> None:
    """Write every screen, and name those that changed."""
    for file, command in commands().items():
        before, after = file.read_text("utf-8"), f"$ {command}\n{screen(command)}"
        if after != before:
            file.write_text(after, "utf-8")
            print(f"{file.relative_to(SCREENS)} changed")


if __name__ == "__main__":
    main()
