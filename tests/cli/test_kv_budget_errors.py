"""`glass kv-budget`: mistakes of the command line, and files that are no config. One or two lines, the right code."""

import json
import os
from pathlib import Path

import pytest
from helpers.in_process import glass

HEADS = ("kv-budget", "--hq", "32", "--hkv", "8")


def refused(*args: str, code: int = 2) -> str:
    """What glass says of `args` on stderr, having printed nothing and ended with `code`."""
    ran = glass(*args)
    assert (ran.code, ran.out) == (code, "")
    lines = ran.err.splitlines()
    assert lines[0].startswith("glass: ")
    assert len(lines) <= 3
    assert "Traceback" not in ran.err
    return ran.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--hq", "32", "--hkv", "5"), "--hkv 5 does not divide --hq 32"),
        (("--hq", "32", "--hkv", "5"), "Try --hkv 1, 2, 4, 8, 16 or 32."),
        (("--hq", "71", "--hkv", "8"), "Try --hkv 1 or 71."),
        (("--hq", "720", "--hkv", "7"), "Try --hkv 1, 4, 5, 6, 8, 9, 10 or 720."),
        (("--hq", "1000000000000", "--hkv", "7"), "Try --hkv 1 or 1000000000000."),
        (("--hq", "8", "--hkv", "32"), "--hkv 32 is more than --hq 8"),
        (("--hq", "32", "--hkv", "0"), "--hkv: '0'"),
        (("--hq", "32", "--hkv", "-1"), "--hkv: '-1'"),
        (("--hq", "0"), "--hq: '0'"),
        (("--hq", "1.5"), "--hq: '1.5'"),
        (("--hq", "32,16"), "--hq takes one number"),
        (("--hq", "many"), "--hq: 'many'"),
        (("--hq", "9" * 400), "--hq: '999"),
        (("--hq", "1" + "0" * 25), "too large"),
        (("--hkv", "8"), "--hkv needs --hq"),
        (("--hq", "8", "--layers", "1000000000"), "--layers 1000000000: at most 100,000"),
        (("--hq", "8", "--layers", "0"), "--layers: '0'"),
        (("--hq", "8", "--head-dim", "nan"), "--head-dim: 'nan'"),
        (("--hq", "8", "--ctx", "0"), "--ctx: '0'"),
        (("--hq", "8", "--ctx", "8k,"), "--ctx: ''"),
        (("--hq", "8", "--ctx", "8q"), "the suffixes are k (1024) and m"),
        (("--hq", "8", "--batch", "-2"), "--batch: '-2' is not a count"),
        (("--hq", "8", "--tp", "0"), "--tp: '0'"),
        (("--hq", "8", "--tp", "99999999"), "--tp 99999999: at most 65,536"),
        (("--hq", "8", "--budget", "24 parsecs"), "--budget: '24 parsecs'"),
        (("--hq", "8", "--budget", "0"), "less than one byte"),
        (("--hq", "8", "--budget", "80"), "--budget: '80' has no unit. Write 80GiB"),
        (("--hq", "8", "--ctx", "202,752"), "--ctx: '202,752' may be one number or several"),
        (("--hq", "8", "--bandwidth", "fast"), "--bandwidth: 'fast'"),
        (("--hq", "8", "--dtype", "f17"), "--dtype: 'f17'"),
        (("--hq", "8", "--k-dtype", ""), "--k-dtype: ''"),
        (("--hq", "8", "--engine", "tgi"), "--engine"),
        (("--hq", "8", "--page", "16", "--engine", "llama.cpp"), "llama.cpp has no pages"),
        (("--hq", "8", "--setting", "swa_full=true"), "a setting of llama.cpp, not of logical"),
        (("--hq", "8", "--setting", "swa_full=maybe", "--engine", "llama.cpp"), "true or false"),
        (("--hq", "8", "--setting", "n_ubatch", "--engine", "llama.cpp"), "NAME=VALUE"),
        (("--hq", "8", "--require-fit"), "--require-fit needs --budget"),
        (("--hq", "8", "--json", "--csv"), "--json and --csv"),
        (("--hq", "8", "--json", "--emit", "vllm"), "--json and --emit"),
        (("--hq", "8", "--sweep", "--emit", "vllm"), "--sweep and --emit"),
        (("--hq", "8", "--sweep", "--require-fit", "--budget", "1GiB"), "--sweep and --require-fit"),
        (("--compare", "gpt-2,opt-13b", "--emit", "vllm"), "--compare and --emit"),
        (("--hq", "8", "--model", "gpt-2"), "--hq and --model: one model at a time"),
        (("--model", "gpt-2", "--list"), "--model and --list"),
        (("--model", "gpt-2", "--layers", "3"), "--layers belongs to --hq"),
        (("--model", "gpt-9"), "no model is called 'gpt-9'"),
        (("--model", ""), "the name of the model is empty"),
        (("--compare", "gpt-2"), "two or more"),
        (("--compare", "gpt-2,-,-"), "read once"),
        (("--compare", ",".join(["gpt-2"] * 9), "--sweep"), "at most 8"),
        (("--hq", "8", "--prefix-shared", "9k", "--ctx", "8k"), "shared"),
        (("--hq", "8", "--pp", "64"), "pipeline stages"),
        (("--hq", "8", "--engine", "transformers", "--emit", "vllm"), "different engines"),
        ((), "which model?"),
        (("extra",), "extra"),
        (("--frobnicate",), "--frobnicate"),
    ],
)
def test_misuse(args: tuple[str, ...], says: str) -> None:
    assert says in refused("kv-budget", *args).replace("\n       ", " ")


def test_misuse_is_misuse_in_json_too() -> None:
    refused(*HEADS, "--hkv", "5", "--json")
    refused("kv-budget", "--json")


def test_terminal_escapes_are_shown_not_sent(tmp_path: Path) -> None:
    for said in (
        refused("kv-budget", "--model", "\x1b[31mred\x07"),
        refused("kv-budget", "--config", "\x1b]0;title\x07", code=1),
        refused("kv-budget", "--hq", "\x1b[2J"),
    ):
        assert "\x1b" not in said
        assert "\x07" not in said
    file = tmp_path / "\x1b[1m.json"
    file.write_text('{"model_type": "\\u001b[31m", "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 8}')
    ran = glass("kv-budget", "--config", str(file), "--ctx", "1")
    assert "\x1b" not in ran.out + ran.err


def test_hostile_names_in_tables_and_commands(tmp_path: Path) -> None:
    config = json.dumps({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2})
    for name, cell in (("=1+1", "<U+003D>1+1"), ("\x1b[31m\u202e", r"\x1b[31m\u202e")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(config)
        for form in (["--csv"], ["--csv", "--sweep"]):
            assert {
                line.split(",")[0] for line in glass("kv-budget", "--config", str(folder), *form).out.split()[1:]
            } == {cell}
    assert glass("kv-budget", "--config", str(folder), "--emit", "vllm").out.startswith("vllm serve MODEL --")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\x00\x01\x02\xff",
        b'{"num_hidden_layers": 1e400}',
        b'{"num_hidden_layers": NaN}',
        b'{"num_hidden_layers": ' + b"9" * 6000 + b"}",
        b'{"model_type": "llama", "num_hidden_layers": 99999999999999999, "num_attention_heads": 1, "hidden_size": 8}',
        b'{"a": ' * 100 + b"1" + b"}" * 100,
        b"[" * 100_000,
        b'{"model_type": "llama", "model_type": "gpt2"}',
        b'{"model_type": ["llama"], "num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8}',
        b'{"text_config": {"text_config": {"text_config": 3}}}',
    ],
)
def test_files_that_are_no_config(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(data)
    refused("kv-budget", "--config", str(file), code=1)
    document = glass("kv-budget", "--config", str(file), "--json")
    assert (document.code, document.err) == (1, "")
    assert set(json.loads(document.out)) == {"schema", "error"}
    assert json.loads(document.out)["error"]["message"]


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    assert "no such file" in refused("kv-budget", "--config", str(tmp_path / "no.json"), code=1)
    assert "no config.json" in refused("kv-budget", "--config", str(tmp_path), code=1)
    assert "empty" in refused("kv-budget", "--config", "-", code=1)
    assert "not a model" not in refused("kv-budget", "--compare", f"gpt-2,{tmp_path}", code=1)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("{}")
    file.chmod(0)
    assert "Permission denied" in refused("kv-budget", "--config", str(file), code=1)


def test_an_unknown_type_is_never_guessed_in_silence(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    unknown = {"model_type": "zork", "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
    file.write_text(json.dumps(unknown | {"kv_heads": 1}))
    for more in ([], ["--assume-plain"]):
        assert "kv_heads hints at more than plain attention" in refused(
            "kv-budget", "--config", str(file), *more, code=1
        )
    file.write_text(json.dumps(unknown))
    said = refused("kv-budget", "--config", str(file), code=1)
    assert 'model_type is "zork", which is not known' in said
    assert "If its attention is plain, say so: --assume-plain" in said
    said = refused("kv-budget", "--compare", f"gpt-2,{file}", code=1)
    assert "--assume-plain" in said
    for form in ([], ["-q"], ["--csv"], ["--json"]):
        ran = glass("kv-budget", "--config", str(file), "--assume-plain", *form)
        assert ran.code == 0
        assert "read as plain attention" in " ".join((ran.out + ran.err).split())
