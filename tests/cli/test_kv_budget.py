"""`glass kv-budget`: the three ways in, as a script sees their answers."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.in_process import LLAMA, budget, glass

MIB, GIB = 2**20, 2**30


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config.json with the facts of Llama 3.1 8B."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA))
    return file


class TestHeadCounts:
    def test_gqa_from_the_formula(self) -> None:
        said = budget("--hq", "32", "--hkv", "8", "--ctx", "8k")
        assert said["schema"] == "glass.kv-budget/1"
        assert (said["engine"], said["tokens"], said["batch"]) == ("logical", 8192, 1)
        assert (said["k_dtype"], said["v_dtype"]) == ("f16", "f16")
        assert said["bytes_per_token"] == 2 * 32 * 8 * 128 * 2
        assert said["bytes_total"] == 2 * 32 * 8 * 128 * 2 * 8192
        assert said["bytes_per_sequence_constant"] == 0
        assert said["per_rank"] == {"tp": 1, "pp": 1, "dp": 1, "bytes": GIB}
        (layer,) = said["layers"]
        assert {layer[name] for name in ("kind", "count", "window")} == {"full", 32, None}
        assert (layer["bytes_per_token"], layer["bytes_constant"], layer["bytes"]) == (131072, 0, GIB)

    def test_variants_side_by_side(self) -> None:
        variants = budget("--hq", "32", "--hkv", "8", "--ctx", "8k")["variants"]
        assert [(v["kind"], v["hkv"], v["times_smaller_than_mha"]) for v in variants] == [
            ("MHA", 32, 1),
            ("GQA", 8, 4),
            ("MQA", 1, 32),
        ]
        assert [v["bytes_total"] for v in variants] == [4 * GIB, GIB, 128 * MIB]

    @pytest.mark.parametrize(("hkv", "kind"), [("32", "MHA"), ("1", "MQA"), ("4", "GQA")])
    def test_the_one_asked_for_leads(self, hkv: str, kind: str) -> None:
        said = budget("--hq", "32", "--hkv", hkv, "--ctx", "1")
        assert said["bytes_total"] == 2 * 32 * int(hkv) * 128 * 2
        assert [v["kind"] for v in said["variants"]] == ["MHA", "GQA", "MQA"]
        assert said["model"] == kind

    def test_hq_alone_is_mha_and_says_so(self) -> None:
        ran = glass("kv-budget", "--hq", "12")
        assert "--hkv 12" in ran.out
        assert "MHA: every query head" in ran.out

    @pytest.mark.parametrize(
        ("hq", "hkv", "says"),
        [
            (32, 8, "2, 4 or 8 split the 8 KV heads; 16 copy them: 32 GiB in all"),
            (32, 32, "2, 4, 8, 16 or 32 split the 32 KV heads\n"),
            (36, 12, "2 or 4 split the 12 KV heads\n"),
            (32, 1, "every rank keeps the one KV head: 8 ranks hold 16 GiB in all"),
            (71, 1, "every rank keeps the one KV head\n"),
        ],
    )
    def test_how_heads_split_over_ranks(self, hq: int, hkv: int, says: str) -> None:
        assert says in glass("kv-budget", "--hq", str(hq), "--hkv", str(hkv), "-v").out
        assert "split" not in glass("kv-budget", "--hq", str(hq), "--hkv", str(hkv)).out

    def test_the_formula_is_true_on_ranks_that_copy(self) -> None:
        out = glass("kv-budget", "--hq", "32", "--hkv", "8", "--tp", "16", "--ctx", "8k").out
        assert "2 × 32 layers × 8 KV heads × 128 dims × 2 B (f16) = 131,072 B = 128 KiB" in out
        assert "one copy would be 1 GiB, all ranks keep 2 GiB" in out.replace("\n" + " " * 15, " ")

    def test_one_head(self) -> None:
        assert [v["kind"] for v in budget("--hq", "1", "--hkv", "1", "--ctx", "1")["variants"]] == ["MHA"]

    def test_what_is_assumed_can_be_pasted(self) -> None:
        first = glass("kv-budget", "--hq", "32", "--hkv", "8")
        line = next(line for line in first.out.splitlines() if line.startswith("assumed: "))
        flags = line.removeprefix("assumed: ").split()
        pasted = glass("kv-budget", "--hq", "32", "--hkv", "8", *flags)
        assert pasted.out == first.out.replace(line + "\n", "")

    def test_what_is_assumed_of_a_model_can_be_pasted(self) -> None:
        first = glass("kv-budget", "--model", "gemma-3-27b")
        line = next(line for line in first.out.splitlines() if line.startswith("assumed: "))
        pasted = glass("kv-budget", "--model", "gemma-3-27b", *line.removeprefix("assumed: ").split())
        assert pasted.out == first.out.replace(line + "\n", "")

    def test_everything_can_be_said(self) -> None:
        said = budget(
            *("--hq", "48", "--hkv", "4", "--head-dim", "96", "--layers", "7", "--batch", "3", "--ctx", "1_000,2k"),
            *("--k-dtype", "q8_0", "--v-dtype", "q4_0"),
        )
        per_token = 7 * 4 * (96 * 34 // 32 + 96 * 18 // 32)
        assert said["bytes_per_token"] == per_token
        assert said["tokens"] == 2048
        assert [(c["tokens"], c["bytes_total"]) for c in said["contexts"]] == [
            (1000, 3 * 1000 * per_token),
            (2048, 3 * 2048 * per_token),
        ]

    def test_exact_at_any_size(self) -> None:
        heads = 10**12
        said = budget("--hq", str(heads), "--hkv", str(heads), "--head-dim", "1_000_003", "--ctx", "1000000007")
        assert said["bytes_total"] == 2 * 32 * heads * 1_000_003 * 2 * 1_000_000_007
        text = glass("kv-budget", "--hq", str(heads), "--hkv", "1", "--ctx", "1000000007")
        assert text.code == 0

    def test_numbers_with_commas_as_screens_print_them(self) -> None:
        said = budget(
            *("--hq", "1,024", "--hkv", "1,024", "--layers", "1,000", "--batch", "1,000", "--ctx", "131,072"),
            *("--engine", "vllm", "-s", "max_num_batched_tokens=16,384", "--prefix-shared", "1,024"),
        )
        assert (said["hq"], said["n_layers"], said["batch"], said["tokens"]) == (1024, 1000, 1000, 131072)
        assert said["prefix_shared"] == 1024

    @pytest.mark.parametrize("ctx", ["8k", "8K", "8192", "8_192", "8192,8192"])
    def test_ways_to_write_a_context(self, ctx: str) -> None:
        assert budget("--hq", "32", "--hkv", "8", "--ctx", ctx)["tokens"] == 8192

    def test_several_contexts_in_one_option_or_in_two(self) -> None:
        one = budget("--hq", "32", "--hkv", "8", "--ctx", "1k,128K")
        two = budget("--hq", "32", "--hkv", "8", "--ctx", "1k", "--tokens", "128K")
        assert one == two
        assert [c["tokens"] for c in one["contexts"]] == [1024, 131072]


class TestConfig:
    def test_file_folder_and_standard_input_agree(self, config: Path) -> None:
        args = ("--ctx", "4k", "--batch", "2")
        file = budget("--config", str(config), *args)
        folder = budget("--config", str(config.parent), *args)
        piped = budget("--config", "-", *args, stdin=config.read_bytes())
        assert file["bytes_total"] == 2 * 4096 * 2 * 32 * 8 * 128 * 2
        assert file == folder
        assert (file["source"], piped["source"]) == (str(config), None)
        apart = ("model", "source")
        assert {k: v for k, v in piped.items() if k not in apart} == {k: v for k, v in file.items() if k not in apart}

    def test_equals_the_same_head_counts(self, config: Path) -> None:
        by_config = budget("--config", str(config), "--ctx", "8k", "--batch", "3")
        by_heads = budget("--hq", "32", "--hkv", "8", "--ctx", "8k", "--batch", "3")
        for name in ("bytes_total", "bytes_per_token", "layers", "per_rank", "contexts"):
            assert by_config[name] == by_heads[name]

    def test_default_contexts_stay_within_the_model(self, config: Path) -> None:
        config.write_text(json.dumps({**LLAMA, "max_position_embeddings": 4096}))
        said = budget("--config", str(config))
        assert said["tokens"] == 4096
        assert [c["tokens"] for c in said["contexts"]] == [1024, 4096]

    def test_windows_states_and_totals_have_a_line_each(self) -> None:
        said = budget("--model", "gemma-3-27b", "--ctx", "8k")
        sliding, full = said["layers"]
        assert (sliding["kind"], sliding["count"], sliding["window"]) == ("sliding", 52, 1024)
        assert (sliding["bytes_per_token"], sliding["bytes_constant"]) == (0, 52 * 1024 * 16 * 256 * 2)
        assert (full["kind"], full["count"], full["bytes_per_token"]) == ("full", 10, 10 * 16 * 256 * 2)
        assert said["bytes_total"] == sliding["bytes"] + full["bytes"]
        screen = glass("kv-budget", "--model", "gemma-3-27b", "--ctx", "8k").out
        assert "sliding 1,024" in screen
        assert "16 KV heads × 128" in screen

    def test_before_the_window_is_full_it_grows(self) -> None:
        said = budget("--model", "gemma-3-27b", "--ctx", "512")
        assert said["bytes_per_token"] == 62 * 16 * 256 * 2
        assert said["bytes_per_sequence_constant"] == 0

    def test_encoder_tokens(self, tmp_path: Path) -> None:
        file = tmp_path / "config.json"
        whisper = {"model_type": "whisper", "decoder_layers": 4, "d_model": 384, "decoder_attention_heads": 6}
        file.write_text(json.dumps({**whisper, "max_source_positions": 1500, "torch_dtype": "float16"}))
        usual = budget("--config", str(file), "--ctx", "448")
        asked = budget("--config", str(file), "--ctx", "448", "--encoder-tokens", "100")
        row = 4 * 2 * 384 * 2
        assert usual["bytes_total"] == row * (448 + 1500)
        assert asked["bytes_total"] == row * (448 + 100)
        assert asked["encoder_tokens"] == 100

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"num_hidden_layers": None}, "num_hidden_layers"),
            ({"num_hidden_layers": "many"}, "num_hidden_layers"),
            ({"num_attention_heads": -3}, "num_attention_heads"),
            ({"layer_types": ["full_attention"]}, "layer_types"),
            ({"layer_types": ["quantum"] * 32}, "layer_types"),
        ],
    )
    def test_a_refusal_is_a_document(self, config: Path, change: dict[str, Any], field: str) -> None:
        config.write_text(json.dumps({**LLAMA, **change}))
        said = budget("--config", str(config), code=1)
        assert set(said) == {"schema", "error"}
        assert said["error"]["field"] == field
        assert str(config) in said["error"]["message"]
        plain = glass("kv-budget", "--config", str(config))
        assert (plain.code, plain.out) == (1, "")
        assert plain.err == f"glass: {said['error']['message']}\n"

    def test_an_engine_that_cannot_is_a_refusal_too(self, config: Path) -> None:
        said = budget("--config", str(config), "--engine", "vllm", "--k-dtype", "q8_0", code=1)
        assert said["error"]["field"] == "k_dtype"


class TestModels:
    def test_a_name(self) -> None:
        said = budget("--model", "llama-3.1-8b", "--ctx", "128k")
        assert (said["model"], said["bytes_total"]) == ("llama-3.1-8b", 16 * GIB)
        assert "2407.21783" in said["source"]

    def test_the_list(self) -> None:
        said = budget("--list")
        names = [model["name"] for model in said["models"]]
        assert "gpt-3-175b" in names
        assert said["as_of"] == "2026-11"
        assert all(model["source"] and model["kind"] and model["bytes_at_8192"] for model in said["models"])
        screen = glass("kv-budget", "--list").out
        assert all(name in screen for name in names)
        table = list(csv.DictReader(io.StringIO(glass("kv-budget", "--list", "--csv").out)))
        assert [row["name"] for row in table] == names

    def test_compare(self, config: Path) -> None:
        said = budget("--compare", f"gpt-3-175b,deepseek-v3,{config.parent}", "--ctx", "2k")
        assert [model["bytes_total"] for model in said["models"]] == [
            96 * 2048 * 96 * 256 * 2,
            61 * 2048 * 576 * 2,
            256 * MIB,
        ]
        screen = glass("kv-budget", "--compare", "gpt-3-175b,gpt-2", "--ctx", "2k").out
        assert "gpt-3-175b" in screen
        assert "* longer than the model was made for" in screen  # gpt-2 has 1,024 positions
