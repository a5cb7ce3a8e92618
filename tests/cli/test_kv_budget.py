"""`glass kv-budget`: the three ways in and every form of answer, as a person or a script sees them."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from in_process import glass

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
MIB, GIB = 2**20, 2**30


def budget(*args: str, stdin: bytes = b"", code: int = 0) -> Any:
    """The JSON document that `glass kv-budget` prints, and nothing else."""
    ran = glass("kv-budget", *args, "--json", stdin=stdin)
    assert (ran.code, ran.err) == (code, "")
    return json.loads(ran.out, parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))


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
        assert says in glass("kv-budget", "--hq", str(hq), "--hkv", str(hkv)).out

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
        assert {k: v for k, v in piped.items() if k != "model"} == {k: v for k, v in file.items() if k != "model"}

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


class TestAnswers:
    def test_csv_holds_parts_and_totals(self) -> None:
        ran = glass("kv-budget", "--model", "gpt-oss-20b", "--ctx", "64,4k", "--csv")
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert [(row["tokens"], row["part"]) for row in rows] == [
            (tokens, part) for tokens in ("64", "4096") for part in ("sliding", "full", "total")
        ]
        for tokens in ("64", "4096"):
            parts = {row["part"]: int(row["bytes"]) for row in rows if row["tokens"] == tokens}
            assert parts["total"] == parts["sliding"] + parts["full"]
        assert rows[-1]["bytes_per_rank"] == rows[-1]["bytes"]
        assert int(rows[-1]["bytes"]) == 12 * (4096 + 128) * 8 * 128 * 2
        heads = list(csv.DictReader(io.StringIO(glass("kv-budget", "--hq", "32", "--hkv", "8", "--csv").out)))
        assert {row["model"] for row in heads} == {"MHA", "GQA", "MQA"}

    def test_budget_is_exact(self) -> None:
        said = budget("--model", "llama-3.1-8b", "--budget", "24GiB", "--ctx", "8k", "--batch", "2")
        assert said["budget_bytes"] == 24 * GIB
        assert said["max_tokens"] == 24 * GIB // (2 * 131072)
        assert said["max_batch"] == 24
        assert said["tokens_in_all"] == 2 * said["max_tokens"]
        assert said["fits"] is True
        most = budget("--model", "llama-3.1-8b", "--batch", "2", "--ctx", str(said["max_tokens"]))
        more = budget("--model", "llama-3.1-8b", "--batch", "2", "--ctx", str(said["max_tokens"] + 1))
        assert most["bytes_total"] <= 24 * GIB < more["bytes_total"]

    def test_require_fit(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "128k", "--require-fit", "--budget")
        assert glass(*args, "16GiB").code == 0
        tight = glass(*args, "15GiB")
        assert tight.code == 1
        assert tight.err == "glass: llama-3.1-8b does not fit: 16.0 GiB needed on a rank, 15.0 GiB there\n"
        assert "room for 122,880 tokens" in tight.out.replace("\n" + " " * 15, " ")
        assert json.loads(glass(*args, "15GiB", "--json").out)["fits"] is False
        assert glass(*args, "15GiB", "--json").code == 1

    def test_shared_prefix_counts_once(self) -> None:
        said = budget("--model", "llama-3.1-8b", "--ctx", "8k", "--batch", "4", "--prefix-shared", "2k")
        assert said["bytes_total"] == 131072 * (2048 + 4 * (8192 - 2048))

    def test_pages_round_up(self) -> None:
        assert budget("--hq", "32", "--hkv", "8", "--ctx", "17", "--page", "16")["bytes_total"] == 32 * 131072
        vllm = budget("--model", "llama-3.1-8b", "--ctx", "17", "--engine", "vllm")
        assert vllm["bytes_total"] == 32 * 131072
        assert vllm["logical_bytes"] == 17 * 131072
        assert any("more" in note for note in vllm["notes"])

    def test_ranks(self) -> None:
        said = budget("--model", "llama-3.1-8b", "--ctx", "8k", "--tp", "16")
        assert said["per_rank"] == {"tp": 16, "pp": 1, "dp": 1, "bytes": GIB // 8}
        assert said["bytes_total"] == 2 * GIB  # 8 KV heads, each on two ranks
        latent = budget("--model", "deepseek-v3", "--ctx", "8k", "--tp", "8")
        assert latent["per_rank"]["bytes"] == 8192 * 70272

    def test_settings_of_the_engine(self) -> None:
        args = ("--model", "gemma-3-27b", "--ctx", "32k", "--engine", "llama.cpp")
        windows = budget(*args)
        full = budget(*args, "--setting", "swa_full=true")
        assert full["bytes_total"] == 62 * 32768 * 16 * 256 * 2
        assert windows["bytes_total"] < full["bytes_total"]

    def test_decode_step(self) -> None:
        decode = budget("--hq", "32", "--hkv", "8", "--ctx", "8k", "--bandwidth", "1TB/s")["decode"]
        assert decode["bytes_read"] == GIB
        assert decode["flops"] == 32 * 8192 * 32 * 2 * 2 * 128
        assert decode["nanoseconds"] == GIB * 10**9 // 10**12

    def test_sweep_is_monotone_and_bends_at_the_window(self) -> None:
        said = budget("--model", "mistral-7b-v0.1", "--sweep")
        (curve,) = said["sweep"]
        assert curve["windows"] == [4096]
        assert all(a <= b for a, b in pairwise(curve["bytes"]))
        assert curve["bytes"][-1] == 4096 * 131072
        rows = list(csv.DictReader(io.StringIO(glass("kv-budget", "--hq", "8", "--hkv", "2", "--sweep", "--csv").out)))
        assert {row["model"] for row in rows} == {"MHA", "GQA", "MQA"}
        plot = glass("kv-budget", "--model", "mistral-7b-v0.1", "--sweep").out
        assert "windows are full at 4,096" in plot
        assert "512 MiB at 32,768" in plot


class TestEmit:
    def test_vllm(self) -> None:
        args = ("--model", "llama-3.1-70b", "--tp", "4", "--pp", "2", "--dp", "2", "--batch", "31", "--ctx", "32k")
        ran = glass("kv-budget", *args, "--dtype", "fp8", "--budget", "40GiB", "--emit", "vllm")
        assert ran.out == (
            "vllm serve MODEL --max-model-len 32768 --max-num-seqs 16 --kv-cache-dtype fp8 --tensor-parallel-size 4"
            " --pipeline-parallel-size 2 --data-parallel-size 2 --kv-cache-memory-bytes 42949672960\n"
        )
        assert ran.err.startswith("glass: ")

    def test_llama_cpp(self) -> None:
        args = ("--model", "gemma-3-27b", "--batch", "4", "--ctx", "16k", "--k-dtype", "q8_0", "--v-dtype", "q4_0")
        ran = glass("kv-budget", *args, "-s", "swa_full=true", "--pp", "2", "--emit", "llama.cpp", "-q")
        assert ran.out == (
            "llama-server -m MODEL.gguf -c 65536 -np 4 -ctk q8_0 -ctv q4_0 -fa on -sm layer -ts 1,1"
            " --kv-unified --swa-full\n"
        )
        assert ran.err == ""

    def test_settings_become_flags_or_are_refused(self) -> None:
        args = ("kv-budget", "--model", "qwen3.6-27b", "--ctx", "8k", "-q", "--emit")
        vllm = glass(*args, "vllm", "-s", "hybrid_manager=off", "-s", "mamba_cache_mode=align", "--page", "32")
        assert vllm.out.endswith(" --disable-hybrid-kv-cache-manager --mamba-cache-mode align --block-size 32\n")
        llama = glass(*args, "llama.cpp", "-s", "n_seq_max=4", "-s", "n_ubatch=1024", "-s", "kv_unified=no")
        assert llama.out == "llama-server -m MODEL.gguf -c 8192 -np 4 -ctk f16 -ctv f16 -ub 1024 --no-kv-unified\n"
        refused = glass(*args, "llama.cpp", "-s", "kv_pad=32")
        assert (refused.code, refused.err) == (1, "glass: llama.cpp's command line has no flag for kv_pad\n")

    def test_a_checkpoint_that_fixes_its_cache_is_told_of_another(self, tmp_path: Path) -> None:
        """Left to itself (auto), vLLM takes the checkpoint's fp8."""
        path = tmp_path / "config.json"
        path.write_text(json.dumps(LLAMA | {"quantization_config": {"kv_cache_quant_algo": "FP8"}}))
        args = ("kv-budget", "--config", str(path), "--ctx", "1k", "-q", "--emit", "vllm")
        assert glass(*args).out.endswith("--kv-cache-dtype fp8\n")
        assert glass(*args, "--dtype", "bf16").out.endswith("--kv-cache-dtype bfloat16\n")

    def test_paths_are_quoted(self, tmp_path: Path) -> None:
        folder = tmp_path / "my model; rm -rf"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(LLAMA))
        for path in (folder, folder / "config.json"):
            ran = glass("kv-budget", "--config", str(path), "--emit", "vllm", "-q", "--ctx", "1k")
            assert f"vllm serve '{folder}' " in ran.out

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            (("--k-dtype", "fp8", "--v-dtype", "bf16", "--emit", "vllm"), "one dtype"),
            (("--dtype", "q8_0", "--emit", "vllm"), "q8_0"),
            (("--dtype", "fp8", "--emit", "llama.cpp"), "fp8"),
            (("--dp", "2", "--batch", "2", "--emit", "llama.cpp"), "replicas"),
            (("--tp", "2", "--emit", "llama.cpp"), "by layers, not by heads"),
            (("--prefix-shared", "1k", "--batch", "2", "--emit", "llama.cpp"), "prefix"),
        ],
    )
    def test_what_cannot_be_told_is_refused(self, args: tuple[str, ...], says: str) -> None:
        ran = glass("kv-budget", "--model", "llama-3.1-8b", *args)
        assert (ran.code, ran.out) == (1, "")
        assert says in ran.err
