"""Write `kvpress.json`: a text read token by token while kvpress' TOVA drops one token of each layer after each step.

    pip install --no-deps kvpress cachetools fire termcolor && python tests/cache/make_kvpress.py

In an environment with torch and transformers. kvpress' own `compress` chooses what stays in transformers' cache, which
this loop carries from step to step; positions stay those of the text. It never drops the newest token, which TOVA may:
texts are kept where that makes no difference. Its relative of H2O divides by how often a token was seen, averages over
query heads and keeps no newest half: another rule, so there is nothing to compare.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from kvpress import TOVAPress

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "parity"))

from helpers.random_llama import settings, tensors, token_ids
from test_llama import reference
from transformers import DynamicCache

N_TOKENS, N_TEXTS, TARGET = 20, 3, 12


def read(model: Any, ids: list[int]) -> list[list[float]] | None:
    """Logits behind each token; once there are `TARGET` keys, one goes before the next comes.

    None if it would be the newest by its weights.
    """
    cache, rows = DynamicCache(), []
    with torch.no_grad():
        for position, token_id in enumerate(ids):
            out = model(
                torch.tensor([[token_id]]), past_key_values=cache, use_cache=True, output_attentions=True,
                position_ids=torch.tensor([[position]]),
            )  # fmt: skip
            rows.append(out.logits[0, -1].tolist())
            if position + 1 < TARGET:
                continue
            for layer, attentions in zip(cache.layers, out.attentions, strict=True):
                weights = attentions[0, :, -1].mean(0)
                if weights[-1] == weights.min():
                    return None
                press = TOVAPress(compression_ratio=1 / TARGET)
                module = model.model.layers[0].self_attn
                layer.keys, layer.values = press.compress(module, None, layer.keys, layer.values, attentions, {})
                assert layer.keys.shape[2] == TARGET - 1
    return rows


def main() -> None:
    config = settings()
    model, texts = reference(config, tensors(config)), []
    for seed in range(1000):
        ids = token_ids(config, N_TOKENS, seed)
        if len(texts) < N_TEXTS and (rows := read(model, ids)) is not None:
            texts.append({"ids": ids, "logits": [[round(x, 6) for x in row] for row in rows]})
    made = {
        "made_by": "tests/cache/make_kvpress.py",
        "with": f"kvpress {version('kvpress')}, transformers {version('transformers')}, float64",
        "tova": TARGET,
        "texts": texts,
    }
    (Path(__file__).parent / "kvpress.json").write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
