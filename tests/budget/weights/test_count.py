"""Parameters counted from a config are those of transformers' class; active ones are what models are named for."""

import json
from pathlib import Path
from typing import Any

import pytest

from glasscli.budget.weights.count import weights
from glasscli.budget.weights.reader import library
from glasscli.errors import ConfigError

DATA = Path(__file__).parents[2] / "data"
TRUTH = json.loads((DATA / "weights" / "transformers.json").read_text())
COUNTED = sorted(set(TRUTH) & set(library().models))


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`base` with what differs: objects by their own difference; an object that is gone is null."""
    made = dict(base)
    for name, value in change.items():
        if value is None and isinstance(made.get(name), dict):
            del made[name]
        elif isinstance(value, dict) and isinstance(made.get(name), dict):
            made[name] = merged(made[name], value)
        else:
            made[name] = value
    return made


def allotted_for_nothing(model_type: str, config: dict[str, Any]) -> int:
    """LongCat's class allots rows of the experts that do nothing, gate and up; no checkpoint holds them."""
    if model_type != "longcat_flash":
        return 0
    rows = 2 * config["expert_ffn_hidden_size"] * config["zero_expert_num"]
    return rows * config["hidden_size"] * config["num_layers"]


def refused(model_type: str, config: dict[str, Any]) -> bool:
    """What an outline says that it knows no count for."""
    return model_type == "zamba2" and not config["tie_word_embeddings"]


@pytest.mark.parametrize("model_type", COUNTED)
def test_parameters_are_those_of_the_class(model_type: str) -> None:
    case = TRUTH[model_type]
    for change, n_parameters in [({}, case["parameters"]), *case["variants"]]:
        config = merged(case["base"], change)
        if refused(model_type, config):
            with pytest.raises(ConfigError) as refusal:
                weights(config)
            assert refusal.value.field == "tie_word_embeddings"
            continue
        found = weights(config)
        assert found.n_parameters == n_parameters - allotted_for_nothing(model_type, config), change
        assert sum(found.by_part().values()) == found.n_parameters


def test_more_than_two_hundred_types_are_compared() -> None:
    assert len(COUNTED) >= 200


def test_a_type_without_an_outline_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="nobody_knows") as refusal:
        weights({"model_type": "nobody_knows", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1})
    assert refusal.value.field == "model_type"


@pytest.mark.parametrize(
    ("name", "billions", "active"),
    [  # as the models' names and cards say
        ("Qwen--Qwen3-235B-A22B-FP8", 235, 22),
        ("Qwen--Qwen3-30B-A3B", 30.5, 3.3),
        ("mistralai--Mixtral-8x22B-v0.1", 141, 39),
        ("moonshotai--Kimi-K2-Instruct", 1026, 33),
        ("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", 31.6, 3.6),
        ("nvidia--Qwen3.5-122B-A10B-NVFP4", 122, 10),
        ("deepseek-ai--DeepSeek-V4-Flash", 284, 13),
    ],
)
def test_active_parameters_are_what_a_model_is_named_for(name: str, billions: float, active: float) -> None:
    found = weights(json.loads((DATA / "kv" / "configs" / f"{name}.json").read_text()))
    assert found.n_parameters / 1e9 == pytest.approx(billions, rel=0.01)
    assert found.n_active / 1e9 == pytest.approx(active, rel=0.07)
