"""Glass and its peers behind one small interface, so that every question asks all of them the same thing.

    prefill(token_ids)   forget everything, read a prompt, return the likeliest next token
    step(token_id)       append a token, return the likeliest next one

All compute in float32 on one thread, take the likeliest token themselves (the cost is part of the loop), and read
the same folder in Hugging Face layout.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

# module below engines: package it measures, in the order of the tables
PEERS = {
    "glass": "glasscli",
    "llama_cpp": "llama-cpp-python",
    "onnx_runtime": "onnxruntime",
    "transformers_loop": "transformers",
    "glassllm_loop": "glassllm",
}


class Engine(Protocol):
    """A model that decodes one sequence."""

    name: str

    def prefill(self, token_ids: list[int]) -> int:
        """Forget what was read, read `token_ids`, and return the likeliest next token."""

    def step(self, token_id: int) -> int:
        """Append `token_id` and return the likeliest next token."""


class BatchEngine(Protocol):
    """A model that decodes several sequences together."""

    name: str

    def prefill(self, prompts: list[list[int]]) -> list[int]:
        """Forget what was read, read one prompt a sequence, and return each one's likeliest next token."""

    def step(self, token_ids: list[int]) -> list[int]:
        """Append a token to each sequence and return each one's likeliest next token."""


@dataclass(frozen=True)
class Absent:
    """A peer that can't be measured here, and why."""

    name: str
    reason: str


def load_engines(folder: Path, max_tokens: int, kind: str = "SINGLE") -> tuple[list[Engine], list[Absent]]:
    """Every peer that is installed, glass first, and those that are not.

    Args:
        kind: which list of classes to take from each peer's module, "SINGLE" or "BATCH". One may have none.
    """
    engines, absent = [], []
    for module_name, package in PEERS.items():
        try:
            module = import_module(f"engines.{module_name}")
        except ImportError as error:
            absent.append(Absent(package, f"not installed ({error})"))
            continue
        makers: list[Callable[[Path, int], Engine]] = getattr(module, kind, [])
        engines += [make(folder, max_tokens) for make in makers]
    return engines, absent
