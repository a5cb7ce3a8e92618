"""What users of other tools type, and which option of ours means the same, for every command that has it.

A name is here only if it means exactly that. What looks alike and is not is refused, with the way to say it here.
"""

from collections.abc import Iterator
from dataclasses import dataclass

TEXT = "TEXT"  # stands for the argument that is a command's text or prompt

# Tool → our name → what its users type. `-hf=hf:{}` changes the value: `-hf org/name` is `-m hf:org/name`.
TOOLS: dict[str, dict[str, str]] = {
    "llama.cpp": {
        "--model": "-m --model -hf=hf:{} -hfr=hf:{} --hf-repo=hf:{}",
        TEXT: "-p --prompt",
        "--file": "-f --file",
        "--system": "-sys --system-prompt",
        "--max-new-tokens": "-n --predict --n-predict",
        "--new": "-n --predict --n-predict",
        "--temperature": "--temp",
        "--repetition-penalty": "--repeat-penalty",
        "--seed": "-s --seed",
        "--stop": "-r --reverse-prompt",
        "--ctx": "-c --ctx-size",
        "--cache": "-ctk=k={} --cache-type-k=k={} -ctv=v={} --cache-type-v=v={}",
        "--k-dtype": "-ctk --cache-type-k",
        "--v-dtype": "-ctv --cache-type-v",
        "--draft": "-md --model-draft",
    },
    "mlx-lm": {
        TEXT: "-p --prompt",
        "--system": "--system-prompt",
        "--max-new-tokens": "--max-tokens",
        "--new": "--max-tokens",
        "--temperature": "--temp",
        "--dtype": "--kv-bits=mlx_q{}",
        "--draft": "--draft-model",
    },
    "vLLM": {
        "--ctx": "--max-model-len",
        "--batch": "--max-num-seqs",
        "--dtype": "--kv-cache-dtype",
        "--state-dtype": "--mamba-ssm-cache-dtype",
        "--tp": "-tp --tensor-parallel-size",
        "--pp": "-pp --pipeline-parallel-size",
        "--dp": "-dp --data-parallel-size",
        "--dcp": "-dcp --decode-context-parallel-size",
        "--pcp": "-pcp --prefill-context-parallel-size",
        "--ep": "-ep --enable-expert-parallel",
        "--utilization": "--gpu-memory-utilization",
        "--page": "--block-size",
    },
    "SGLang": {
        "--model": "--model-path",
        "--ctx": "--context-length",
        "--batch": "--max-running-requests",
        "--dtype": "--kv-cache-dtype",
        "--state-dtype": "--mamba-ssm-dtype",
        "--tp": "--tp-size --tensor-parallel-size",
        "--pp": "--pp-size --pipeline-parallel-size",
        "--dp": "--dp-size --data-parallel-size",
        "--page": "--page-size",
        "--draft": "--speculative-draft-model-path",
    },
    "TensorRT-LLM": {
        "--ctx": "--max-seq-len",
        "--batch": "--max-batch-size",
        "--tp": "--tp-size",
        "--pp": "--pp-size",
    },
    "Ollama": {
        "--ctx": "--num-ctx",
        "--max-new-tokens": "--num-predict",
        "--new": "--num-predict",
    },
    "glass itself": {
        "--new": "-n --max-new-tokens",
        "--ctx": "--tokens --context",
        "--batch": "--batch-size",
        "--num": "--num-gpus",
        "--file": "--text",
    },
}
IN_PARTS = ("--cache",)  # options whose value is of parts with commas between, of which a name may say one


@dataclass(frozen=True)
class Word:
    """A name that users of some tools type.

    Attributes:
        form: how its value is written for our option: `{}` as it is.
    """

    typed: str
    own: str
    form: str
    tools: tuple[str, ...]

    @property
    def part(self) -> bool:
        """Whether it says a part of a value, so that others may say the rest."""
        return self.own in IN_PARTS and self.form != "{}"


def words() -> Iterator[Word]:
    """Every name of other tools with all that have it."""
    tools: dict[tuple[str, str, str], list[str]] = {}
    for tool, said in TOOLS.items():
        for own, text in said.items():
            for word in text.split():
                typed, _, form = word.partition("=")
                tools.setdefault((typed, own, form or "{}"), []).append(tool)
    for (typed, own, form), by in tools.items():
        yield Word(typed, own, form, tuple(by))
