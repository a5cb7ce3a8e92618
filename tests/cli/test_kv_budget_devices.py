"""`glass kv-budget --gpu`: what engines logged, through the command; its documents, refusals and exit codes."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.in_process import budget, glass, text_of

DATA = Path(__file__).parents[1] / "data" / "kv"
LOGS = [log for log in json.loads((DATA / "vllm_logs.json").read_text()) if isinstance(log["config"], str)]
GIB = 2**30
LLAMA = ("--model", "llama-3.1-8b")
RECURRENT_GEMMA = {
    "model_type": "recurrent_gemma", "num_hidden_layers": 26, "hidden_size": 2560, "intermediate_size": 15360,
    "num_attention_heads": 10, "num_key_value_heads": 1, "head_dim": 256, "lru_width": 2560, "conv1d_width": 4,
    "attention_window_size": 2048, "block_types": ["recurrent", "recurrent", "attention"], "vocab_size": 256000,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def path_of(name: str) -> str:
    (path,) = (path for folder in ("configs", "log_configs") for path in (DATA / folder).glob(f"{name}.json"))
    return str(path)


def asked(log: dict[str, Any]) -> list[str]:
    """The command that asks what a log answers, up to the bytes that were available."""
    words = ["--config", path_of(log["config"]), "--engine", "vllm", "--ctx", str(log["tokens"])]
    for name, flag in (("tp", "--tp"), ("dcp", "--dcp"), ("k_dtype", "--dtype"), ("state_dtype", "--state-dtype")):
        words += [flag, str(log[name])] if name in log else []
    for name, value in log.get("options", {}).items():
        words += ["-s", f"{name}={value}"]
    return words


@pytest.mark.parametrize("log", [log for log in LOGS if "available_gib" in log], ids=lambda log: log["id"])
def test_the_lines_that_vllm_logged(log: dict[str, Any]) -> None:
    """The bytes are printed to two digits: what is shown for the size as printed, and for its ends, holds the log."""
    out = text_of(glass("kv-budget", *asked(log), "--available", f"{log['available_gib']} GiB", columns=200))
    said = dict(line.split(": ", 1) for line in out.splitlines() if line.startswith(("GPU KV", "Maximum")))
    (ends,) = (line.split("stands for ")[1] for line in out.splitlines() if "stands for" in line)
    tokens = [int(word.replace(",", "")) for word in ends.split(" tokens")[0].split(" to ")]
    assert tokens[0] <= log["cache_tokens"] <= tokens[1]
    exact = {"5.98": "567,978", "6.00": "187,945"}.get(log["available_gib"])
    assert exact is None or said["GPU KV cache size"] == f"{exact} tokens"
    if "concurrency" in log:
        times = [float(word.rstrip("x")) for word in ends.split("tokens, ")[1].split(" to ")]
        assert times[0] <= float(log["concurrency"]) <= times[1]


class TestLlamaOnACardOf24GiB:
    """vllm-project/vllm#10517: 14.9888 GiB of model; 1,952 blocks at 20,000 tokens, 1,478 at 29,000."""

    def test_weights_and_rope_cache_to_the_digit(self) -> None:
        out = text_of(glass("kv-budget", *LLAMA, "--gpu", "3090", "--ctx", "20000"))
        assert "14.9888 GiB   what its log says that the model took" in out

    def test_it_served_one_and_a_half_requests(self) -> None:
        out = text_of(
            glass("kv-budget", *LLAMA, "--gpu", "3090", "--ctx", "20000", "--available", f"{1952 * 16 * 131072}")
        )
        assert "Maximum concurrency for 20,000 tokens per request: 1.56x" in out
        assert "\nfits: " in out

    def test_it_refused_to_start_with_longer_ones(self) -> None:
        words = ("--ctx", "29000", "--available", f"{1478 * 16 * 131072}", "-s", "version=0.6.4", "--require-fit")
        ran = glass("kv-budget", *LLAMA, "--engine", "vllm", *words)
        assert ran.code == 1
        assert "does not fit" in ran.err
        assert "GPU KV cache size: 23,648 tokens" in ran.out
        assert "per request: 0.82x" in ran.out
        assert "longest context of one sequence: 23,648 tokens" in ran.out


class TestDocument:
    def test_everything_in_bytes(self) -> None:
        said = budget(*LLAMA, "--gpu", "h100", "--ctx", "8k,32k", "--users", "8", "--utilization", "0.9")
        device = said["device"]
        assert (device["name"], device["devices"], said["engine"], said["batch"]) == ("h100", 1, "vllm", 8)
        assert device["driver_bytes"] == 81559 * 2**20
        assert device["allowed_bytes"] == int(device["program_bytes"] * 9 // 10)
        assert device["rope_bytes"] == 131072 * 128 * 2
        assert f"{(device['weight_bytes'] + device['rope_bytes']) / GIB:.4f}" == "14.9888"
        short, long = said["at"]
        assert (short["tokens"], long["tokens"], long["fits"], said["fits"]) == (8192, 32768, True, True)
        assert long["needed_bytes"] == 8 * 32768 * 131072
        for end, used in (("least", "most_bytes"), ("most", "least_bytes")):
            left = device["allowed_bytes"] - device["weight_bytes"] - device["rope_bytes"] - device["overhead"][used]
            assert long[end]["pool_bytes"] == left
            assert long[end]["cache_tokens"] == left // (16 * 131072) * 16
            assert long[end]["max_concurrency"] == left // (16 * 131072) / 2048
        assert said["decode"]["bandwidth_bytes_per_s"] == 3350 * 10**9

    def test_depends_is_null(self) -> None:
        said = budget(*LLAMA, "--gpu", "24GiB", "--ctx", "40000")
        assert said["fits"] is None
        assert (said["at"][0]["least"]["max_batch"], said["at"][0]["most"]["max_batch"]) == (0, 1)

    def test_an_overhead_that_is_known_leaves_no_range(self) -> None:
        said = budget(*LLAMA, "--gpu", "24GiB", "--ctx", "40000", "--overhead", "2GiB")
        assert said["at"][0]["least"] == said["at"][0]["most"]
        assert said["device"]["overhead"] == {"least_bytes": 2 * GIB, "most_bytes": 2 * GIB, "source": "as given"}
        none = budget(*LLAMA, "--gpu", "24GiB", "--ctx", "40000", "--overhead", "0")
        assert none["at"][0]["least"]["pool_bytes"] == said["at"][0]["least"]["pool_bytes"] + 2 * GIB

    def test_csv_has_a_row_for_each_context(self) -> None:
        ran = glass("kv-budget", *LLAMA, "--gpu", "h100", "--num", "2", "--ctx", "8k,128k", "--csv")
        rows = list(csv.DictReader(io.StringIO(ran.out)))
        assert [(row["tokens"], row["devices"], row["tp"], row["fits"]) for row in rows] == [
            ("8192", "2", "2", "yes"),
            ("131072", "2", "2", "yes"),
        ]

    def test_experts_spread_whole_weigh_less_on_replicas(self) -> None:
        words = ("--model", "deepseek-v3", "--gpu", "h200", "--dp", "8", "--ctx", "8k")
        spread, plain = (budget(*words, *more)["device"]["weight_bytes"] for more in (["--ep"], []))
        assert spread == pytest.approx(plain, rel=0.01)
        assert budget(*words[:4], "--tp", "8", "--ctx", "8k")["device"]["weight_bytes"] < plain


class TestPlan:
    def test_the_smallest_devices_first(self) -> None:
        said = budget(*LLAMA, "--users", "40", "--ctx", "32k")
        sizes = [device["devices"] * (device["program_bytes"] or device["driver_bytes"]) for device in said["devices"]]
        assert sizes == sorted(sizes)
        assert all(device["fits"] and device["least"]["max_batch"] >= 40 for device in said["devices"])
        assert {"h100", "rtx-5090", "mi300x"} <= {device["name"] for device in said["devices"]}
        assert "m3-ultra-512" not in {device["name"] for device in said["devices"]}  # vLLM does not run on it
        out = text_of(glass("kv-budget", *LLAMA, "--users", "40", "--ctx", "32k"))
        first = said["devices"][0]
        assert f"smallest: {first['devices']} × {first['name']}, " in out

    def test_llama_cpp_splits_by_layers_and_runs_on_apples(self) -> None:
        said = budget(*LLAMA, "--users", "4", "--ctx", "32k", "--engine", "llama.cpp")
        assert any(device["maker"] == "Apple" for device in said["devices"])
        rows = csv.DictReader(
            io.StringIO(
                glass("kv-budget", *LLAMA, "--users", "4", "--ctx", "32k", "--engine", "llama.cpp", "--csv").out
            )
        )
        assert {(row["tp"], row["pp"] == row["devices"]) for row in rows} == {("1", True)}

    def test_nothing_is_large_enough(self) -> None:
        words = ("--model", "deepseek-v3", "--users", "1000000", "--ctx", "128k")
        ran = glass("kv-budget", *words)
        assert (ran.code, "none of the devices listed holds it" in ran.out) == (0, True)
        assert glass("kv-budget", *words, "--require-fit").code == 1


class TestVerdicts:
    @pytest.mark.parametrize(("gpu", "code"), [("h100", 0), ("24GiB", 1), ("16GiB", 1)])
    def test_weights_count(self, gpu: str, code: int) -> None:
        ran = glass("kv-budget", *LLAMA, "--gpu", gpu, "--ctx", "40000", "--require-fit")
        assert ran.code == code

    def test_the_answer_stands_even_when_quiet(self) -> None:
        out = text_of(glass("kv-budget", *LLAMA, "--gpu", "16GiB", "-q"))
        assert "does not fit: the weights take 14.99 GiB of the 14.72 GiB that vLLM may use" in out

    def test_quiet_leaves_out_what_is_beside_the_answer(self) -> None:
        words = ("kv-budget", *LLAMA, "--gpu", "h100", "--ctx", "8k")
        plain, quiet = text_of(glass(*words)).split("\n\n"), text_of(glass(*words, "-q")).split("\n\n")
        assert plain[0].startswith(quiet[0])  # but for what was assumed
        assert quiet[1:] == [part for part in plain[1:] if not part.lstrip().startswith("try")]
        assert "cache pool" in quiet[-1]

    def test_what_must_be_known_of_the_engine_is_said(self) -> None:
        words = ("--model", "deepseek-v3", "--gpu", "16xh200", "--tp", "8", "--pcp", "2", "--ctx", "8k")
        out = text_of(glass("kv-budget", *words, columns=200))
        assert "note  pcp 2: 2 ranks share the work on a prompt and each keeps all of the cache" in out
        assert "note" not in text_of(glass("kv-budget", *words, "-q"))

    def test_devices_that_stay_idle_are_told_of(self) -> None:
        out = text_of(glass("kv-budget", *LLAMA, "--gpu", "h100", "--num", "8", "--tp", "4", "--ctx", "8k"))
        assert "4 of the 8 devices stay idle: --dp 2 would use them" in out

    def test_apples_run_llama_cpp_with_three_quarters(self) -> None:
        said = budget(*LLAMA, "--gpu", "M3 Max 64GB", "--ctx", "8k")
        assert (said["engine"], said["device"]["utilization"]) == ("llama.cpp", 0.75)

    def test_a_model_that_vllm_has_no_rule_for_is_counted_as_mathematics(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(RECURRENT_GEMMA))
        words = ("kv-budget", "--config", str(path), "--gpu", "l4", "--ctx", "8k")
        ran = glass(*words)
        assert ran.code == 0
        assert "counted as mathematics needs it" in ran.err
        assert "--engine logical" in ran.out
        assert glass(*words, "--engine", "vllm").code == 1
        both = glass("kv-budget", "--compare", f"llama-3.1-8b,{path}", *words[3:])
        assert f"{tmp_path.name} (as mathematics needs it)" in text_of(both)

    @pytest.mark.parametrize("gpu", ["8xh100", "8 x H100", "8×h100-80g", "8*H100 80GB"])
    def test_how_many_may_stand_before_the_name(self, gpu: str) -> None:
        said = budget(*LLAMA, "--gpu", gpu, "--ctx", "8k")
        assert (said["device"]["name"], said["device"]["devices"], said["per_rank"]["tp"]) == ("h100", 8, 8)

    def test_what_is_assumed_can_be_pasted(self) -> None:
        first = glass("kv-budget", *LLAMA, "--gpu", "h100", "--num", "2")
        line = next(line for line in first.out.splitlines() if line.startswith("assumed: "))
        pasted = glass("kv-budget", *LLAMA, "--gpu", "h100", "--num", "2", *line.removeprefix("assumed: ").split())
        assert pasted.out == first.out.replace(line + "\n", "")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--gpu", "h10"], "Did you mean h100"),
        (["--num", "2"], "--num is about devices"),
        (["--overhead", "1GiB"], "--overhead is about devices"),
        (["--users", "4", "--num", "2"], "name it with --gpu"),
        (["--gpu", "2xh100", "--num", "2"], "give one of them"),
        (["--gpu", "0xh100"], "from 1 up"),
        (["--gpu", "h100", "--num", "3"], "tp 3 does not split 32 query heads evenly"),
        (["--gpu", "h100", "--num", "1", "--tp", "2"], "2 ranks"),
        (["--gpu", "h100", "--utilization", "1.5"], "more than 0 and at most 1"),
        (["--gpu", "h100", "--utilization", "many"], "a share like 0.9"),
        (["--gpu", "h100", "--budget", "80GiB"], "don't go together"),
        (["--users", "4", "--sweep"], "--users and --sweep need devices that are known"),
        (["--users", "4", "--emit", "vllm"], "--users and --emit need devices that are known"),
        (["--gpu", "h100", "--emit", "llama.cpp", "--utilization", "0.5"], "can't be told of a share"),
        (
            ["--gpu", "h100", "--emit", "sglang", "--utilization", "0.5", "--overhead", "2GiB"],
            "--mem-fraction-static is",
        ),
        (["--gpu", "4060", "--emit", "vllm"], "no room for a single token"),
        (["--gpu", "h100", "--users", "3", "--batch", "3"], "give one of them"),
        (["--gpu", "h100", "--available", "3GiB", "--overhead", "1GiB"], "give one of them"),
        (["--users", "4", "--tp", "2"], "how many devices are needed"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], says: str) -> None:
    ran = glass("kv-budget", *LLAMA, *words)
    assert ran.code in (1, 2)
    assert says in ran.err
    assert ran.out == ""


def test_a_fit_names_the_most_that_the_engine_may_take_besides() -> None:
    """4.84 GiB of vLLM, of the logs that the range is from; nothing of what someone has measured."""
    out = text_of(glass("kv-budget", *LLAMA, "--gpu", "h100", "--ctx", "8k"))
    assert "fits: a sequence of 8,192 tokens, even if vLLM takes 4.8 GiB of a device besides\n" in out
    out = text_of(glass("kv-budget", *LLAMA, "--gpu", "h100", "--ctx", "8k", "--overhead", "2GiB"))
    assert "fits: a sequence of 8,192 tokens\n" in out


def test_weights_that_do_not_fit_are_the_reason_that_is_told() -> None:
    ran = glass("kv-budget", "--model", "llama-3.1-70b", "--gpu", "h100", "--ctx", "8k", "--require-fit")
    assert ran.code == 1
    assert ran.err == "glass: llama-3.1-70b does not fit: its weights take 131.4 GiB of 72.8 GiB a device\n"


def test_head_counts_have_no_weights() -> None:
    ran = glass("kv-budget", "--hq", "32", "--hkv", "8", "--gpu", "h100")
    assert ran.code == 2
    assert "head counts don't tell" in ran.err


def test_a_name_without_weights_is_refused_by_name() -> None:
    said = budget("--model", "palm-8b", "--gpu", "h100", code=1)
    assert said["error"]["field"] == "model"
    assert "its weights are not" in said["error"]["message"]


def test_weights_that_nobody_knows_do_no_harm_where_the_rest_is_known() -> None:
    said = budget("--model", "palm-8b", "--gpu", "h100", "--available", "10GiB", "--ctx", "2k")
    assert said["fits"] is True
    assert "weight_bytes" not in said["device"]


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    for words in (
        ["--gpu", "h100", "--num", "8", "--users", "64", "--ctx", "8k,128k"],
        ["--users", "40", "--ctx", "8k"],
    ):
        out = text_of(glass("kv-budget", *LLAMA, *words, columns=columns))
        assert all(len(line) <= columns for line in out.splitlines()), out


class TestEnginesWithoutLogsOfTheirOverhead:
    """What SGLang, TensorRT-LLM and mlx-lm take besides is not known: then there is an upper bound and no range."""

    @pytest.mark.parametrize("engine", ["sglang", "tensorrt-llm", "mlx", "logical"])
    def test_it_is_an_upper_bound(self, engine: str) -> None:
        said = budget(*LLAMA, "--gpu", "h100", "--engine", engine, "--ctx", "8k")
        device = said["device"]
        left = device["allowed_bytes"] - device["weight_bytes"]
        assert (said["fits"], device["overhead"]["most_bytes"]) == (None, None)
        assert (said["at"][0]["least"], said["at"][0]["most"]["pool_bytes"]) == (None, left)
        out = text_of(glass("kv-budget", *LLAMA, "--gpu", "h100", "--engine", engine, "--ctx", "8k"))
        assert "fits if " in out
        assert "side by side: at most 64" in out

    def test_it_does_not_fit_where_even_that_does_not(self) -> None:
        words = ("--gpu", "16GiB", "--engine", "sglang", "--ctx", "32k")
        assert budget(*LLAMA, *words)["fits"] is False
        assert glass("kv-budget", *LLAMA, *words, "--require-fit").code == 1

    def test_given_it_is_as_sure_as_any(self) -> None:
        said = budget(*LLAMA, "--gpu", "h100", "--engine", "sglang", "--ctx", "8k", "--overhead", "3GiB")
        assert said["fits"] is True
        assert said["at"][0]["least"] == said["at"][0]["most"]

    def test_which_devices_would_do_has_to_be_given_it(self) -> None:
        words = ("kv-budget", *LLAMA, "--users", "4", "--ctx", "8k", "--engine", "sglang")
        ran = glass(*words)
        assert (ran.code, "overhead has to be given" in ran.err) == (2, True)
        assert "smallest: " in glass(*words, "--overhead", "2GiB").out

    def test_llama_cpp_has_logs_of_its_own(self) -> None:
        said = budget(*LLAMA, "--gpu", "h100", "--engine", "llama.cpp", "--ctx", "8k")["device"]["overhead"]
        assert "llama.cpp" in said["source"]
        assert 0 < said["least_bytes"] < said["most_bytes"] < 2 * GIB


def test_the_line_that_sglang_logged() -> None:
    """A public log of GLM-4.7-Flash: 383,872 tokens, 19.36 GB, which are GiB; and a slot for padded tokens."""
    words = ("--config", path_of("zai-org--GLM-4.7-Flash"), "--engine", "sglang", "--dtype", "bf16", "--ctx", "32k")
    row = 47 * 576 * 2
    out = text_of(glass("kv-budget", *words, "--available", str(383_873 * row)))
    assert "\nKV Cache is allocated. #tokens: 383,872\n" in out
    assert f"{383_872 * row / GIB:.2f}" == "19.36"


def test_ranks_that_do_not_split_are_the_command_lines_fault() -> None:
    for words in (["--tp", "3"], ["--tp", "2", "--engine", "llama.cpp"], ["--gpu", "3xh100"]):
        ran = glass("kv-budget", *LLAMA, *words)
        assert (ran.code, ran.out) == (2, "")
        assert glass("kv-budget", *LLAMA, *words, "--json").out == ""
