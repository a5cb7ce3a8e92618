"""Every JSON of computed numbers says what they were computed in."""

import json
from pathlib import Path

import pytest
from helpers.in_process import glass, text_of

COMMANDS = {
    "generate": ["generate", "a cat", "-n", "2", "--json"],
    "generate --jsonl": ["generate", "a cat", "-n", "0", "--jsonl"],
    "generate --prompts": ["generate", "--prompts", "-", "-n", "2", "--json"],
    "dump-attn": ["dump-attn", "a cat", "--layer", "1", "--json"],
    "dump-attn --heads": ["dump-attn", "a cat", "--heads", "--json"],
    "dump-attn --what-if": ["dump-attn", "a cat", "--layer", "1", "--what-if", "no-mask", "--json"],
    "lens": ["lens", "a cat", "--json"],
    "compare": ["compare", "a cat", "a dog", "--json"],
    "ablate": ["ablate", "a cat", "--json"],
    "score": ["score", "a cat", "--json"],
    "info": ["info", "--json"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_told(name: str, tiny_model_folder: Path) -> None:
    command, *rest = COMMANDS[name]
    document = json.loads(text_of(glass(command, "-m", str(tiny_model_folder), *rest, stdin=b"a\nb\n")))
    assert "float32" in (document.get("dtype"), document.get("model", {}).get("dtype"))


def test_of_numbers_that_were_given() -> None:
    """They are worked out as precisely as they were typed."""
    given = ["attend", "--scores", "1 2; 3 4", "--json"]
    assert json.loads(text_of(glass(*given)))["dtype"] == "float64"
