"""What an engine takes of a device besides weights and cache: activations, CUDA graphs, what PyTorch doesn't count.

It depends on the model, the batch of a step and the version, and nobody publishes a formula. So it is a range, of what
public logs show, never a fact; whoever has measured it says so, and then the range is one number.
"""

from typing import NamedTuple

GIB = 2**30


class Seen(NamedTuple):
    """What one log shows in GiB: activations at their peak, memory outside PyTorch, CUDA graphs; and where."""

    activations: float
    outside: float
    graphs: float
    model: str
    source: str

    @property
    def gib(self) -> float:
        """All three together."""
        return self.activations + self.outside + self.graphs


class Overhead(NamedTuple):
    """The least and the most bytes of one device, and who says so."""

    least: int
    most: int
    source: str


VLLM = (
    Seen(2.07, 0.35, 0, "Llama-3.1-8B, steps of 20,000 tokens", "vllm-project/vllm#10517"),
    Seen(2.99, 0.35, 0, "Llama-3.1-8B, steps of 29,000 tokens", "vllm-project/vllm#10517"),
    Seen(1.42, 0.03, 0, "Qwen2.5-7B AWQ", "vllm-project/vllm#13882"),
    Seen(1.26, 0.30, 0, "Qwen2.5-32B on two", "vllm-project/vllm#15815"),
    Seen(0.57, 0.30, 0.22, "a small AWQ model, vLLM of 2026-09", "vllm-project/vllm#57047"),
    Seen(1.83, 0.01, 0, "Phi-4-mini", "a notebook's log of 2025-08"),
)
ENGINES = {"vllm": VLLM}


def overhead(engine: str) -> Overhead:
    """The range for an engine, from the smallest log to the largest; vLLM's also stands in for those without logs."""
    seen = ENGINES.get(engine, VLLM)
    least, most = min(log.gib for log in seen), max(log.gib for log in seen)
    whose = "vLLM" if engine not in ENGINES else engine_title(engine)
    return Overhead(int(least * GIB), int(most * GIB), f"{len(seen)} public logs of {whose}, 2024 to 2026")


def engine_title(engine: str) -> str:
    """How sentences call an engine."""
    return {"vllm": "vLLM"}.get(engine, engine)


def measured(n_bytes: int) -> Overhead:
    """What the asker knows."""
    return Overhead(n_bytes, n_bytes, "as given")
