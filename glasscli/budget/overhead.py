"""What an engine takes of a device besides weights and cache: activations, CUDA graphs, what PyTorch doesn't count.

It depends on the model, the batch of a step and the version, and nobody publishes a formula. So it is a range, of what
public logs show, never a fact; whoever has measured it says so, and then the range is one number. A model that sees is
tried with as many pictures as fit a step when vLLM starts, which takes far more.
"""

from typing import NamedTuple

GIB = 2**30


class Seen(NamedTuple):
    """What one log shows in GiB: activations at their peak, memory outside PyTorch, CUDA graphs; and where.

    `sees`: whether the model sees or hears.
    """

    activations: float
    outside: float
    graphs: float
    model: str
    source: str
    sees: bool = False

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
    Seen(1.26, 1.79, 0, "Llama-3-8B", "vllm-project/vllm#10511"),
    Seen(1.26, 3.58, 0, "Llama-3-8B on two", "vllm-project/vllm#10511"),
    Seen(1.42, 0.03, 0, "Qwen2.5-7B AWQ", "vllm-project/vllm#13882"),
    Seen(1.26, 0.30, 0, "Qwen2.5-32B on two", "vllm-project/vllm#15815"),
    Seen(0.37, 0.20, 0, "DeepSeek-R1 in four bits on sixteen", "vllm-project/vllm#14447"),
    Seen(9.96, 0.07, 0.65, "Gemma-3-4B, which sees", "vllm-project/vllm#21489", sees=True),
    Seen(1.97, 0.07, 0.67, "a model of 14 GiB, vLLM of 2025-09", "a public log of 2025-09-23"),
    Seen(0.57, 0.30, 0.22, "a small AWQ model, vLLM of 2026-09", "vllm-project/vllm#57047"),
    Seen(1.83, 0.01, 0, "Phi-4-mini", "a notebook's log of 2025-08"),
)
ENGINES = {"vllm": VLLM}


def overhead(engine: str, sees: bool = False) -> Overhead:
    """The range for an engine, from the smallest log to the largest; vLLM's also stands in for those without logs.

    Logs of models that see count only for such a model.
    """
    seen = [log for log in ENGINES.get(engine, VLLM) if sees or not log.sees]
    least, most = min(log.gib for log in seen), max(log.gib for log in seen)
    whose = "vLLM" if engine not in ENGINES else engine_title(engine)
    return Overhead(int(least * GIB), int(most * GIB), f"{len(seen)} public logs of {whose}, 2024 to 2026")


def engine_title(engine: str) -> str:
    """How sentences call an engine."""
    return {"vllm": "vLLM"}.get(engine, engine)


def measured(n_bytes: int) -> Overhead:
    """What the asker knows."""
    return Overhead(n_bytes, n_bytes, "as given")
