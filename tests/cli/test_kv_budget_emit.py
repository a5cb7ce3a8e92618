"""`glass kv-budget --emit`: the plan as an engine's own command line, or a refusal."""

import json
from pathlib import Path

import pytest
from helpers.in_process import LLAMA, glass

MIB, GIB = 2**20, 2**30


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

    def test_a_prefix_that_is_to_be_shared_is_asked_for(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--batch", "4", "--ctx", "8k", "-q", "--emit", "vllm")
        assert "--enable-prefix-caching" in glass(*args, "--prefix-shared", "1k").out
        assert "prefix" not in glass(*args).out

    def test_a_checkpoint_that_fixes_its_cache_is_told_of_another(self, tmp_path: Path) -> None:
        """Left to itself (auto), vLLM takes the checkpoint's fp8."""
        path = tmp_path / "config.json"
        path.write_text(json.dumps(LLAMA | {"quantization_config": {"kv_cache_quant_algo": "FP8"}}))
        args = ("kv-budget", "--config", str(path), "--ctx", "1k", "-q", "--emit", "vllm")
        assert glass(*args).out.endswith("--kv-cache-dtype fp8\n")
        assert glass(*args, "--dtype", "bf16").out.endswith("--kv-cache-dtype bfloat16\n")

    def test_ranks_and_states_are_told(self) -> None:
        args = ("kv-budget", "--ctx", "8k", "-q", "--emit", "vllm", "--model")
        shared = glass(*args, "deepseek-v3", "--tp", "8", "--dcp", "8", "--ep").out
        assert "--tensor-parallel-size 8 --decode-context-parallel-size 8 --enable-expert-parallel" in shared
        states = glass(*args, "qwen3.6-27b", "--state-dtype", "f16", "-s", "mamba_cache_mode=align").out
        assert "--mamba-ssm-cache-dtype float16" in states

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
            (("--ep", "--emit", "llama.cpp"), "experts"),
            (("--state-dtype", "f16", "--emit", "llama.cpp"), "states in f32"),
            (("--state-dtype", "fp8", "--emit", "vllm"), "no states in fp8"),
            (("--draft", "llama-3.2-3b", "--emit", "vllm"), "drafting model"),
        ],
    )
    def test_what_cannot_be_told_is_refused(self, args: tuple[str, ...], says: str) -> None:
        ran = glass("kv-budget", "--model", "llama-3.1-8b", *args)
        assert (ran.code, ran.out) == (1, "")
        assert says in ran.err
