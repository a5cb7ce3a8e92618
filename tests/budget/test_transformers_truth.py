"""What transformers really holds, measured: tiny models of 264 types, several calls each, layer by layer.

The data is read as it is; see tests/data/kv/README.md for how it was made.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from glasscli.budget.engines.transformers import held
from glasscli.budget.plan import plan
from glasscli.budget.request import Request
from glasscli.config.families import Layout, layout
from glasscli.specs.attention_specs import CacheSpec, Tensor

DATA = Path(__file__).parents[1] / "data" / "kv"
TRUTH = json.loads((DATA / "transformers_truth.json").read_text())
MORE = json.loads((DATA / "transformers_more.json").read_text())
BYTES = {"f32": 4, "bf16": 2, "i64": 8}
# Where the measured list is not one entry for each layer: states kept as one object for the whole model, in
# the module itself, or as a tuple by kind of state.
NOT_BY_LAYER = {"minimax", "recurrent_gemma", "reformer", "rwkv", "xlstm"}


def name(case: dict[str, Any]) -> str:
    return "-".join(filter(None, (case["model_type"], case["variant"], case["class"])))


def size(tensors: list[Tensor], dtype: str) -> int:
    return sum(tensor.rows * tensor.width * BYTES[tensor.dtype or dtype] for tensor in tensors)


def by_layer(found: Layout, tokens: int, batch: int, encoder_tokens: int) -> list[int]:
    """Bytes of each layer's own tokens, then (for an encoder–decoder) of each layer's encoder tokens."""

    def crosses(tensor: Tensor) -> bool:
        return tensor.role.startswith("cross")

    def bytes_of(spec: CacheSpec, cross: bool) -> int:
        tensors = [tensor for tensor in held(spec, tokens, encoder_tokens) if crosses(tensor) == cross]
        return batch * size(tensors, found.dtype)

    own = [bytes_of(spec, False) for spec in found.layers]
    return own + ([bytes_of(spec, True) for spec in found.layers] if encoder_tokens else [])


@pytest.mark.parametrize("case", TRUTH + MORE, ids=name)
def test_bytes_are_those_that_transformers_holds(case: dict[str, Any]) -> None:
    found = layout(case["config"], "transformers")
    encoder_tokens = case["encoder_tokens"] or 0
    for run in case["runs"]:
        tokens, batch = run["tokens"], run["batch"]
        measured = [count for _, count in run["per_layer"]]
        assert sum(measured) == run["bytes_total"]
        ours = by_layer(found, tokens, batch, encoder_tokens)
        assert sum(ours) == run["bytes_total"], (tokens, batch)
        if case["model_type"] not in NOT_BY_LAYER:
            # Decoders that could have an encoder, called without one, list empty layers at the end.
            assert ours == measured[: len(ours)], (tokens, batch)
            assert not any(measured[len(ours) :])


@pytest.mark.parametrize("case", TRUTH[::10], ids=name)
def test_the_plan_adds_up_to_the_same(case: dict[str, Any]) -> None:
    found = layout(case["config"], "transformers")
    for run in case["runs"]:
        asked = Request(
            found,
            run["tokens"],
            run["batch"],
            engine="transformers",
            encoder_tokens=case["encoder_tokens"] or 0,
        )
        assert plan(asked).bytes_total == run["bytes_total"]


def test_the_data_is_whole() -> None:
    assert len(TRUTH) == 258
    assert sum(len(case["runs"]) for case in TRUTH) == 1288
    assert len(MORE) == 51
    assert not {case["model_type"] for case in MORE} & {case["model_type"] for case in TRUTH}
