"""Lines that engines logged in public, through the command: each to the digits that were printed."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from helpers.in_process import budget, glass, text_of

LINES = json.loads((Path(__file__).parents[1] / "data" / "kv" / "public_lines.json").read_text())
UNITS = {"MiB": 2**20, "GiB": 2**30}
EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "draft_vocab_size": 32000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16",
}  # fmt: skip


def with_id(*fields: str) -> Any:
    return pytest.mark.parametrize(
        "line", [line for line in LINES if any(field in line for field in fields)], ids=lambda line: line["id"]
    )


def as_printed(n_bytes: int, printed: str) -> str:
    """Bytes in the unit and with the digits of what was printed."""
    number, unit = printed.split()
    digits = -int(Decimal(number).as_tuple().exponent)
    return f"{n_bytes / UNITS[unit]:.{digits}f} {unit}"


@with_id("available")
def test_tokens_and_concurrency(line: dict[str, Any], tmp_path: Path) -> None:
    """The bytes were printed to two digits: what was printed of the tokens lies between what their ends hold."""
    words = ["--model", line["model"], *line["words"].split(), "--available", line["available"]]
    if line.get("draft"):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(EAGLE3))
        words += ["--draft", str(path)]
    out = text_of(glass("kv-budget", *words, columns=200))
    (ends,) = (text.split("stands for ")[1] for text in out.splitlines() if "stands for" in text)
    tokens = [int(word.replace(",", "")) for word in ends.split(" tokens")[0].split(" to ")]
    assert tokens[0] <= line["tokens"] <= tokens[1]
    assert tokens[1] - tokens[0] < 0.02 * line["tokens"]
    if "concurrency" in line:
        times = [Decimal(word.rstrip("x")) for word in ends.split("tokens, ")[1].split(" to ")]
        assert times[0] <= Decimal(line["concurrency"]) <= times[1]


@with_id("needed", "roles", "kinds")
def test_sizes(line: dict[str, Any]) -> None:
    said = budget("--model", line["model"], *line["words"].split())
    if "needed" in line:
        assert as_printed(said["bytes_total"], line["needed"]) == line["needed"]
    for role, printed in line.get("roles", {}).items():
        size = sum(layer["bytes_by_role"].get(role, 0) for layer in said["layers"])
        assert as_printed(size, printed) == printed
    for kind, printed in line.get("kinds", {}).items():
        size = sum(layer["bytes"] for layer in said["layers"] if layer["kind"] == kind)
        assert as_printed(size, printed) == printed
