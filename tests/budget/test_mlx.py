"""mlx-lm's caches: what its own objects held of tiny models, measured; and what it has no cache for.

The data was made with mlx-lm 0.32.2 and mlx 0.32.4 on a CPU; see tests/data/kv/README.md.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.hand_layouts import DEEPSEEK_V3, GPT_OSS, LLAMA_8B, sized

from glasscli.budget.engines.engine import Served, total
from glasscli.budget.engines.mlx import QUANTISED, Mlx
from glasscli.budget.questions import Settings
from glasscli.budget.request import Request
from glasscli.config.families import Layout, layout
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import FullAttention

DATA = Path(__file__).parents[1] / "data" / "kv"
MEASURED = json.loads((DATA / "mlx_caches.json").read_text(encoding="utf-8"))
CONFIGS = {
    (case["model_type"], case["variant"]): case["config"]
    for case in json.loads((DATA / "transformers_truth.json").read_text(encoding="utf-8"))
}


def name(case: dict[str, Any]) -> str:
    return "-".join(filter(None, (case["model_type"], case["variant"])))


def by_layer(made: Layout, tokens: int) -> list[int]:
    """Bytes of each layer that has a cache of its own."""
    kept = [layer for layer in made.layers if not layer.keeps_nothing]
    engine = Mlx(Request(made, tokens, engine="mlx"), tuple({part for layer in kept for part in layer.parts}))
    return [sum(total(engine.hold(part, tokens, 1)) for part in layer.parts) for layer in kept]


@pytest.mark.parametrize("case", MEASURED["whole"], ids=name)
def test_caches_as_they_were_measured(case: dict[str, Any]) -> None:
    made = layout(CONFIGS[case["model_type"], case["variant"]], "mlx")
    for tokens, measured in case["runs"]:
        assert by_layer(made, tokens) == measured, tokens


@pytest.mark.parametrize("case", MEASURED["windows"], ids=name)
def test_windows_of_1000(case: dict[str, Any]) -> None:
    """At the end, and what all layers together held at most while the prompt was read in steps of 2,048."""
    config = {**CONFIGS[case["model_type"], case["variant"]], "sliding_window": case["window"]}
    made = layout(config, "mlx")
    for tokens, measured, peak in case["runs"]:
        assert by_layer(made, tokens) == measured, tokens
        if tokens == 5000:
            more = [layer for layer in made.layers if layer.window is not None]
            row = by_layer(made, tokens)[made.layers.index(more[0])] // 1000
            assert peak - sum(measured) <= len(more) * 2047 * row
            notes = sized(made, tokens, engine="mlx").notes
            assert any("up to 3,047 rows" in note for note in notes)


@pytest.mark.parametrize(("config", "bits", "tokens", "measured"), MEASURED["quantised"])
def test_quantised_caches_as_they_were_measured(config: dict[str, Any], bits: int, tokens: int, measured: int) -> None:
    dtype = next(name for name, own in QUANTISED.items() if own == bits)
    assert sized(layout(config, "mlx"), tokens, engine="mlx", k_dtype=dtype).bytes_total == measured


@pytest.mark.parametrize("case", MEASURED["real"], ids=[case["config"] for case in MEASURED["real"]])
def test_models_in_production(case: dict[str, Any]) -> None:
    made = layout(json.loads((DATA / case["config"]).read_text(encoding="utf-8")), "mlx")
    for tokens, measured in case["runs"]:
        assert sized(made, tokens, engine="mlx").bytes_total == measured


@pytest.mark.parametrize(
    ("made", "asked", "field"),
    [
        (LLAMA_8B, {"k_dtype": "q8_0"}, "k_dtype"),
        (LLAMA_8B, {"k_dtype": "mlx_q4", "v_dtype": "mlx_q8"}, "v_dtype"),
        (LLAMA_8B, {"k_dtype": "mlx_q4", "batch": 2}, "batch"),
        (LLAMA_8B, {"tp": 2}, "tp"),
        (LLAMA_8B, {"pp": 2}, "pp"),
        (LLAMA_8B, {"prefix_shared": 8}, "prefix_shared"),
        (LLAMA_8B, {"state_dtype": "f32"}, "state_dtype"),
        (GPT_OSS, {"k_dtype": "mlx_q8"}, "engine"),
        (DEEPSEEK_V3, {"k_dtype": "mlx_q8"}, "engine"),
        (Layout("llama", (FullAttention(8, 80, 80),)), {"k_dtype": "mlx_q8"}, "head_dim"),
        (Layout("jet_nemotron", (FullAttention(8, 64, 64),)), {}, "model_type"),
    ],
)
def test_what_mlx_has_no_cache_for_is_refused_by_name(made: Layout, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        sized(made, 100, engine="mlx", **asked)
    assert refusal.value.field == field


def test_the_command() -> None:
    words = Mlx.command_line(Served(Settings((8192,), options={"prefill_step_size": 512}), "mlx_q4", "mlx_q4", "M", ""))
    assert " ".join(words) == (
        "mlx_lm.server --model M --decode-concurrency 1 --kv-bits 4 --quantized-kv-start 0 --prefill-step-size 512"
    )
    for asked in ({"tp": 2}, {"dp": 2}, {"ep": True}, {"prefix_shared": 8}):
        with pytest.raises(ConfigError) as refusal:
            Mlx.command_line(Served(Settings((8192,), **asked), "bf16", "bf16", "M", "bf16"))
        assert refusal.value.field in asked
