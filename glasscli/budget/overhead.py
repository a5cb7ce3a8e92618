"""What an engine takes of a device besides weights and cache: activations, CUDA graphs, what PyTorch doesn't count.

It depends on the model, the batch of a step and the version, and nobody publishes a formula. So it is a range, of what
public logs show, never a fact; whoever has measured it says so, and then the range is one number. A model that sees is
tried with as many pictures as fit a step when vLLM starts, which takes far more. Of engines without such logs it is not
known, and nothing stands in for it.
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
    """The least and the most bytes of one device, and who says so; None for the most where nobody does."""

    least: int
    most: int | None
    source: str

    @property
    def known(self) -> bool:
        """Whether there is a most."""
        return self.most is not None


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
# llama.cpp's table of a device at its end (`memory breakdown`): its compute buffer, and what it does not account for
# where that was written once the model was loaded and nothing else ran there. A sparse index over 768,000 tokens took
# 3.7 to 5.2 GiB of such buffers (GLM-5.2 on four): left out, for no other log is like it.
LLAMA_CPP = (
    Seen(0.09, 0, 0, "SmolLM2-135M at 32,768 tokens on an RX 9070 XT", "a public test of build b9867"),
    Seen(0.05, 0, 0, "Qwen3-Coder-Next on a GTX 1080 Ti", "ggml-org/llama.cpp#19437"),
    Seen(0.14, 0, 0, "a model of 4 GiB at 32,768 tokens on an RTX 2060", "a public log of 2026-06-28"),
    Seen(0.17, 0, 0, "a model of 15 GiB on an RTX 3090", "ollama/ollama#17482"),
    Seen(0.41, 0, 0, "gpt-oss-20b on an Apple M5", "a public log of 2025"),
    Seen(0.48, 0, 0, "Qwen3.6-27B on an RTX 5090", "a public log of 2026-05-14"),
    Seen(
        0.88, 0.69, 0, "Qwen3-30B-A3B in part on an RTX 4090; outside, an RTX PRO 6000", "public logs of 2025 and 2026"
    ),
)
ENGINES = {"vllm": VLLM, "llama.cpp": LLAMA_CPP, "ollama": LLAMA_CPP}


def overhead(engine: str, title: str, sees: bool = False) -> Overhead:
    """The range for an engine, from the smallest log to the largest; not known for one without logs.

    Logs of models that see count only for such a model. `title` is how sentences call the engine.
    """
    if engine not in ENGINES:
        return Overhead(0, None, f"what {title} takes besides is not known")
    seen = [log for log in ENGINES[engine] if sees or not log.sees]
    least, most = min(log.gib for log in seen), max(log.gib for log in seen)
    whose = "vLLM" if engine == "vllm" else "llama.cpp"
    return Overhead(int(least * GIB), int(most * GIB), f"{len(seen)} public logs of {whose}, 2024 to 2026")


def measured(n_bytes: int) -> Overhead:
    """What the asker knows."""
    return Overhead(n_bytes, n_bytes, "as given")
