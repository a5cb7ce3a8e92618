"""Run glass inside the test's own process: quick, and what it prints comes back as text."""

import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from unittest.mock import patch

from glasscli.cli.app import main

DECIDES = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "COLORTERM", "GLASS_MODEL")


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str


def glass(
    *args: str, columns: int = 100, env: Mapping[str, str] | None = None, stdin: bytes = b"", encoding: str = "utf-8"
) -> Ran:
    """Run `glass` with `args` on a pipe of `encoding` that is `columns` wide."""
    kept = {name: value for name, value in os.environ.items() if name not in DECIDES}
    out = io.TextIOWrapper(io.BytesIO(), encoding, newline="")
    err = io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", newline="")  # as Python opens stderr
    with (
        patch.dict(os.environ, {**kept, "COLUMNS": str(columns), **(env or {})}, clear=True),
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
    ):
        code = main(list(args))
        out.flush()
        err.flush()
    texts = [stream.buffer.getvalue().decode(encoding) for stream in (out, err)]  # type: ignore[attr-defined]
    return Ran(code, *texts)
