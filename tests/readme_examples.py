"""The README's examples: found, run, compared, and written anew.

A ```console block holds commands after `$ ` and what a terminal of 100 columns shows for them, without its colours. A
```python block is followed by a ```text block with what it prints. Commands of other programs are not run here.

    python tests/readme_examples.py            rewrites what is shown with what the program shows now; the list of other
                                               tools' names, too
    python tests/readme_examples.py --times    writes speeds and times anew, too: they are the machine's of that moment
"""

import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers.terminal import Terminal, as_left, environment

from glasscli.cli.other_names import short_list

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
COLUMNS = 100
# What differs from run to run: a terminal's line below a text says how long it took.
TIME = re.compile(r"\d[\d,.]* (?:ms|µs|s|tok/s)(?!\w)")
NAMES = re.compile(r"^\* \*\*llama\.cpp\*\*: (?:.+\n)+", re.MULTILINE)
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A command or a program, and the output the README shows for it."""

    source: str
    shown: str
    is_command: bool

    def run(self) -> str:
        """What it shows now."""
        if not self.is_command:
            program = [sys.executable, "-c", self.source]
            done = subprocess.run(program, capture_output=True, text=True, env=environment(), cwd=ROOT, check=False)
            assert done.returncode == 0, f"{self.source}\n{done.stderr}"
            return as_left(done.stdout)
        path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
        # From the repository's folder; stdin is no terminal, so that nothing waits for a key.
        there = f"cd {shlex.quote(str(ROOT))} && {self.source}"
        code, shown = Terminal(
            "-c", there, columns=COLUMNS, stdin=subprocess.DEVNULL, program=["bash"], PATH=path, NO_COLOR="1"
        ).finish()
        assert code == 0, f"{self.source}\n{shown}"
        return as_left(shown)


def comparable(shown: str) -> str:
    """`shown` with a mark for every time, and one space for all white space behind the line that tells them.

    That line is wrapped, and where it breaks depends on how many digits the times have.
    """
    text, rule, footer = TIME.sub("¿", shown).partition("── ")
    return text + rule + " ".join(footer.split())


def names() -> str:
    """The list of what users of other tools may type."""
    lines = (textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False) for line in short_list())
    return "".join(f"{line}\n" for line in lines)


def apart(example: str) -> tuple[str, str]:
    """A command, which goes on in the next line behind a backslash, and what it shows."""
    lines = example.splitlines(keepends=True)
    n = next(i for i, line in enumerate(lines, start=1) if not line.endswith("\\\n"))
    return "".join(lines[:n]).removesuffix("\n"), "".join(lines[n:])


def ours(command: str) -> bool:
    """Whether a command line runs glass."""
    return bool(re.search(r"(^|\| )glass ", command))


def examples(text: str) -> Iterator[Example]:
    """Every example that runs glass, in order."""
    blocks = BLOCK.findall(text)
    for i, (kind, body) in enumerate(blocks):
        if kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, shown = apart(part)
                if ours(command):
                    yield Example(command, shown, True)
        elif kind == "python":
            assert i + 1 < len(blocks), "a python block without a text block behind it"
            assert blocks[i + 1][0] == "text"
            yield Example(body, blocks[i + 1][1], False)


def rewrite(text: str, times: bool = False) -> str:
    """`text` with the outputs of now; those that differ in times alone only with `times`."""
    after_python = ""

    def fresh(match: re.Match[str]) -> str:
        nonlocal after_python
        kind, body = match.groups()
        if kind == "console":
            parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
            done = [parts[0]]
            for part in parts[1:]:
                command, shown = apart(part)
                now = Example(command, shown, True).run() if ours(command) else shown
                same = comparable(now) == comparable(shown) and not times
                done.append(f"$ {command}\n{shown if same else now}")
            body = "".join(done)
        elif kind == "python":
            after_python = Example(body, "", False).run()
        elif after_python:
            body, after_python = after_python, ""
        return f"```{kind}\n{body}```"

    return NAMES.sub(names(), BLOCK.sub(fresh, text))


if __name__ == "__main__":
    README.write_text(rewrite(README.read_text(), times="--times" in sys.argv[1:]))
