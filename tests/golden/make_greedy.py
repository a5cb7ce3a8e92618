"""Write tests/golden/greedy.json: what transformers computes with the shipped weights, in float64.

Needs torch and transformers (`make parity` installs them); run from the repository root.
"""

import json
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

FOLDER = Path("weights/glass-1m")
PROMPTS = ["", "Once upon a time", "The cat sat on the", "日本語 🙂", "Lily said, \"I don't"]
N_NEW = 64


def greedy(model: torch.nn.Module, ids: list[int]) -> list[int]:
    """The most likely token, `N_NEW` times, everything computed anew each time."""
    chosen: list[int] = []
    with torch.no_grad():
        while len(chosen) < N_NEW:
            logits = model(torch.tensor([ids + chosen]), use_cache=False).logits[0, -1]
            chosen.append(int(logits.argmax()))
    return chosen


def main() -> None:
    """Greedy continuations and the logits after each prompt."""
    tokenizer = AutoTokenizer.from_pretrained(FOLDER)
    model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float64, attn_implementation="eager").eval()
    cases = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt").input_ids
        with torch.no_grad():
            logits = model(ids).logits[0, -1]
        cases.append(
            {
                "prompt": prompt,
                "prompt_ids": ids[0].tolist(),
                "greedy_ids": greedy(model, ids[0].tolist()),
                "first_logits": [round(value, 6) for value in logits.tolist()],
            }
        )
    document = {
        "made_by": "python tests/golden/make_greedy.py",
        "made_with": f"transformers {transformers.__version__}, torch {torch.__version__}, float64, CPU",
        "cases": cases,
    }
    Path("tests/golden/greedy.json").write_text(json.dumps(document) + "\n")


if __name__ == "__main__":
    main()
