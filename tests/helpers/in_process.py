"""Run glass inside the test's own process: quick, and what it prints comes back as text."""

import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from glasscli.cli.app import main
from helpers.dump_cases import tiny_folder
from helpers.strict_json import strict

DECIDES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM", "COLORTERM", "GLASS_MODEL")


# The facts of Llama 3.1 8B.
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


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


def text_of(ran: Ran) -> str:
    """What a run that went well wrote to stdout."""
    assert ran.code == 0, ran.err
    return ran.out


def dump_attn(*args: str, kind: str = "gqa", **settings: Any) -> Ran:
    """`glass dump-attn` on a tiny model of one of `random_llama.KINDS`."""
    return glass("dump-attn", "-m", str(tiny_folder(kind)), *args, **settings)


def budget(*args: str, stdin: bytes = b"", code: int = 0) -> Any:
    """The JSON document that `glass kv-budget` prints, and nothing else."""
    ran = glass("kv-budget", *args, "--json", stdin=stdin)
    assert (ran.code, ran.err) == (code, "")
    return strict(ran.out)
