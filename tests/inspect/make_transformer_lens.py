"""Write transformer_lens.json: what TransformerLens measures on the shipped weights, in float64.

    pip install transformer_lens==4.3.0
    WANDB_MODE=disabled HF_HUB_OFFLINE=1 python tests/inspect/make_transformer_lens.py

Its own functions are asked, not copied: `accumulated_resid`, `logit_attrs` of `stack_head_results`, hooks that write
zeros or another run's numbers into `hook_z`, `hook_mlp_out` and `hook_resid_post`.
"""

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import torch
from transformer_lens.model_bridge import TransformerBridge

HERE = Path(__file__).parent
MODEL = HERE.parents[1] / "weights" / "glass-1m"
PROMPT = "Once upon a time there was a little girl named Lily. One day,"
OTHER = "Once upon a time there was a little boy named Tom. One day,"
A, B = " Lily", " she"
HEADS = [(layer, head) for layer in range(4) for head in range(4)]


def rounded(tensor: torch.Tensor) -> Any:
    return [rounded(row) for row in tensor] if tensor.ndim else round(tensor.item(), 7)


def main() -> None:
    torch.set_grad_enabled(False)
    model = TransformerBridge.boot_transformers(str(MODEL), dtype=torch.float64)
    ids, other = (torch.tensor([model.tokenizer(text)["input_ids"]]) for text in (PROMPT, OTHER))
    a, b = (model.tokenizer(text)["input_ids"][-1] for text in (A, B))
    logits, kept = model.run_with_cache(ids)

    stack, labels = kept.accumulated_resid(layer=-1, incl_mid=True, pos_slice=-1, return_labels=True)
    head, norm = model.original_model.lm_head, model.original_model.model.norm
    lens = head(norm(stack[:, 0])).log_softmax(-1)

    # Its attribution leaves the norm's weight out unless that has been folded into the head.
    folded = TransformerBridge.boot_transformers(str(MODEL), dtype=torch.float64)
    folded.enable_compatibility_mode()
    of_folded = folded.run_with_cache(ids)[1]
    heads = of_folded.stack_head_results(layer=-1, pos_slice=-1)
    parts, names = of_folded.decompose_resid(layer=-1, mode="mlp", pos_slice=-1, return_labels=True)

    def share(stack: torch.Tensor) -> list[float]:
        found = of_folded.logit_attrs(stack, tokens=a, incorrect_tokens=b, pos_slice=-1, has_batch_dim=True)
        return rounded(found[:, 0])

    shares = {
        "heads": {f"{layer}.{head}": value for (layer, head), value in zip(HEADS, share(heads), strict=True)},
        "parts": dict(zip(names, share(parts), strict=True)),
        "logit difference": rounded(logits[0, -1, a] - logits[0, -1, b]),
    }

    def hooked(tokens: torch.Tensor, name: str, change: Any) -> torch.Tensor:
        return model.run_with_hooks(tokens, fwd_hooks=[(name, change)])[0].log_softmax(-1)

    def zeroed(index: Any) -> Any:
        def change(value: torch.Tensor, hook: Any) -> torch.Tensor:
            value = value.clone()
            value[index] = 0
            return value

        return change

    def taken(source: torch.Tensor, index: Any) -> Any:
        def change(value: torch.Tensor, hook: Any) -> torch.Tensor:
            value = value.clone()
            value[index] = source[index]
            return value

        return change

    every = slice(None)
    watched = [a, b]
    removed = {
        f"{layer}.{head}": hooked(ids, f"blocks.{layer}.attn.hook_z", zeroed((every, every, head)))
        for layer, head in HEADS
    }
    removed |= {f"mlp {layer}": hooked(ids, f"blocks.{layer}.hook_mlp_out", zeroed((every,))) for layer in range(4)}
    patched = {
        f"{layer}.{head}": hooked(
            other, f"blocks.{layer}.attn.hook_z", taken(kept[f"blocks.{layer}.attn.hook_z"], (every, every, head))
        )
        for layer, head in HEADS
    }
    patched |= {
        f"resid_post {layer} at 10": hooked(
            other, f"blocks.{layer}.hook_resid_post", taken(kept[f"blocks.{layer}.hook_resid_post"], (every, 10))
        )
        for layer in range(4)
    }
    answer = {
        "made_by": "python tests/inspect/make_transformer_lens.py",
        "version": importlib.metadata.version("transformer_lens"),
        "prompt": PROMPT,
        "other": OTHER,
        "token_ids": ids[0].tolist(),
        "other_ids": other[0].tolist(),
        "a": a,
        "b": b,
        "lens": {"places": labels, "logprobs_of_a_b": rounded(lens[:, watched])},
        "lens_top": [row.topk(3).indices.tolist() for row in lens],
        "attribution": shares,
        "removed": {name: rounded(logprobs[-1, watched]) for name, logprobs in removed.items()},
        "patched": {name: rounded(logprobs[-1, watched]) for name, logprobs in patched.items()},
    }
    (HERE / "transformer_lens.json").write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main()
