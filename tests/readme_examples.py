"""The README's examples: found, run, compared, and written anew.

A ```console block holds commands after `$ ` and what they print on stdout, with 100 columns and no colour. A
```python block is followed by a ```text block with what it prints. Commands of other programs are not run here.

    python tests/readme_examples.py     rewrites the README's outputs with what the program prints now
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A command or a program, and the output the README shows for it."""

    source: str
    shown: str
    is_command: bool

    def run(self) -> str:
        """What it prints now."""
        environment = {**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1"}
        for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "GLASS_MODEL"):
            environment.pop(name, None)
        command = ["bash", "-c", self.source] if self.is_command else [sys.executable, "-c", self.source]
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        run = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, check=False
        )
        assert run.returncode == 0, f"{self.source}\n{run.stderr}"
        return "".join(line.rstrip() + "\n" for line in run.stdout.splitlines())


def ours(command: str) -> bool:
    """Whether a command line runs glass."""
    return bool(re.search(r"(^|\| )glass ", command))


def examples(text: str) -> Iterator[Example]:
    """Every example that runs glass, in order."""
    blocks = BLOCK.findall(text)
    for i, (kind, body) in enumerate(blocks):
        if kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                if ours(command):
                    yield Example(command, shown, True)
        elif kind == "python":
            assert i + 1 < len(blocks), "a python block without a text block behind it"
            assert blocks[i + 1][0] == "text"
            yield Example(body, blocks[i + 1][1], False)


def rewrite(text: str) -> str:
    """`text` with the outputs of now."""
    after_python = ""

    def fresh(match: re.Match[str]) -> str:
        nonlocal after_python
        kind, body = match.groups()
        if kind == "console":
            parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
            done = [parts[0]]
            for part in parts[1:]:
                command, _, shown = part.partition("\n")
                done.append(f"$ {command}\n" + (Example(command, shown, True).run() if ours(command) else shown))
            body = "".join(done)
        elif kind == "python":
            after_python = Example(body, "", False).run()
        elif after_python:
            body, after_python = after_python, ""
        return f"```{kind}\n{body}```"

    return BLOCK.sub(fresh, text)


if __name__ == "__main__":
    README.write_text(rewrite(README.read_text()))
