"""Builds tiny models with the installed transformers and compares what their caches hold with what glass says.

    python tests/oracle.py              40 models, varied from the seed 0
    python tests/oracle.py 200 --seed 7

Each model starts from a config of tests/data/kv/transformers_truth.json and has a few of its sizes changed at
random: heads, widths, windows, the order of its layers. It runs a prompt and a decode step; every byte of the
returned cache counts. A variation that transformers itself refuses is left out. Exit 1 if any byte differs.
"""

import argparse
import copy
import inspect
import json
import random
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoConfig

from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import layout
from glasscli.errors import ConfigError

TRUTH = Path(__file__).parent / "data" / "kv" / "transformers_truth.json"
CALLS = (("prefill", 1, 1), ("prefill", 2, 20), ("decode", 1, 14))
CACHES = ("past_key_values", "cache", "cache_params", "mems", "state", "past_buckets_states")
# The counter of xLSTM's cache and the window as a tensor are not memory that grows with anything.
NOT_MEMORY = ("_sliding_window_tensor", "seqlen_offset")
LARGEST = 60_000_000  # parameters: a variation that asks for more is left out

CHOICES: dict[str, list[Any]] = {
    "num_key_value_heads": [1, 2],
    "head_dim": [8, 16, 24, 32],
    "sliding_window": [1, 2, 5, 9, 33],
    "attention_chunk_size": [2, 7, 20],
    "kv_lora_rank": [4, 12],
    "qk_rope_head_dim": [8, 16, 32],
    "index_head_dim": [32, 64],
    "linear_key_head_dim": [8, 16, 24],
    "linear_value_head_dim": [8, 16, 24],
    "linear_conv_kernel_dim": [2, 3, 5],
    "linear_head_dim": [16, 24],
    "mamba_d_state": [16, 32],
    "mamba_d_conv": [2, 3, 4],
    "mamba_expand": [1, 2, 3],
    "state_size": [16, 32],
    "conv_kernel": [2, 3, 4],
    "ssm_state_size": [16, 32],
    "conv_L_cache": [2, 3, 5],
    "conv1d_width": [2, 3, 4],
    "cca_time0": [2, 3],
    "d_kv": [8, 16],
    "num_kv_shared_layers": [0, 1, 2],
    "decoder_layers": [1, 2, 4],
    "n_layer": [1, 2, 4],
    "n_head": [1, 2, 4],
    "multi_query": [True, False],
    "new_decoder_architecture": [True, False],
    "use_sliding_window": [True, False],
    "attn_layer_period": [2, 3],
}
ONE_PER_LAYER = ("mlp_layer_types", "layer_rope_theta", "no_rope_layers", "indexer_types")


def text_part(config: dict[str, Any]) -> dict[str, Any]:
    nested = next((config[name] for name in ("text_config", "decoder") if isinstance(config.get(name), dict)), None)
    return text_part(nested) if nested else config


def varied(config: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A copy with up to three sizes changed, and the layers' types shuffled or left to the class."""
    config = copy.deepcopy(config)
    part = text_part(config)
    known = sorted(name for name in CHOICES if part.get(name) is not None)
    for name in rng.sample(known, min(len(known), rng.randint(1, 3))):
        part[name] = rng.choice(CHOICES[name])
    listed = next((name for name in ("layer_types", "layers_block_type") if isinstance(part.get(name), list)), None)
    if listed and rng.random() < 0.6:
        n = max(2, len(part[listed]) + rng.randint(-1, 2))
        kinds = part.pop(listed)
        if rng.random() < 0.5:
            part[listed] = [rng.choice(kinds) for _ in range(n)]
        if "num_hidden_layers" in part:
            part["num_hidden_layers"] = n
        part.pop("per_layer_config", None)
        for name in ONE_PER_LAYER:
            part.pop(name, None)
    return config


def plain(value: Any) -> Any:
    """JSON's stand-ins for infinity turned back into floats."""
    if isinstance(value, dict) and set(value) == {"__float__"}:
        return float(value["__float__"].replace("Infinity", "inf"))
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def build(case: dict[str, Any], config: dict[str, Any]) -> torch.nn.Module:
    """The model, with random weights; ValueError where it would be large."""
    fields = {name: value for name, value in plain(config).items() if name != "model_type"}
    made = AutoConfig.for_model(config["model_type"], **fields)
    dtype = getattr(torch, case["dtype"])
    own = getattr(transformers, case["class"], None)
    auto = getattr(transformers, case["auto_class"])

    def make() -> torch.nn.Module:
        return own._from_config(copy.deepcopy(made), dtype=dtype) if own else auto.from_config(made, dtype=dtype)

    with torch.device("meta"):
        if sum(parameter.numel() for parameter in make().parameters()) > LARGEST:
            raise ValueError("too large to build here")
    model = make().eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model


def tensors(held: Any, seen: set[int], name: str = "") -> Iterator[torch.Tensor]:
    """Every tensor that a cache object holds, each once."""
    if id(held) in seen or name in NOT_MEMORY:
        return
    seen.add(id(held))
    if torch.is_tensor(held):
        yield held
    elif isinstance(held, dict):
        for key, inner in held.items():
            yield from tensors(inner, seen, str(key))
    elif isinstance(held, list | tuple):
        for inner in held:
            yield from tensors(inner, seen)
    elif hasattr(held, "__dict__") and not isinstance(held, torch.nn.Module | transformers.PreTrainedConfig | type):
        yield from tensors(vars(held), seen)


def measured(model: Any, call: tuple[str, int, int], encoder_tokens: int) -> int:
    """Bytes of the cache that a call returns. RecurrentGemma keeps its states in its modules."""
    mode, batch, tokens = call
    first = torch.randint(5, 60, (batch, tokens - (mode == "decode")))
    asked: dict[str, Any] = {"input_ids": first, "use_cache": True}
    if encoder_tokens:
        asked |= {"input_ids": torch.randint(5, 60, (batch, encoder_tokens)), "decoder_input_ids": first}
    with torch.no_grad():
        out = model(**asked)
        if mode == "decode":
            name, cache = returned(out)
            takes = name if name in inspect.signature(model.forward).parameters else "cache"
            asked["decoder_input_ids" if encoder_tokens else "input_ids"] = first[:, -1:]
            out = model(**asked, **{takes: cache})
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors(returned(out)[1], set()))


def returned(out: Any) -> tuple[str, Any]:
    return next((name, out[name]) for name in CACHES if out.get(name) is not None)


def compare(case: dict[str, Any], rng: random.Random) -> tuple[str, str]:
    """How one varied model came out: same, refused, different, or left out, with what to say about it."""
    config = varied(case["config"], rng)
    encoder_tokens = case["encoder_tokens"] or 0
    try:
        model = build(case, config)
        live = [measured(model, call, encoder_tokens) for call in CALLS]
    except Exception as error:  # whatever a class makes of sizes that don't fit together
        return "left out", f"{type(error).__name__}: {str(error)[:80]}"
    try:
        found = layout(config, "transformers")
        for (mode, batch, tokens), held in zip(CALLS, live, strict=True):
            asked = Request(found, tokens, batch, engine="transformers", encoder_tokens=encoder_tokens)
            if (ours := plan(asked).bytes_total) != held:
                return "different", f"{mode} of {batch}×{tokens}: glass {ours}, transformers {held}\n  {config}"
    except ConfigError as refusal:
        return "refused", str(refusal)
    return "same", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    torch.manual_seed(chosen.seed)
    rng = random.Random(chosen.seed)
    # RecurrentGemma's states are in its modules, XLM and BERT return a cache only when handed one.
    cases = [case for case in json.loads(TRUTH.read_text()) if case["model_type"] not in ("recurrent_gemma", "xlm")]
    count = {"same": 0, "refused": 0, "different": 0, "left out": 0}
    for _ in range(chosen.models):
        case = rng.choice(cases)
        how, words = compare(case, rng)
        count[how] += 1
        if how in ("different", "refused"):
            print(f"{how}: {case['model_type']} {case['variant'] or ''}: {words}", flush=True)
    print(f"transformers {transformers.__version__}: " + ", ".join(f"{n} {how}" for how, n in count.items()))
    return 1 if count["different"] or not count["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
