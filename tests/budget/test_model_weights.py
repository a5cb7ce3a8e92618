"""Named models have the parameters of transformers' classes; the rest of the list is refused where weights count."""

import json
from pathlib import Path

import pytest

from glasscli.budget.model_facts import MODELS
from glasscli.budget.model_weights import WEIGHTS, weights_config
from glasscli.budget.models import find
from glasscli.budget.weights.loaded import loaded_bytes
from glasscli.budget.weights.ranks import Split
from glasscli.budget.weights.rope_cache import rope_cache_bytes
from glasscli.budget.weights.stored import stored

GIB = 2**30
# What transformers' classes have, made from the same settings on the meta device: see make_named.py beside it.
COUNTED = json.loads((Path(__file__).parents[1] / "data" / "weights" / "named.json").read_text())


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_entry_is_a_model_of_the_list_with_the_parameters_of_its_class(name: str) -> None:
    model = stored(weights_config(find(name)))
    assert model.weights.n_parameters == COUNTED[name]
    assert model.n_bytes > 0


@pytest.mark.parametrize(
    ("name", "ranks", "gib"),
    [
        ("phi-4-mini", 1, "7.1694"),  # a notebook's log of 2025-08-06
        ("llama-3.1-8b", 1, "14.9888"),  # vllm-project/vllm#10517
        ("qwen3-8b", 1, "15.27"),  # vLLM 0.29, one RTX 5090
    ],
)
def test_what_vllm_logged_as_the_weights_of_a_named_model(name: str, ranks: int, gib: str) -> None:
    config = weights_config(find(name))
    model = stored(config)
    (loaded,) = loaded_bytes(model, Split(tp=ranks))
    digits = len(gib.partition(".")[2])
    assert f"{(loaded + (rope_cache_bytes(config, 'bf16') or 0)) / 2**30:.{digits}f}" == gib


def test_few_names_are_without_weights() -> None:
    without = {model.name for model in MODELS if not weights_config(model)}
    assert without >= {"palm-540b", "minimax-m3", "kimi-k3"}  # never published, or of a type that nobody counts
    assert len(MODELS) - len(without) >= 119


@pytest.mark.parametrize(
    ("name", "experts"),
    [("deepseek-v4-flash", 43 * 256 * 3 * 4096 * 2048), ("deepseek-v4-pro", 61 * 384 * 3 * 7168 * 3072)],
)
def test_experts_in_fp4_beside_fp8(name: str, experts: int) -> None:
    """Half a byte for each number of an expert that tokens are sent to, and a byte for the scale of 32.

    In FP8: a byte for each, and four for the scale of 128 × 128.
    """
    config = weights_config(find(name))
    fp4, fp8 = stored(config).n_bytes, stored(config | {"expert_dtype": "fp8"}).n_bytes
    assert fp8 - fp4 == experts + experts // 128**2 * 4 - experts // 2 - experts // 32


@pytest.mark.parametrize(
    ("name", "billions"),  # as papers and model cards round them
    [
        ("ernie-4.5-21b-a3b", "21.8"),
        ("glm-5.1", "744"),
        ("mimo-v2-flash", "309"),
        ("mistral-small-3.1-24b", "24.0"),
        ("olmoe-1b-7b", "6.92"),
        ("qwen1.5-moe-a2.7b", "14.3"),
        ("qwen3-4b", "4.02"),
        ("stablelm-3b-4e1t", "2.795"),
    ],
)
def test_as_many_parameters_as_the_publisher_says(name: str, billions: str) -> None:
    digits = len(billions.partition(".")[2])
    assert f"{stored(weights_config(find(name))).weights.n_parameters / 1e9:.{digits}f}" == billions


def test_layers_that_use_an_earlier_layers_index_have_none_of_their_own() -> None:
    """GLM-5.2: 21 of 78 layers by every-so-many, as where the config lists them."""
    config = weights_config(find("glm-5.2"))
    listed = ["full" if layer < 3 or layer % 4 == 2 else "shared" for layer in range(78)]
    counts = [stored(config | more).weights.n_parameters for more in ({}, {"indexer_types": listed})]
    assert counts[0] == counts[1] < stored(config | {"index_topk_freq": 1}).weights.n_parameters


@pytest.mark.parametrize("name", ["gpt-2", "opt-13b", "whisper-large-v3", "nemotron-3-nano"])
def test_a_model_that_does_not_rotate_has_no_table_of_cosines(name: str) -> None:
    assert rope_cache_bytes(weights_config(find(name)), "bf16") == 0


def test_falcon_rotates_unless_its_scores_are_biased() -> None:
    config = weights_config(find("falcon-7b"))
    assert rope_cache_bytes(config, "bf16") == 2048 * 64 * 2
    assert rope_cache_bytes(config | {"alibi": True}, "bf16") == 0
