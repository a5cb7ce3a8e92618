"""Write the screens in tests/golden/screens/ anew: what each of their commands prints now.

A screen is a text file. Its first line is `$ `, perhaps settings of the environment, and a glass command; the rest
is what that prints on stdout, then what it says on stderr and its exit code if there is anything to tell. To add
a screen, write a file with its first line alone and run `make golden`; then read what came out. Where the shipped
model's numbers are shown, what depends on the machine's rounding is left open (see `rounding`).
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))  # where tests find this package and the next
from helpers.in_process import glass

from golden.rounding import changed_models, like_stored, marked

ROOT = Path(__file__).parents[2]
SCREENS = Path(__file__).parent / "screens"
MODEL = ROOT / "weights" / "glass-1m"
UNSET = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "TERM",
    "COLORTERM",
    "GLASS_MODEL",
    "PYTHONIOENCODING",
    "LC_ALL",
)


def screen(command: str) -> str:
    """What `command` prints, without the model, the time or the terminal of this machine."""
    words, settings = parts(command)
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    done = subprocess.run(
        [sys.executable, "-m", "glasscli", *words],
        env={**kept, "PYTHONUTF8": "1", **settings},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return as_text(done.stdout.decode(), done.stderr.decode(), done.returncode)


def screen_here(command: str, model: Path = MODEL) -> str:
    """The same in this process, which is quicker; with another model than the shipped one if asked for."""
    words, settings = parts(command)
    encoding = settings.get("PYTHONIOENCODING", "utf-8")
    ran = glass(*words, env={**settings, "GLASS_MODEL": str(model)}, encoding=encoding)
    return as_text(ran.out, ran.err, ran.code)


def parts(command: str) -> tuple[list[str], dict[str, str]]:
    """The words after `glass`, and the settings before it."""
    words = shlex.split(command)
    at = words.index("glass")
    return words[at + 1 :], dict(word.split("=", 1) for word in words[:at])


def as_text(out: str, err: str, code: int) -> str:
    """A screen's file but for its first line."""
    return out + (f"[stderr]\n{err}" if err else "") + (f"[exit {code}]\n" if code else "")


def commands() -> dict[Path, str]:
    """Every screen's file and its command."""
    files = sorted(SCREENS.glob("*.txt"))
    return {file: file.read_text("utf-8").split("\n", 1)[0].removeprefix("$ ") for file in files}


def shows_numbers(command: str) -> bool:
    """Whether the model's own numbers are on the screen."""
    named = ("dump-attn", "generate", "score", "lens", "ablate", "compare")
    return any(f"glass {name}" in command for name in named)


def like(command: str, stored: str) -> str:
    """A screen's file as it would be now; what is left open in `stored` stays so."""
    if shows_numbers(command):
        return like_stored(f"$ {command}\n{screen_here(command)}", stored)
    return f"$ {command}\n{screen(command)}"


def main() -> None:
    """Write every screen, and name those that changed."""
    with TemporaryDirectory() as base:
        models = changed_models(MODEL, Path(base))
        for file, command in commands().items():
            before, after = file.read_text("utf-8"), screen(command)
            if shows_numbers(command):
                try:
                    after = marked(after, [screen_here(command, model) for model in models])
                except ValueError:
                    sys.exit(f"{file.name}: rounding changes how many lines it has. Choose another command.")
            after = f"$ {command}\n{after}"
            if after != before:
                file.write_text(after, "utf-8")
                print(f"{file.relative_to(SCREENS)} changed")


if __name__ == "__main__":
    main()
