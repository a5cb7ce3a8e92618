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


def test_a_type_without_an_outline_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="nobody_knows") as refusal:
        weights({"model_type": "nobody_knows", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1})
    assert refusal.value.field == "model_type"
