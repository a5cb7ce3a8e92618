"""`--show-completion` and `--install-completion`: a shell's script, printed or put where the shell finds it."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from glasscli.cli.completion.scripts import SCRIPTS
from glasscli.errors import OutputError, UsageError

SHOW, INSTALL = "--show-completion", "--install-completion"


def run(args: Sequence[str]) -> str:
    """What one of the two options, perhaps with a shell's name behind it, has to say.

    Raises:
        UsageError: no shell, or one that there is no script for.
        OutputError: a file can't be written.
    """
    option, equals, value = args[0].partition("=")
    names = [*([value] if equals else []), *args[1:]]
    if len(names) > 1:
        raise UsageError(f"{option} takes one shell: {', '.join(SCRIPTS)}")
    shell = names[0] if names else current_shell()
    if shell not in SCRIPTS:
        raise UsageError(f"{option}: {shell or 'this shell'!r} is not one of {', '.join(SCRIPTS)}; name one")
    if option == SHOW:
        return SCRIPTS[shell].rstrip("\n")
    try:
        return install(shell)
    except OSError as error:
        raise OutputError(f"completion can't be installed: {error.filename}: {error.strerror}") from None


def current_shell() -> str:
    """The shell that runs glass, else the user's own."""
    try:
        return str(import_module("shellingham").detect_shell()[0])  # what Typer finds it with
    except (ImportError, RuntimeError, OSError):
        return os.path.basename(os.environ.get("SHELL", ""))


def install(shell: str) -> str:
    """Write a shell's script and, for bash and zsh, a line that reads it when the shell starts; what was done."""
    if shell == "fish":
        path = _folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "glass.fish"
        _write(path, SCRIPTS[shell])
        return f"{path} written. New shells complete glass."
    path = _folder("XDG_DATA_HOME", ".local/share") / "glass" / f"completion.{shell}"
    start = Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zshrc" if shell == "zsh" else Path.home() / ".bashrc"
    _write(path, SCRIPTS[shell])
    quoted = "'" + str(path).replace("'", "'\\''") + "'"
    line = f"[ -r {quoted} ] && . {quoted}  # glass"
    before = start.read_text("utf-8", "surrogateescape") if start.exists() else ""
    if line not in before.splitlines():
        with start.open("a", encoding="utf-8") as file:
            file.write(("\n" if before and not before.endswith("\n") else "") + line + "\n")
    return f"{path} written; {start} reads it. New shells complete glass."


def _folder(variable: str, usual: str) -> Path:
    """A user's folder. Source: the XDG base directory specification, version 0.8."""
    given = os.environ.get(variable, "")
    return Path(given) if os.path.isabs(given) else Path.home() / usual


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
