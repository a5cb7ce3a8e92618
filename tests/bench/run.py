"""Speed beside every peer that is installed: `python tests/bench/run.py [QUESTION…] [FILE.gguf…]`. No question: all.

One process, one thread, the same weights in float32 for every engine; GGUF files as they are. Nothing here passes or
fails.
"""

import os
import sys
import tempfile
from pathlib import Path

from machine import ONE_THREAD, describe

QUESTIONS = ("decode", "prefill", "context", "batch", "startup", "packed")
ALONE = {"startup", "packed"}  # asked of processes of their own


def main(asked: list[str]) -> int:
    """Answer the questions `asked`, or all; "packed" is about the files that are named among them."""
    files, asked = [Path(word) for word in asked if word.endswith(".gguf")], [w for w in asked if w[-5:] != ".gguf"]
    if unknown := set(asked) - set(QUESTIONS):
        print(f"no question {', '.join(sorted(unknown))}; there are {', '.join(QUESTIONS)}", file=sys.stderr)
        return 2
    asked = asked or list(QUESTIONS)
    print(describe(), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        if set(asked) - ALONE:
            ask_engines(asked, Path(scratch) / "model")
    if "startup" in asked:
        from startup import startup

        say(startup())
    if "packed" in asked:
        from packed import HOW, packed

        for text in map(packed, files) if files else [HOW]:
            say(text)
    return 0


def ask_engines(asked: list[str], folder: Path) -> None:
    """The questions that engines answer in this process."""
    from agree import agree
    from context import CONTEXTS, context
    from decode import decode
    from engines import load_engines
    from folders import LONGEST, write_folder
    from prefill import prefill

    write_folder(folder)
    prompt, long_prompt = prompts_for(folder, max(CONTEXTS))
    print(f"glass-1m in float32, {LONGEST:,} positions, random long prompts")
    engines, absent = load_engines(folder, LONGEST)
    for peer in absent:
        print(f"missing: {peer.name}, {peer.reason}")
    say(agree(engines, prompt))
    if "decode" in asked:
        say(decode(engines, prompt))
    if "prefill" in asked:
        say(prefill(engines, long_prompt[:512]))
    if "context" in asked:
        say(context(engines, long_prompt))
    if "batch" in asked:
        ask_batch(folder, engines[0], long_prompt)


def ask_batch(folder: Path, single: object, long_prompt: list[int]) -> None:
    """The question about several sequences."""
    from agree import agree_batch
    from batch import N_SEQUENCES, batch
    from engines import load_engines

    prompts = [long_prompt[i * 40 : i * 40 + 8 + i] for i in range(N_SEQUENCES)]
    engines, _ = load_engines(folder, 256, "BATCH")
    say(agree_batch(engines, single, prompts))
    say(batch(engines, prompts))


def prompts_for(folder: Path, n: int) -> tuple[list[int], list[int]]:
    """A real prompt, and `n` random tokens."""
    import numpy as np

    from glasscli import load_model

    loaded = load_model(folder)
    random_ids = np.random.default_rng(0).integers(1, loaded.config.vocab_size, n)
    return loaded.encode("Once upon a time, there was a little girl named Lily."), random_ids.tolist()


def say(table: str) -> None:
    """Print a table behind an empty line."""
    print(f"\n{table}", flush=True)


if __name__ == "__main__":
    os.environ.update(ONE_THREAD)
    sys.exit(main(sys.argv[1:]))
