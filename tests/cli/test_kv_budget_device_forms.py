"""`glass kv-budget --gpu` with --compare, --sweep, --emit: the same answers as one model and one length at a time."""

import csv
import io
import json
import shlex
from pathlib import Path

import pytest
from helpers.in_process import budget, glass, text_of

LLAMA = ("--model", "llama-3.1-8b")


class TestCompare:
    NAMES = ("llama-3.1-8b", "qwen3-32b", "gemma-3-27b")
    WORDS = ("--gpu", "h100", "--ctx", "8k,32k", "--users", "2")

    def test_each_model_as_if_asked_alone(self) -> None:
        said = budget("--compare", ",".join(self.NAMES), *self.WORDS)
        assert said["models"] == [budget("--model", name, *self.WORDS) for name in self.NAMES]

    def test_a_row_for_each_model_and_context(self) -> None:
        ran = glass("kv-budget", "--compare", ",".join(self.NAMES), *self.WORDS, "--csv")
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert [(row["model"], row["tokens"]) for row in rows] == [
            (name, tokens) for name in self.NAMES for tokens in ("8192", "32768")
        ]
        alone = glass("kv-budget", "--model", self.NAMES[1], *self.WORDS, "--csv")
        assert rows[2:4] == list(csv.DictReader(io.StringIO(alone.out)))

    def test_what_the_screen_says_is_what_one_model_says(self) -> None:
        out = text_of(glass("kv-budget", "--compare", ",".join(self.NAMES), *self.WORDS, columns=200))
        alone = text_of(glass("kv-budget", *LLAMA, *self.WORDS, columns=200))
        (row,) = (line for line in out.splitlines() if line.startswith("llama-3.1-8b"))
        tokens = alone.split("GPU KV cache size: ")[1].split(" tokens")[0]
        times = alone.split("per request: ")[1].split("\n")[0]
        assert "14.99 GiB" in row
        assert f" {tokens} " in row
        assert f" {times} " in row

    def test_the_context_is_one_that_all_were_made_for(self) -> None:
        out = glass("kv-budget", "--compare", "llama-3.1-8b,mistral-7b-v0.1", "--gpu", "h100").out
        assert "--ctx 32768" in out

    def test_the_worst_of_them_decides(self) -> None:
        words = (
            "kv-budget",
            "--compare",
            "llama-3.1-8b,llama-3.1-70b",
            "--gpu",
            "h100",
            "--ctx",
            "8k",
            "--require-fit",
        )
        ran = glass(*words)
        assert (ran.code, ran.err.count("does not fit")) == (1, 1)
        assert "llama-3.1-70b does not fit" in ran.err

    def test_devices_for_each(self) -> None:
        words = ("--users", "40", "--ctx", "32k")
        said = budget("--compare", "llama-3.1-8b,qwen3-32b", *words)
        assert said["models"] == [budget("--model", name, *words) for name in ("llama-3.1-8b", "qwen3-32b")]
        out = text_of(glass("kv-budget", "--compare", "llama-3.1-8b,deepseek-v3", "--users", "9000", "--ctx", "32k"))
        assert "none of those listed" in out

    def test_a_refusal_names_its_model(self) -> None:
        ran = glass("kv-budget", "--compare", "llama-3.1-8b,qwen2.5-7b", "--gpu", "8xh100", "--ctx", "8k")
        assert ran.code == 2
        assert ran.err.startswith("glass: qwen2.5-7b: tp 8 does not split 28 query heads evenly")


class TestSweep:
    WORDS = (*LLAMA, "--gpu", "h100", "--sweep")

    def test_every_point_is_what_one_length_says(self) -> None:
        (model,) = budget(*self.WORDS)["sweep"]
        assert model["device"]["name"] == "h100"
        assert (model["at"][0]["tokens"], model["at"][-1]["tokens"]) == (128, 131072)
        for point in model["at"][:: len(model["at"]) // 3]:
            assert point == budget(*LLAMA, "--gpu", "h100", "--ctx", str(point["tokens"]))["at"][0]

    def test_a_row_for_each_length_of_each_model(self) -> None:
        ran = glass("kv-budget", "--compare", "llama-3.1-8b,qwen3-8b", "--gpu", "h100", "--sweep", "--csv")
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert {row["model"] for row in rows} == {"llama-3.1-8b", "qwen3-8b"}
        assert len(rows) == 66

    def test_the_screen_has_a_plot_and_a_table(self) -> None:
        out = text_of(glass("kv-budget", *self.WORDS, "--users", "8"))
        assert "- asked for 8 side by side" in out
        said = budget(*LLAMA, "--gpu", "h100", "--ctx", "32k")["at"][0]
        counts = f"{said['least']['max_batch']} to {said['most']['max_batch']}"
        assert any(line.split("   ")[0].strip() == "32,768" and counts in line for line in out.splitlines())

    def test_a_picture(self, tmp_path: Path) -> None:
        path = tmp_path / "room.svg"
        assert glass("kv-budget", *self.WORDS, "--ctx", "1k,256k", "-o", str(path)).code == 0
        text = path.read_text()
        assert "sequences that surely fit" in text
        assert 'class="line beyond"' in text
        assert "past the 131,072 it was made for" in text

    @pytest.mark.parametrize("columns", [40, 80, 100, 200])
    def test_no_line_is_wider_than_the_terminal(self, columns: int) -> None:
        for words in (self.WORDS, ("--compare", "llama-3.1-8b,deepseek-v3", *self.WORDS[2:])):
            lines = text_of(glass("kv-budget", *words, columns=columns)).splitlines()
            assert all(len(line) <= columns for line in lines)


def told(*words: str) -> dict[str, str]:
    """The flags of a command that was written, each with its value."""
    ran = glass("kv-budget", *words)
    assert ran.code == 0, ran.err
    parts = shlex.split(ran.out)
    return {flag: value for flag, value in zip(parts, [*parts[1:], ""], strict=True) if flag.startswith("-")}


class TestEmit:
    def test_what_surely_fits_is_told(self) -> None:
        said = budget("--model", "llama-3.1-70b", "--gpu", "2xh100")["at"][0]["least"]
        flags = told("--model", "llama-3.1-70b", "--gpu", "2xh100", "--emit", "vllm")
        assert flags["--max-model-len"] == str(said["max_tokens"])
        assert (flags["--max-num-seqs"], flags["--tensor-parallel-size"]) == ("1", "2")
        assert flags["--gpu-memory-utilization"] == "0.92"
        again = budget("--model", "llama-3.1-70b", "--gpu", "2xh100", "--ctx", flags["--max-model-len"])
        assert again["fits"] is True
        one_page_more = str(int(flags["--max-model-len"]) + 16)
        assert budget("--model", "llama-3.1-70b", "--gpu", "2xh100", "--ctx", one_page_more)["fits"] is None

    def test_as_many_as_surely_fit_of_the_length_asked_for(self) -> None:
        least = budget(*LLAMA, "--gpu", "h100", "--ctx", "32k", "--dtype", "fp8")["at"][0]["least"]
        flags = told(*LLAMA, "--gpu", "h100", "--ctx", "32k", "--dtype", "fp8", "--emit", "vllm")
        assert flags["--max-num-seqs"] == str(least["max_batch"])
        assert (flags["--kv-cache-dtype"], flags["--max-model-len"]) == ("fp8", "32768")
        few = told(*LLAMA, "--gpu", "h100", "--ctx", "1k", "--emit", "vllm")
        assert few["--max-num-seqs"] == "256"

    def test_users_and_shares_are_told_as_asked(self) -> None:
        words = (*LLAMA, "--gpu", "h100", "--ctx", "8k", "--users", "5", "--utilization", "80%", "--emit", "vllm")
        flags = told(*words)
        assert (flags["--max-num-seqs"], flags["--gpu-memory-utilization"]) == ("5", "0.8")
        assert "assumed" not in glass("kv-budget", *words).err

    def test_what_an_engine_says_is_left_is_given_to_the_cache(self) -> None:
        flags = told(*LLAMA, "--available", "5GiB", "--ctx", "8k", "--users", "2", "--emit", "vllm")
        assert flags["--kv-cache-memory-bytes"] == str(2 * 8192 * 131072 + 16 * 131072)
        assert "--gpu-memory-utilization" not in flags

    def test_llama_cpp_by_layers(self) -> None:
        flags = told(*LLAMA, "--gpu", "2x3090", "--ctx", "8k", "--users", "3", "--emit", "llama.cpp")
        assert (flags["-c"], flags["-np"], flags["-ts"]) == (str(3 * 8192), "3", "1,1")

    def test_how_sure_it_is_is_said(self) -> None:
        words = (*LLAMA, "--gpu", "4090", "--ctx", "16k", "--emit", "vllm")
        ran = glass("kv-budget", *words)
        assert (ran.code, "may fit: " in ran.err) == (0, True)
        strict = glass("kv-budget", *words, "--require-fit")
        assert (strict.code, "may not fit" in strict.err) == (1, True)
        assert strict.out == ran.out

    def test_nothing_is_assumed_where_the_overhead_is_not_known(self) -> None:
        words = (*LLAMA, "--gpu", "h100", "--emit", "sglang")
        assert glass("kv-budget", *words).code == 2
        said = glass("kv-budget", *words, "--ctx", "8k", "--users", "4")
        assert "fits if SGLang takes no more than" in said.err
        assert told(*words, "--overhead", "4GiB", "--ctx", "8k")["--max-running-requests"] == "60"

    def test_json_is_refused_beside_it(self) -> None:
        assert glass("kv-budget", *LLAMA, "--gpu", "h100", "--emit", "vllm", "--json").code == 2


def test_a_sweep_past_what_a_model_was_made_for_says_where(tmp_path: Path) -> None:
    words = ("kv-budget", "--compare", "llama-3.1-8b,llama-2-7b", "--sweep")
    out = text_of(glass(*words))
    assert "> longer than it was made for: llama-2-7b past 4,096" in out
    assert "longer than it was made for" not in text_of(glass("kv-budget", *LLAMA, "--sweep"))
    path = tmp_path / "sizes.svg"
    glass(*words, "-o", str(path))
    text = path.read_text()
    assert text.count('class="line beyond"') == 1
    assert "pale: past the 4,096 it was made for" in text
    json.loads(glass(*words, "--json").out)
