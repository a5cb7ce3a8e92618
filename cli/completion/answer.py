"""What may stand at the cursor, from the words before it: a command, an option, a value. Imports little."""

from collections.abc import Iterable, Sequence

from glasscli.cli.commands import COMMANDS, summary
from glasscli.cli.completion.install import INSTALL, SHOW
from glasscli.cli.completion.scripts import SCRIPTS

Choice = tuple[str, str]  # a word, and a few words about it
BREAKS = "=:"  # what bash breaks words at beside spaces
FRONT = (
    ("--help", "The commands"),
    ("--version", "Which glass this is"),
    (INSTALL, "Complete words in new shells"),
    (SHOW, "Print the script of a shell"),
)


def answer(shell: str, words: Sequence[str]) -> tuple[str, int]:
    """What a shell is told: a line a word, and an exit code, 1 where files should be completed instead."""
    words = joined(words) if shell == "bash" else list(words)
    found = choices(words)
    if found is None:
        return "", 1
    last = words[-1] if words else ""
    taken = max((last.rfind(mark) + 1 for mark in BREAKS), default=0) if shell == "bash" else 0
    lines = [_line(shell, word[taken:], about) for word, about in found if word.startswith(last)]
    return "\n".join(lines), 0


def joined(words: Iterable[str]) -> list[str]:
    """Words as they were typed: bash hands over `--engine=vllm` as three."""
    made: list[str] = []
    open_ended = False
    for word in words:
        breaks = bool(word) and not word.strip(BREAKS)
        if made and (breaks or open_ended):
            made[-1] += word
        else:
            made.append(word)
        open_ended = breaks
    return made


def choices(words: Sequence[str]) -> list[Choice] | None:
    """The words that may stand in place of the last; None where that is a file."""
    if len(words) < 2:
        last = words[0] if words else ""
        return [*FRONT] if last.startswith("-") else [(name, summary(name)) for name in COMMANDS]
    if words[0] in (INSTALL, SHOW):
        return [(shell, "") for shell in SCRIPTS] if len(words) == 2 else []
    if words[0] not in COMMANDS:
        return []
    from glasscli.cli.completion.line import Line

    return Line(words[0], words[1:]).choices()


def _line(shell: str, word: str, about: str) -> str:
    """One word as the shell's script reads it: without line ends, tabs and other characters that steer."""
    word, about = ("".join(c if c.isprintable() else "?" for c in text) for text in (word, about))
    if shell == "zsh":
        escaped = word.replace("\\", "\\\\").replace(":", "\\:")
        return f"{escaped}:{about}" if about else escaped
    return f"{word}\t{about}" if about and shell == "fish" else word
