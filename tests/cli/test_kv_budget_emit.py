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
        pool = 16 * 32768 * 20480 + 16 * 20480  # 20,480 B a token on a rank; one page more stays empty
        assert ran.out == (
            "vllm serve MODEL --max-model-len 32768 --max-num-seqs 16 --kv-cache-dtype fp8 --tensor-parallel-size 4"
            f" --pipeline-parallel-size 2 --data-parallel-size 2 --kv-cache-memory-bytes {pool}\n"
        )
        assert "10.0 GiB needed of 40.0 GiB on a rank: fits" in ran.err

    def test_a_card_is_not_given_to_the_cache_whole(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "128k", "--emit", "vllm", "-q", "--budget")
        ran = glass(*args, "80GB")
        assert ran.out.endswith(f"--kv-cache-memory-bytes {131072 * 131072 + 16 * 131072}\n")
        assert ran.err == "glass: 16.0 GiB needed of 74.5 GiB on a rank: fits\n"
        tight = glass(*args, "10GiB")
        assert tight.out.endswith(f"--kv-cache-memory-bytes {10 * GIB}\n")
        assert tight.err == "glass: 16.0 GiB needed of 10.0 GiB on a rank: does not fit\n"

    def test_a_context_that_the_model_was_not_made_for(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "1m", "--emit")
        for engine, does in (("vllm", "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"), ("llama.cpp", "no sequence become that")):
            said = glass(*args, engine).err
            assert "1,048,576 tokens are more than the 131,072 the model was made for" in said
            assert does in said
        assert "made for" not in glass("kv-budget", "--model", "llama-3.1-8b", "--ctx", "128k", "--emit", "vllm").err

    def test_speculation_is_told(self) -> None:
        args = ("kv-budget", "--model", "glm-5", "--ctx", "8k", "-q", "--emit", "vllm")
        both = glass(*args, "-s", "num_speculative_tokens=3", "-s", "draft_layers=1")
        assert both.out.endswith("""--speculative-config '{"method": "mtp", "num_speculative_tokens": 3}'\n""")
        assert glass(*args, "-s", "num_speculative_tokens=3").out == both.out
        assert glass(*args, "-s", "draft_layers=1").out.endswith("""--speculative-config '{"method": "mtp"}'\n""")
        assert "speculative" not in glass(*args, "-s", "pad_groups=true", "-s", "num_speculative_tokens=0").out

    @pytest.mark.parametrize("name", ["glm-5", "deepseek-v3", "qwen3.6-27b", "qwen3-next-80b-a3b"])
    def test_layers_of_its_own_draft_where_there_are_some(self, name: str) -> None:
        ran = glass("kv-budget", "--model", name, "--ctx", "8k", "--emit", "vllm", "-s", "num_speculative_tokens=3")
        assert (ran.code, '"method": "mtp"' in ran.out) == (0, True)

    @pytest.mark.parametrize("name", ["llama-3.1-8b", "kimi-k2", "gpt-oss-20b"])
    def test_a_model_without_such_layers_has_to_be_told_who_drafts(self, name: str) -> None:
        args = ("kv-budget", "--model", name, "--ctx", "8k", "--emit", "vllm", "-s", "num_speculative_tokens=3")
        ran = glass(*args)
        assert (ran.code, ran.out) == (2, "")
        assert "no layers of its own that draft" in ran.err
        drafted = glass(*args, "--draft", "llama-3.2-1b")
        assert """--speculative-config '{"model": "DRAFT", "method": "draft_model", """ in drafted.out
        assert drafted.out.endswith(""""num_speculative_tokens": 3}'\n""")

    def test_a_config_decides_whether_there_are_such_layers(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        args = ("kv-budget", "--config", str(path), "--emit", "vllm", "-s", "num_speculative_tokens=1", "-q")
        for count, code in ((1, 0), (0, 2)):
            path.write_text(json.dumps(LLAMA | {"num_nextn_predict_layers": count}))
            assert glass(*args).code == code

    def test_a_head_drafts_by_its_own_method(self, tmp_path: Path) -> None:
        head = LLAMA | {"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 100}
        path = tmp_path / "config.json"
        path.write_text(json.dumps(head))
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "8k", "--emit", "vllm", "--draft", str(path), "-q")
        ran = glass(*args, "-s", "num_speculative_tokens=2")
        assert f'"model": "{tmp_path}", "method": "eagle3", "num_speculative_tokens": 2' in ran.out
        missing = glass(*args)
        assert (missing.code, "num_speculative_tokens" in missing.err) == (2, True)

    def test_how_a_latent_is_expanded_is_said_to_the_environment(self) -> None:
        args = ("kv-budget", "--model", "deepseek-v3", "--ctx", "8k", "-q", "--emit", "vllm", "-s", "mla_expanded=true")
        assert glass(*args).out.startswith("env VLLM_MLA_DISABLE=1 vllm serve MODEL ")

    def test_slots_share_one_cache_unless_told_otherwise(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "8k", "-q", "--emit", "llama.cpp", "-s", "n_seq_max=4")
        assert glass(*args).out.endswith(" -np 4 -ctk f16 -ctv f16 --kv-unified\n")

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
        prompts = glass(*args, "deepseek-v3", "--tp", "4", "--pcp", "2").out
        assert "--tensor-parallel-size 4 --prefill-context-parallel-size 2" in prompts
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
            (("--draft", "llama-3.2-3b", "--emit", "llama.cpp"), "drafting model"),
        ],
    )
    def test_what_cannot_be_told_is_refused(self, args: tuple[str, ...], says: str) -> None:
        ran = glass("kv-budget", "--model", "llama-3.1-8b", *args)
        assert (ran.code, ran.out) == (2 if args[0] in ("--tp", "--dp") else 1, "")
        assert says in ran.err


@pytest.mark.parametrize(("engine", "said"), [("vllm", "--kv-cache-dtype fp8"), ("sglang", "--kv-cache-dtype fp8")])
def test_head_counts_have_no_model_in_fp8_that_an_engine_could_follow(engine: str, said: str) -> None:
    """`auto` would be what the model is computed in, twice as much."""
    assert said in glass("kv-budget", "--hq", "32", "--dtype", "fp8", "--emit", engine).out


def test_mlx_has_no_cache_in_the_dtype_of_head_counts_either() -> None:
    ran = glass("kv-budget", "--hq", "32", "--dtype", "q8_0", "--engine", "mlx")
    assert ran.code == 1
    assert "mlx-lm has no q8_0 cache" in ran.err
