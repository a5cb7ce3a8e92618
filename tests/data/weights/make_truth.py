"""Writes transformers.json anew: how many parameters the installed transformers' classes have.

    python tests/data/weights/make_truth.py [MODEL_TYPE …]

Each model type starts from a small config of tests/data/kv (those that were run to measure caches), else from its
class's defaults. From there every field that is a number, a flag or null is changed, one at a time, then several at
once; the model is made on the meta device, which takes no memory, and its parameters are counted: each tensor once,
however many names it has. A change that the class refuses is left out, and so is one that changes no count, for then
the config of the base says as much. With model types, only those are made anew.

`base` is the config as `save_pretrained` would write it. A variant is what differs from that, and its count.
"""

import argparse
import copy
import json
import random
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HERE = Path(__file__).parent
SMALL = [HERE.parent / "kv" / name for name in ("transformers_truth.json", "transformers_more.json")]
GENERATE = (
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES",
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES",
)
# What a class's own defaults lack.
NEEDED: dict[str, dict[str, Any]] = {
    "dots3_note": {"pad_token_id": 0},
    "emu3": {"pad_token_id": 0},
    "gemma4": {"text_config": {"num_hidden_layers": 6}, "vision_config": {"num_hidden_layers": 3}},
    "mllama": {
        "vision_config": {"num_hidden_layers": 3, "num_global_layers": 2},
        "text_config": {"num_hidden_layers": 9},
    },
    "hunyuan_vl": {"text_config": {"head_dim": 128}},
    "llama4": {"pad_token_id": 0},
    "moonshine_streaming": {"num_key_value_heads": 8},
    "qwen3_omni_moe": {"enable_audio_output": False},
    "hunyuan_v1_dense": {"head_dim": 32},
    "hunyuan_v1_moe": {"head_dim": 32},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8},
    "reformer": {"is_decoder": True},
    "lfm2_moe": {"num_hidden_layers": 4, "layer_types": ["conv", "full_attention", "conv", "full_attention"]},
}
NO_SIZE = re.compile(
    r"_token_id|_token_index|eps$|epsilon|dropout|drop_?path|_std$|initializer|theta|scal(e|ing)|_range$|rope_param"
    r"|transformers_version|architectures|use_cache|_dtype$|^dtype$|return_dict|output_|chunk_size_feed|is_decoder$"
    r"|temperature|loss|coef|label|softcap|multiplier|layerdrop|max_new|clip|momentum|tie_encoder|is_encoder_decoder"
    r"|_attn_impl|problem_type|per_layer_config|cross_attention$|mask_|gradient|pruned"
    r"|^num_blocks$|^embedding_dim$"
)
NULLS = {
    "num_key_value_heads": 1,
    "head_dim": 24,
    "n_inner": 40,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "intermediate_size": 72,
    "ffn_dim": 72,
    "d_ff": 72,
    "moe_intermediate_size": 40,
    "shared_expert_intermediate_size": 40,
    "num_shared_experts": 1,
    "n_shared_experts": 1,
    "n_routed_experts": 4,
    "num_decoder_layers": 3,
    "sliding_window": 16,
    "rotary_dim": 4,
}


def class_of(model_type: str) -> type | None:
    """The class that counts: the one that generates, with its encoder and the towers it sees and hears through."""
    for mapping in GENERATE:
        name = getattr(modeling_auto, mapping).get(model_type)
        if name is not None:
            return getattr(transformers, name if isinstance(name, str) else name[0], None)
    return None


def count(config: Any, model_class: type) -> tuple[int, Any]:
    with torch.device("meta"):
        model = model_class(config)
    model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters()), model


def places(config: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in config.items():
        if NO_SIZE.search(name):
            continue
        if isinstance(value, dict) and len(path) < 2:
            yield from places(value, (*path, name))
        elif value is None or isinstance(value, bool | int):
            yield (*path, name), value


def others(name: str, value: Any) -> list[Any]:
    """Other values of a field, the likeliest to be let through first."""
    if value is None:
        return [NULLS[name]] if name in NULLS else []
    if isinstance(value, bool):
        return [not value]
    if value > 4096 and "vocab" not in name and "size" not in name and "dim" not in name:
        return []
    return [1, 2] if value == 0 else [2 * value, value + 1, value // 2]


def changed(config: dict[str, Any], changes: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    made = copy.deepcopy(config)
    for path, value in changes.items():
        part = made
        for name in path[:-1]:
            part = part[name]
        if re.search(r"layers?$|blocks$|depth", path[-1]) and isinstance(part.get(path[-1]), int):
            for name in [n for n, v in part.items() if isinstance(v, list) and len(v) == part[path[-1]]]:
                del part[name]  # one entry for each layer: to be derived anew
        part[path[-1]] = value
    return made


def possible(config: dict[str, Any]) -> bool:
    """Whether a model like that can run: the classes make others, too. Key/value heads divide the query heads."""
    heads, kv_heads = config.get("num_attention_heads"), config.get("num_key_value_heads")
    if isinstance(heads, int) and isinstance(kv_heads, int) and heads % kv_heads:
        return False
    if {"embedding_dim", "num_blocks"} <= config.keys() and config["embedding_dim"] != config["hidden_size"]:
        return False  # xLSTM says them twice
    return all(possible(part) for part in config.values() if isinstance(part, dict))


def difference(base: Any, other: dict[str, Any]) -> dict[str, Any]:
    """What makes `other` of `base`: objects by their own difference; null also for an object that is gone."""
    found: dict[str, Any] = {name: None for name in base if name not in other}
    for name, value in other.items():
        if name not in base or base[name] != value:
            both = isinstance(value, dict) and isinstance(base.get(name), dict)
            found[name] = difference(base[name], value) if both else value
    return found


def cleaned(config: Any) -> dict[str, Any]:
    """A config as a file holds it, without what says nothing of the model."""
    found = json.loads(config.to_json_string(use_diff=False))

    def strip(part: dict[str, Any]) -> dict[str, Any]:
        gone = ("id2label", "label2id", "_name_or_path", "transformers_version", "output_hidden_states",
                "output_attentions", "return_dict", "chunk_size_feed_forward", "problem_type")  # fmt: skip
        return {n: strip(v) if isinstance(v, dict) else v for n, v in part.items() if n not in gone}

    return strip(found)


def build(model_type: str, values: dict[str, Any], model_class: type) -> tuple[int, dict[str, Any], Any] | None:
    """The count of a config, and the config as saved; None where the class refuses it."""
    try:
        config = CONFIG_MAPPING[model_type].from_dict(copy.deepcopy(values))
        n, model = count(config, model_class)
        return n, cleaned(config), model
    except Exception:
        return None


def small_configs() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for path in SMALL:
        for case in json.loads(path.read_text()):
            found.setdefault(case["config"].get("model_type", case["model_type"]), []).append(case["config"])
    return found


def underived(model_type: str, saved: dict[str, Any], model_class: type) -> Iterator[tuple[dict[str, Any], int]]:
    """The config without a list that has an entry for each layer, as checkpoints are written: the class derives it."""
    for inner in ("", "text_config", "decoder_config"):
        part = saved.get(inner, {}) if inner else saved
        n = next((part[name] for name in ("num_hidden_layers", "n_layer", "num_layers") if part.get(name)), None)
        for name, value in part.items():
            if isinstance(value, list) and len(value) == n:
                bare = {**part, name: None}
                made = build(model_type, {**saved, inner: bare} if inner else bare, model_class)
                if made is not None:
                    yield ({inner: {name: None}} if inner else {name: None}), made[0]


def described(model_type: str, starts: list[dict[str, Any]], seed: int = 0) -> dict[str, Any] | None:
    model_class = class_of(model_type)
    if model_class is None:
        return None
    base = next(filter(None, (build(model_type, start, model_class) for start in starts)), None)
    if base is None:
        return None
    n, saved, _ = base
    deciding: dict[tuple[str, ...], Any] = {}
    # The class's own defaults, and small configs that say something else.
    others_made = [made for start in starts if (made := build(model_type, start, model_class))]
    seen = [(difference(saved, config), count) for count, config, _ in others_made if config != saved]
    seen += underived(model_type, saved, model_class)
    deadline = time.process_time() + 90
    for path, value in places(saved):
        for other_value in others(path[-1], value):
            made = build(model_type, changed(saved, {path: other_value}), model_class)
            if made is None or not possible(made[1]):
                continue
            if made[0] != n:
                deciding[path] = other_value
                seen.append((difference(saved, made[1]), made[0]))
            break
        if time.process_time() > deadline:
            break
    generator = random.Random(f"{model_type}-{seed}")
    for _ in range(6):
        chosen = generator.sample(sorted(deciding), min(len(deciding), 3))
        made = build(model_type, changed(saved, {path: deciding[path] for path in chosen}), model_class)
        if made is not None and possible(made[1]):
            seen.append((difference(saved, made[1]), made[0]))
    return {"class": model_class.__name__, "parameters": n, "base": saved, "variants": seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("types", nargs="*")
    parser.add_argument("--out", type=Path, default=HERE / "transformers.json")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    small = small_configs()
    types = sorted(set().union(*(set(getattr(modeling_auto, mapping)) for mapping in GENERATE)))
    found = json.loads(args.out.read_text()) if args.types and args.out.exists() else {}
    for model_type in args.types or types:
        started = time.process_time()
        needed = NEEDED.get(model_type)
        starts = [needed or {}, *small.get(model_type, [])] if needed else [*small.get(model_type, []), {}]
        case = described(model_type, starts)
        took = time.process_time() - started
        print(f"{model_type}: {len(case['variants']) if case else 'not made'} ({took:.0f} s)", flush=True)
        if case:
            found[model_type] = case
            write(args.out, found)


def write(path: Path, found: dict[str, Any]) -> None:
    """One type a line, after each, so that a run that is broken off is not lost."""
    lines = [f"{json.dumps(name)}:{json.dumps(case, separators=(',', ':'))}" for name, case in sorted(found.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
