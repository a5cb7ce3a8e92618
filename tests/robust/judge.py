"""What every run of the program must keep to, whatever it was given."""

import re
from collections.abc import Sequence

# Tabs and newlines may stand in an answer; nothing else below a space, no C1, no change of direction.
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COLOR = re.compile("\x1b\\[[0-9;]*m")
OVERWRITTEN = re.compile("(?:\r[ -~█░]*)+\r")  # what a terminal was told of progress, and is gone
ERROR_LINES = 3  # an error has one or two lines; of wrong usage, a third says where the help is


def faults(code: int, out: bytes, err: bytes, args: Sequence[str] = (), terminal: bool = False) -> list[str]:
    """What is wrong with how `glass ARGS` ended, in words; nothing if all is well.

    Args:
        terminal: stdout and stderr were terminals. A pipe gets the bytes that a model writes as they are, and no
            line of numbers on stderr.
    """
    found = [] if code in (0, 1, 2) else [f"exit code {code}"]
    said = err.decode("utf-8", "replace")
    said = OVERWRITTEN.sub("", said) if terminal else said
    if b"Traceback" in err or b"panicked" in err:
        found.append("a traceback: " + said.strip().rpartition("\n")[2])
    elif bad := [line for line in said.splitlines() if not line.startswith(("glass: ", "       "))]:
        if not terminal or code in (1, 2):
            found.append(f"stderr has a line of another voice: {bad[0][:100]!r}")
    elif code in (1, 2) and len(last_error(said)) > ERROR_LINES:
        found.append(f"an error of {len(last_error(said))} lines: {said[:300]!r}")
    if code in (1, 2) and not err and b'"error"' not in out[:200] and args:
        found.append(f"exit code {code} without a word")  # kv-budget --json tells on stdout; no args: the help
    if b"not enough memory" in err or b"no memory for" in err:
        found.append("it filled the memory: " + said[:200])
    colored = "--color=always" in args or "always" in args
    streams = {"stderr": said}
    if terminal or args[:1] != ["generate"] or {"--json", "--jsonl", "probs"} & set(args):
        streams["stdout"] = out.decode("utf-8", "replace")
    for name, text in streams.items():
        if match := RAW.search(COLOR.sub("", text) if colored else text):
            found.append(f"raw {match[0]!r} on {name} at {match.start()}: {text[max(0, match.start() - 40) :][:80]!r}")
    return found


def last_error(said: str) -> list[str]:
    """The lines of the last thing said on stderr."""
    return ("\n" + said.rstrip("\n")).rpartition("\nglass: ")[2].split("\n")
