"""A model that drafts tokens for another keeps a cache of its own, and weighs what it weighs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.in_process import budget, glass

from glasscli.budget.fit import capacity
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import Subject, from_config, from_name

EAGLE3 = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "num_hidden_layers": 1, "hidden_size": 4096,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 2048, "torch_dtype": "float16",
}  # fmt: skip


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

    def test_a_head_without_files_cannot_be_weighed(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(EAGLE3))
        words = ("--model", "llama-3.1-8b", "--engine", "vllm", "--draft", str(path))
        assert budget(*words, "--ctx", "8k")["bytes_total"] == 33 * 4096 * 8192
        said = budget(*words, "--gpu", "h100", code=1)
        assert said["error"]["field"] == "draft"

    @pytest.mark.parametrize("name", ["nobody", "llama-3.1-9b"])
    def test_an_unknown_name_is_refused(self, name: str) -> None:
        ran = glass("kv-budget", "--model", "llama-3.1-8b", "--draft", name)
        assert (ran.code, "no model is called" in ran.err) == (2, True)
