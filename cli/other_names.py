"""What users of other tools type, and which option of ours means the same, for every command that has it.

A name is here only if it means exactly that. What looks alike and is not is refused, with the way to say it here.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

OURS = "glass itself"  # older names and other spellings of our own
TEXT = "TEXT"  # stands for the argument that is a command's text or prompt
TEXTS = ("[TEXT]", "[PROMPT]")  # and that argument in the help

# Tool → our name → what its users type. `-hf=hf:{}` changes the value: `-hf org/name` is `-m hf:org/name`;
# `--swa-full=swa_full=true` takes none and is `--setting swa_full=true`.
#
# Sources: llama.cpp's tools/server/README.md, mlx-lm's generate.py and server.py, vLLM's `vllm serve --help`, SGLang's
# server_args.py, all as of 2026-11; TensorRT-LLM's tensorrt_llm/commands/serve.py, which writes _ for -. Ollama has no
# such options: its names are the parameters of a Modelfile, docs/modelfile.md.
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
        "--setting": "-ub=n_ubatch={} --ubatch-size=n_ubatch={} --swa-full=swa_full=true -kvu=kv_unified=true "
        "--kv-unified=kv_unified=true -no-kvu=kv_unified=false --no-kv-unified=kv_unified=false",
    },
    "mlx-lm": {
        TEXT: "-p --prompt",
        "--system": "--system-prompt",
        "--max-new-tokens": "--max-tokens",
        "--new": "--max-tokens",
        "--temperature": "--temp",
        "--stop-token": "--extra-eos-token",
        "--dtype": "--kv-bits=mlx_q{}",
        "--draft": "--draft-model",
        "--batch": "--decode-concurrency",
        "--setting": "--prefill-step-size=prefill_step_size={}",
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
        "--setting": "--max-num-batched-tokens=max_num_batched_tokens={} --mamba-cache-mode=mamba_cache_mode={} "
        "--mamba-block-size=mamba_block_size={} --no-async-scheduling=async_scheduling=false "
        "--disable-hybrid-kv-cache-manager=hybrid_manager=false",
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
        "--setting": "--swa-full-tokens-ratio=swa_full_tokens_ratio={} --disable-radix-cache=disable_radix_cache=true "
        "--mamba-radix-cache-strategy=mamba_radix_cache_strategy={} --max-mamba-cache-size=max_mamba_cache_size={}",
    },
    "TensorRT-LLM": {
        "--ctx": "--max-seq-len",
        "--batch": "--max-batch-size",
        "--tp": "--tp-size --tensor-parallel-size",
        "--pp": "--pp-size --pipeline-parallel-size",
    },
    "Ollama": {
        "--ctx": "--num-ctx",
        "--max-new-tokens": "--num-predict",
        "--new": "--num-predict",
    },
    OURS: {
        "--new": "-n --max-new-tokens",
        "--ctx": "--tokens --context",
        "--num": "--num-gpus",
        "--file": "--text",
        "--color": "--colour --no-color=never",
        "--samples": "--num-samples --num-return-sequences",
        "--rows": "--row",
        "--spec": "--cache",
    },
}
IN_PARTS = ("--cache",)  # options whose value is of parts with commas between, of which a name may say one


# What looks alike and is not, or is nothing that can be set here: names, the option of ours that a command must have
# for it to be worth a word, and the word.
ELSEWHERE: tuple[tuple[str, str, str], ...] = (
    ("-np --parallel", "--batch", "llama.cpp's slots share what -c says; each of --batch N sequences holds --ctx."),
    ("-b --batch-size", "--batch", "llama.cpp's counts the tokens of one step; how many sequences: --batch N."),
    ("--mem-fraction-static", "--utilization", "SGLang's is of weights and cache alone: --utilization X --overhead 0."),
    ("--free-gpu-memory-fraction --kv-cache-free-gpu-memory-fraction", "--utilization",
     "TensorRT-LLM's is of what weights leave; --utilization is of all the memory."),
    ("--kv-bits", "--cache", "A run packs its cache in the formats of llama.cpp or KIVI: --cache q4_0."),
    ("--bits", "--spec", "What a cache of 4 bits costs: --spec q4_0, or --spec kivi4."),
    ("--max-kv-size", "--cache", "What mlx-lm keeps for N is --cache sinks=4,window=N-4."),
    ("--dtype --kv-cache-dtype", "--cache", "All is computed in float32; what the cache is packed in: --cache q8_0."),
    ("-cnv --conversation", "--chat", "One turn at a time: --chat, with --messages FILE for the turns before."),
    ("-c --ctx-size --context-length --max-model-len --num-ctx", "--overflow",
     "The context is the model's, see glass info; what happens past it: --overflow."),
    ("--threads", "--model", "OPENBLAS_NUM_THREADS in the environment says how many threads a large model gets."),
    ("--greedy", "--temperature", "The likeliest token each time is --temperature 0."),
    ("--stream", "--jsonl", "A text is shown as it is written; --jsonl is a line a token."),
    ("--best-of", "--samples", "N texts of one prompt: --samples N. --json tells how likely each was."),
    ("--query --pos --position --token", "--rows", "What the token at position 5 looks at: --rows 5."),
    ("--png --pdf --svg --html --image --plot --save", "--heads",
     "-o FILE takes it, by the ending: .svg is a picture, .html a page, .csv a table …"),
    ("-ngl --gpu-layers --n-gpu-layers -dev --device", "--model", "All is computed in NumPy, on the CPU."),
)  # fmt: skip
# Names that mean the same only where another option is 1.
OF_ONE_REPLICA = ("--max-num-seqs", "--max-running-requests", "--max-batch-size")


class Word(NamedTuple):
    """A name that users of some tools type.

    Attributes:
        form: how its value is written for our option: `{}` as it is; without `{}` it takes none.
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


def elsewhere(typed: str, has: Callable[[str], bool]) -> str:
    """What to say of another tool's name that means nothing here; nothing of a name that is none.

    Args:
        has: whether the command has an option of ours.
    """
    return next((word for names, need, word in ELSEWHERE if typed in names.split() and has(need)), "")


def short_list() -> list[str]:
    """For each other tool, in Markdown, the names that its users may type."""
    made = []
    for tool, said in TOOLS.items():
        if tool != OURS:
            typed = dict.fromkeys(word.partition("=")[0] for text in said.values() for word in text.split())
            made.append(f"* **{tool}**: {' '.join(f'`{name}`' for name in typed)}")
    return made
