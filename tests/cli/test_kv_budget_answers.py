"""`glass kv-budget`: what can be asked of a plan: CSV, a budget, ranks, pages, a sweep."""

import csv
import io
import json
from itertools import pairwise

from helpers.in_process import budget, glass

MIB, GIB = 2**20, 2**30


class TestAnswers:
    def test_csv_has_a_row_a_context_or_a_row_a_kind_of_layer_and_never_both(self) -> None:
        args = ("kv-budget", "--model", "gpt-oss-20b", "--ctx", "64,4k", "--csv")
        totals = list(csv.DictReader(io.StringIO(glass(*args).out)))
        kinds = list(csv.DictReader(io.StringIO(glass(*args, "-v").out)))
        assert [row["tokens"] for row in totals] == ["64", "4096"]
        assert [(row["tokens"], row["part"]) for row in kinds] == [
            (tokens, part) for tokens in ("64", "4096") for part in ("sliding", "full")
        ]
        for total in totals:
            parts = [row for row in kinds if row["tokens"] == total["tokens"]]
            for name in ("bytes", "layers", "bytes_per_token", "bytes_per_sequence_constant"):
                assert int(total[name]) == sum(int(row[name]) for row in parts)
        assert totals[-1]["bytes_per_rank"] == totals[-1]["bytes"] == f"{12 * (4096 + 128) * 8 * 128 * 2}"
        heads = list(csv.DictReader(io.StringIO(glass("kv-budget", "--hq", "32", "--hkv", "8", "--csv").out)))
        assert [row["model"] for row in heads] == [kind for kind in ("MHA", "GQA", "MQA") for _ in range(4)]

    def test_csv_says_what_fits_once(self) -> None:
        args = ("--model", "llama-3.1-8b", "--ctx", "8k,128k", "--budget", "4GiB")
        first, last = csv.DictReader(io.StringIO(glass("kv-budget", *args, "--csv").out))
        assert (first["fits"], first["max_tokens"]) == ("", "")
        assert (last["fits"], last["max_tokens"], last["max_batch"]) == ("false", "32768", "0")
        assert last["budget_bytes"] == f"{4 * GIB}"

    def test_quiet_keeps_the_verdict(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "128k", "--budget", "15GiB", "-q")
        said = glass(*args).out.replace("\n" + " " * 15, " ")
        assert "of 15 GiB, 16 GiB needed: does not fit; room for 122,880 tokens in a sequence" in said
        heads = glass("kv-budget", "--hq", "32", "--hkv", "8", "--ctx", "8k", "--budget", "15GiB", "-q").out
        assert "of 15 GiB, 1 GiB needed: fits, weights not counted;" in heads
        ranks = glass("kv-budget", "--model", "llama-3.1-8b", "--ctx", "8k", "--tp", "2", "-q").out
        assert "512 MiB on the fullest" in ranks

    def test_what_is_not_asked_for_is_said_on_demand(self) -> None:
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "8k", "--engine", "vllm")
        plain, all_of_it = glass(*args).out, glass(*args, "-v").out
        for text in ("decode step", "other types", "pages of 16 tokens"):
            assert text not in plain
            assert text in all_of_it
        assert "decode step" in glass(*args, "--bandwidth", "1TB/s").out
        assert "by the rules of vLLM 0.29" in plain
        assert "-q and -v don't go together" in glass(*args, "-q", "-v").err

    def test_what_must_be_known_is_said_unasked(self) -> None:
        out = glass("kv-budget", "--model", "llama-3.1-8b", "--ctx", "1m").out
        assert "1,048,576 tokens are more than the 131,072 the model was made for" in out
        room = glass("kv-budget", "--model", "llama-3.1-8b", "--ctx", "8k", "--budget", "80GiB").out
        assert "room for 655,360 tokens in a sequence (it was made for 131,072)" in room.replace("\n" + " " * 15, " ")
        said = budget("--model", "qwen3.6-27b", "--ctx", "8k", "--engine", "llama.cpp")
        assert said["warnings"] == ["llama-server opens 4 slots unless told (-np 1): then 1.1 GiB"]
        assert (said["engine_version"], said["made_for_tokens"]) == ("2026-11", 262144)

    def test_padding_that_decides_is_on_the_screen(self) -> None:
        args = ("--model", "gemma-3-27b", "--engine", "vllm", "-s", "version=0.25", "--ctx", "131072")
        out = glass("kv-budget", *args, "--budget", "14GiB").out
        assert "of 14 GiB, 14.2 GiB needed, 577 MiB of them idle: does not fit" in out
        assert glass("kv-budget", *args, "--budget", "14GiB", "--require-fit").code == 1
        assert glass("kv-budget", *args, "--budget", "14.3GiB", "--require-fit").code == 0

    def test_the_screen_follows_what_vllm_printed(self) -> None:
        """Gemma-4-31B in 0.26: 70.79 GiB needed, 58,368 fit; in 0.25.1 45.79 needed. GLM-5.2: 54,728 B a token."""
        args = ("--model", "gemma-4-31b", "--engine", "vllm", "--ctx", "262144", "--budget", "49GiB")
        args = (*args, "-s", "max_num_batched_tokens=32768")
        new = glass("kv-budget", *args, "-s", "version=0.26").out.replace("\n" + " " * 15, " ")
        assert "of 49 GiB, 70.8 GiB needed: does not fit; room for 58,368 tokens" in new
        old = glass("kv-budget", *args, "-s", "version=0.25.1").out
        assert "45.8 GiB needed: fits" in old
        assert "by the rules of vLLM 0.25.1" in " ".join(old.split())
        said = budget("-m", "glm-5.2", "--engine", "vllm", "--dtype", "fp8", "--ctx", "64k", "-s", "draft_layers=1")
        assert said["bytes_per_token"] == 54728

    def test_compare_says_who_shares_heads_and_by_how_many(self) -> None:
        """32 query heads on 32, 8 and 1 key/value heads; DeepSeek's 128 on one latent; Gemma's two kinds of layers."""
        names = ("llama-2-7b", "llama-3.1-8b", "gemma-2b", "deepseek-v3", "gemma-4-31b")
        for columns in (80, 140):
            out = glass("kv-budget", "--compare", ",".join(names), "--ctx", "8k", columns=columns).out
            rows = {line.split()[0]: line.split() for line in out.splitlines() if "×" in line}
            assert rows["llama-2-7b"][1:4] == ["MHA", "32:32", "1×"]
            assert rows["llama-3.1-8b"][1:4] == ["GQA", "32:8", "4×"]
            assert rows["gemma-2b"][1:4] == ["MQA", "8:1", "8×"]
            assert rows["deepseek-v3"][1:4] == ["MLA", "128:latent", "128×"]
            assert rows["gemma-4-31b"][4:6] == ["32:4/16", "8/2×"]

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

    def test_what_is_short_is_said_where_the_sizes_read_alike(self) -> None:
        """vLLM keeps a page for itself: 2 MiB of 16 GiB are missing, which no rounding shows."""
        args = ("kv-budget", "--model", "llama-3.1-8b", "--ctx", "128k", "--engine", "vllm", "--budget", "16GiB")
        ran = glass(*args, "--require-fit", columns=120)
        need, there = f"{16 * GIB + 16 * 131072:,} B", f"{16 * GIB:,} B"
        assert f"of {there}, {need} needed: does not fit" in ran.out
        assert ran.err == f"glass: llama-3.1-8b does not fit: {need} needed on a rank, {there} there\n"
        assert f"{need} needed of {there} on a rank: does not fit" in glass(*args, "--emit", "vllm").err

    def test_pages_that_groups_leave_idle_decide_in_the_note_as_on_the_screen(self) -> None:
        args = ("kv-budget", "--model", "gemma-3-27b", "--ctx", "131072", "--budget", "14GiB", "-s", "version=0.25")
        ran = glass(*args, "--engine", "vllm", "--require-fit")
        assert "14.2 GiB needed" in ran.out
        assert ran.err == "glass: gemma-3-27b does not fit: 14.2 GiB needed on a rank, 14.0 GiB there\n"

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
