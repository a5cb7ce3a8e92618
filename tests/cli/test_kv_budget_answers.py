"""`glass kv-budget`: what can be asked of a plan: CSV, a budget, ranks, pages, a sweep."""

import csv
import io
import json
from itertools import pairwise

from helpers.in_process import budget, glass

MIB, GIB = 2**20, 2**30


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
