"""A model that drafts tokens for another keeps a cache of its own, and weighs what it weighs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.in_process import budget, glass

from glasscli.budget.drafting import method_of
from glasscli.budget.fit import capacity
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Subject, from_config, from_name
from glasscli.budget.weights.heads import stored_head
from glasscli.errors import ConfigError

EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 2048, "torch_dtype": "float16",
}  # fmt: skip


D, F, KV = 4096, 14336, 1024
LAYER = 2 * D * D + 2 * D * KV + 3 * D * F + 2 * D
# EAGLE3-LLaMA3.1-Instruct-8B is a file of 850 MB in float16.
EAGLE3_PARAMETERS = LAYER + D * (D + 2 * KV) + D + 3 * D * D + D + 32000 * D


class TestHeads:
    """Weights of published heads, by what their classes have: a first layer twice as wide, `fc`, own vocabularies."""

    def test_eagle3(self) -> None:
        found = stored_head(EAGLE3 | {"draft_vocab_size": 32000}, "eagle3")
        assert found.weights.n_parameters == EAGLE3_PARAMETERS
        assert found.n_bytes == 2 * EAGLE3_PARAMETERS
        assert round(found.n_bytes / 10**6) == 849
        whole = stored_head(EAGLE3, "eagle3").weights.n_parameters
        assert whole - EAGLE3_PARAMETERS == (128256 - 32000) * D

    def test_eagle3_of_a_model_of_another_width(self) -> None:
        narrow, wide = (stored_head(EAGLE3 | more, "eagle3") for more in ({}, {"target_hidden_size": 5120}))
        assert wide.weights.n_parameters - narrow.weights.n_parameters == 3 * D * 1024

    def test_eagle(self) -> None:
        found = stored_head({**EAGLE3, "architectures": ["EagleLlamaForCausalLM"]}, "eagle")
        assert found.weights.n_parameters == LAYER - D + 2 * D * D

    def test_dflash(self) -> None:
        head = {
            "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "num_hidden_layers": 5, "hidden_size": D,
            "intermediate_size": F, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
            "vocab_size": 151936, "torch_dtype": "bfloat16", "max_position_embeddings": 40960,
        }  # fmt: skip
        found = stored_head(head | {"dflash_config": {"target_layer_ids": [1, 9, 17, 25, 33]}}, "dflash")
        assert found.weights.n_parameters == 5 * (LAYER + 2 * 128) + 5 * D * D + 2 * D
        with pytest.raises(ConfigError, match="target_layer_ids"):
            stored_head(head, "dflash")
        with pytest.raises(ConfigError, match="use_swa"):
            stored_head(head | {"dflash_config": {"use_swa": True}}, "dflash")

    @pytest.mark.parametrize(
        ("config", "method"),
        [
            (EAGLE3, "eagle3"),
            ({"architectures": ["EagleLlamaForCausalLM"]}, "eagle"),
            ({"architectures": ["Eagle3Qwen2_5vlForCausalLM"]}, "eagle3"),
            ({"speculators_model_type": "eagle3"}, "eagle3"),
            ({"architectures": ["DFlashDraftModel"]}, "dflash"),
            ({"architectures": ["Qwen3ForCausalLM"], "dflash_config": {}}, "dflash"),
            ({"architectures": ["DeepSeekMTPModel"]}, "mtp"),
            ({"architectures": ["LlamaForCausalLM"]}, None),
            ({"architectures": "odd", "model_type": 5}, None),
        ],
    )
    def test_a_config_says_how_it_drafts(self, config: dict[str, object], method: str | None) -> None:
        assert method_of(config) == method

    @pytest.mark.parametrize("method", ["medusa", "mtp", "dspark"])
    def test_others_are_known_from_their_files(self, method: str) -> None:
        with pytest.raises(ConfigError, match=f"a {method} head") as refusal:
            stored_head(EAGLE3, method)
        assert refusal.value.field == "draft"


def settings(draft: Subject, **more: object) -> Settings:
    return Settings(tokens=(8192,), draft=draft, **more)  # type: ignore[arg-type]


def test_a_head_is_one_layer_more() -> None:
    model, head = from_name("llama-3.1-8b", "vllm"), from_config(EAGLE3, "vllm", "eagle")
    asked = settings(head, engine="vllm")
    assert asked.budget(model).bytes_total == 33 * 4096 * 8192
    assert replace(asked, draft=None).budget(model).bytes_total == 32 * 4096 * 8192
    assert capacity(asked.request(model), 33 * 65536 * 100).n_blocks == 100


def test_narrow_layers_beside_wide_ones_share_one_group() -> None:
    """80 layers of 8 heads × 128 and 24 of 2 × 64: a block is a page of each; 8,192 tokens are 512 of them."""
    model, small = from_name("llama-3.1-70b", "vllm"), from_name("qwen2.5-0.5b", "vllm")
    asked = settings(small, engine="vllm").request(model)
    block = 16 * (80 * 4096 + 24 * 2 * 64 * 2 * 2)
    own = capacity(asked, 1000 * block + 5)
    assert (own.n_blocks, own.blocks_per_request, own.n_groups) == (1000, 512, 0)


def test_drafts_stand_on_the_last_stage() -> None:
    model, small = from_name("llama-3.1-8b"), from_name("llama-3.2-3b")
    whole, halves = (settings(small, pp=pp).budget(model) for pp in (1, 2))
    assert whole.bytes_total == halves.bytes_total == (32 + 28) * 4096 * 8192
    assert halves.per_rank.bytes == (16 + 28) * 4096 * 8192


def test_a_padded_group_as_it_was_logged() -> None:
    """vllm-project/vllm#29303: gpt-oss-120b and a head of its own geometry: 19 full layers, 18 sliding and 1 idle."""
    head = from_config({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 2880, "num_attention_heads": 64,
                        "num_key_value_heads": 8, "head_dim": 64, "torch_dtype": "bfloat16"}, "vllm")  # fmt: skip
    notes = settings(head, engine="vllm").budget(from_name("gpt-oss-120b", "vllm")).notes
    assert any("groups layers by 19" in note for note in notes)


class TestCommand:
    def test_both_models_weigh(self) -> None:
        words = ("--model", "llama-3.1-70b", "--gpu", "h100", "--num", "4", "--ctx", "8k")
        alone, both = (budget(*words, *more)["device"]["weight_bytes"] for more in ([], ["--draft", "llama-3.2-3b"]))
        small = budget("--model", "llama-3.2-3b", *words[2:])["device"]["weight_bytes"]
        assert both == alone + small

    def test_a_head_is_weighed_by_its_config(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(EAGLE3 | {"draft_vocab_size": 32000}))
        words = ("--model", "llama-3.1-8b", "--engine", "vllm", "--ctx", "8k")
        assert budget(*words, "--draft", str(path))["bytes_total"] == 33 * 4096 * 8192
        alone, both = (budget(*words, "--gpu", "h100", *more) for more in ([], ["--draft", str(path)]))
        more = both["device"]["weight_bytes"] - alone["device"]["weight_bytes"]
        assert more == pytest.approx(2 * EAGLE3_PARAMETERS, rel=0.01)  # vLLM books whole blocks

    def test_a_head_that_is_known_from_its_files_alone_is_refused_by_name(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(EAGLE3 | {"architectures": ["MedusaModel"]}))
        said = budget("--model", "llama-3.1-8b", "--draft", str(path), "--ctx", "8k", "--gpu", "h100", code=1)
        assert said["error"]["field"] == "draft"
        assert "a medusa head" in said["error"]["message"]

    @pytest.mark.parametrize("name", ["nobody", "llama-3.1-9b"])
    def test_an_unknown_name_is_refused(self, name: str) -> None:
        ran = glass("kv-budget", "--model", "llama-3.1-8b", "--draft", name)
        assert (ran.code, "no model is called" in ran.err) == (2, True)
