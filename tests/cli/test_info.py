"""`glass info` as it is typed, on good folders, odd ones and hostile ones."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.gguf_files import LLAMA as GGUF_LLAMA
from helpers.gguf_files import Stored, write_gguf
from helpers.in_process import glass, text_of
from helpers.model_folders import byte_level, write_bfloat16, write_folder
from helpers.random_llama import KINDS, LLAMA3_ROPE, settings, tensors
from helpers.strict_json import strict
from rich.cells import cell_len
from safetensors.numpy import save_file

from glasscli.cache.kv_cache import KVCache
from glasscli.checkpoint.facts import read_facts
from glasscli.checkpoint.load import load_model
from glasscli.cli.commands.info.command import EPILOG
from glasscli.locate.shipped import shipped_folder

MakeFolder = Callable[..., Path]


def run(*args: str, **settings: Any) -> tuple[str, str]:
    ran = glass("info", *args, **settings)
    return text_of(ran), ran.err


def document(folder: Path) -> Any:
    return strict(run("-m", str(folder), "--json")[0])


def test_the_shipped_model() -> None:
    out, err = run()
    assert err == ""
    assert out.startswith("glass-1m, the model that comes with glass\n")
    assert "918,656 parameters" in out
    assert "4 query heads → 2 KV (2 share one) of 32" in out
    assert "2.0 KiB a token" in out
    assert "every text gets <|endoftext|>" in out


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_and_cache_are_those_of_the_running_model(kind: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder(**KINDS[kind])
    facts, loaded = read_facts(folder), load_model(folder)
    written = tensors(json.loads((folder / "config.json").read_text()))
    assert facts.n_parameters == loaded.config.n_parameters == sum(array.size for array in written.values())
    assert facts.cache_bytes_per_token * 10 == KVCache(loaded.model.layout, 10).nbytes
    assert facts.stored_bytes == 4 * facts.n_parameters


def test_json_is_exact(tiny_model_folder: Path) -> None:
    found = document(tiny_model_folder)
    assert found["schema"] == "glass.info/1"
    assert found["config"]["dim"] == 32
    assert found["cache"] == {"dtype": "float32", "item_bytes": 4, "bytes_per_token": 384, "context_bytes": 384 * 512}
    tensor = next(t for t in found["tensors"] if t["name"] == "model.layers.0.self_attn.k_proj.weight")
    assert (tensor["dtype"], tensor["shape"], tensor["n_bytes"]) == ("F32", [16, 32], 2048)
    sizes = {file["name"]: file["n_bytes"] for file in found["files"]}
    assert sizes["model.safetensors"] == (tiny_model_folder / "model.safetensors").stat().st_size
    assert found["tokenizer"]["special"] == [{"id": 0, "name": "<|endoftext|>"}]


def test_types_as_stored(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    write_bfloat16(folder / "model.safetensors", tensors(json.loads((folder / "config.json").read_text())))
    assert {t["dtype"] for t in document(folder)["tensors"]} == {"BF16"}


def test_a_head_that_differs_counts(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    weights = tensors(json.loads((folder / "config.json").read_text()))
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"] * 2
    save_file(weights, folder / "model.safetensors")
    out, err = run("-m", str(folder))
    assert "a matrix of its own" in out
    assert "lm_head.weight differs" in err
    assert [part["name"] for part in document(folder)["parts"]][-1] == "head"


@pytest.mark.parametrize("columns", [20, 40, 80, 100, 200])
@pytest.mark.parametrize("every", [[], ["--tensors"]])
def test_no_line_is_too_wide_and_nothing_is_lost(columns: int, every: list[str]) -> None:
    out, _ = run(*every, columns=columns)
    lines = out.splitlines()
    assert max(map(cell_len, lines)) <= columns
    joined = "".join(out.split())
    for needed in ("918,656", "384.0KiB", "1024×128", "2.0KiB", "post_attention_layernorm.weight", "tokenizer.json"):
        assert needed in joined
    assert ("model.layers.3.mlp.up_proj.weight" in joined) == bool(every)


def test_a_terminal_that_knows_ascii_only(make_model_folder: MakeFolder) -> None:
    import os

    environment = {**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    folder = make_model_folder(rope_parameters=LLAMA3_ROPE)
    command = [sys.executable, "-m", "glasscli", "info", "-m", str(folder)]
    result = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert result.returncode == 0, result.stderr
    assert result.stdout.isascii()
    assert b"\\u" not in result.stdout  # nothing that had to be escaped


def test_rotary_scaling_is_told(make_model_folder: MakeFolder) -> None:
    out, _ = run("-m", str(make_model_folder(rope_parameters=LLAMA3_ROPE, attention_bias=True)))
    assert "llama3   factor 8   theta 10,000   context 512   trained at 64, frequencies 1–4" in out
    assert "biases in attention" in out


def test_notes_go_to_stderr_and_are_left_out_when_quiet(tmp_path: Path) -> None:
    config = settings(vocab_size=300)
    weights = tensors(config) | {"\x1b[31mextra": np.zeros(2, np.float32)}
    folder = write_folder(tmp_path / "m", config, weights)
    _, err = run("-m", str(folder))
    assert "glass: ignored 1 tensor" in err
    assert "20 more tokens than the embedding has rows" in err
    assert err.replace("\n", "").isprintable()
    assert run("-m", str(folder), "-q")[1] == ""


def test_a_broken_tokenizer_is_a_note_here(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "tokenizer.json").write_text("{")
    out, err = run("-m", str(folder))
    assert "can't be read" in out
    assert "is no valid tokenizer.json" in err
    assert document(folder)["tokenizer"] is None


def test_hostile_names_of_tokens(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.add_special_tokens(["\x1b]0;owned\x07", "[link=x]\u202e", *(f"<s{i}>" for i in range(20))])
    folder = write_folder(tmp_path / "m", settings(vocab_size=400), tokenizer=tokenizer)
    out, err = run("-m", str(folder))
    assert (out + err).replace("\n", "").isprintable()
    assert "… +17" in out


def test_long_names_are_cut(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.add_special_tokens(["x" * 1_000_000])
    assert f"{'x' * 39}… (320)" in run("-m", str(write_folder(tmp_path / "m", tokenizer=tokenizer)))[0]


def test_long_lists_are_cut(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder(eos_token_id=[*range(300)] * 1000)
    out, _ = run("-m", str(folder))
    assert "a text ends at id 0, 1, 2, 3, 4, 5, … +294" in " ".join(out.split())


def test_damage_is_one_clean_error(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    (folder / "model.safetensors").write_bytes(b"")
    ran = glass("info", "-m", str(folder))
    out, err = ran.out, ran.err
    assert ran.code == 1
    assert out == ""
    assert err.count("\n") == 1
    assert "is empty (0 bytes)" in err


def test_help_ends_with_examples_that_work(tiny_model_folder: Path) -> None:
    shown = [line.strip() for line in text_of(glass("info", "--help")).splitlines()]
    examples = [line.strip() for line in EPILOG.splitlines() if "  glass info" in line]
    assert len(examples) == 3
    assert shown[-len(examples) :] == examples
    for example in examples:
        run(*shlex.split(example.replace("path/to/llama", str(tiny_model_folder)))[2:])


def test_needs_no_numpy() -> None:
    code = (
        "import sys; from glasscli.cli.app import main; main(['info', '-m', sys.argv[1], '--json']);"
        "print({'numpy', 'safetensors', 'rich'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code, shipped_folder()], capture_output=True, text=True, timeout=60)
    assert result.stdout.endswith("set()\n"), result.stderr


def test_a_model_that_glass_does_not_run_is_told_all_the_same(tmp_path: Path) -> None:
    config = settings(vocab_size=320, model_type="mixtral", architectures=["MixtralForCausalLM"], num_local_experts=4)
    folder = write_folder(tmp_path / "other", config, tensors(config))
    ran = glass("info", "-m", str(folder))
    assert ran.code == 0
    page = " ".join(ran.out.split())
    for words in ("MixtralForCausalLM", "not run by glass", "3 × full attention", "byte-level BPE", "embed_tokens"):
        assert words in page
    assert "glass does not run this model: " in ran.err
    assert 'architectures is "MixtralForCausalLM"' in ran.err
    told = json.loads(glass("info", "-m", str(folder), "--json").out)
    assert (told["runs"], told["model_type"]) == (False, "mixtral")
    assert told["layers"] == [{"attention": "full", "n": 3}]
    assert told["n_stored"] == sum(array.size for array in tensors(config).values())
    assert told["tokenizer"]["vocab_size"] == 320


def test_a_model_without_weights_or_rule_is_told_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "new_thing", "architectures": ["NewThing\x1b[0m"]}))
    ran = glass("info", "-m", str(tmp_path))
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err
    assert "its layers are unknown" in ran.err
    assert "no weights" in ran.out
    size = (tmp_path / "config.json").stat().st_size
    assert f"config.json {size} B" in ran.out
    (tmp_path / "part.safetensors").write_bytes(b"no header")
    told = json.loads(glass("info", "-m", str(tmp_path), "--json").out)
    assert [file["name"] for file in told["files"]] == ["config.json", "part.safetensors"]


def test_a_fault_in_a_model_that_glass_runs_stays_an_error(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bad", settings(vocab_size=320, num_key_value_heads=3), tensors(settings()))
    ran = glass("info", "-m", str(folder))
    assert (ran.code, ran.out) == (1, "")
    assert "num_key_value_heads is 3" in ran.err


def described(path: Path, reason: str) -> Any:
    """The document of a model that glass does not run, which the screen describes too."""
    ran = glass("info", "-m", str(path))
    assert (ran.code, "not run by glass" in " ".join(ran.out.split())) == (0, True), ran.err
    assert reason in ran.err
    told = json.loads(glass("info", "-m", str(path), "--json").out)
    assert told["runs"] is False
    assert reason in told["reason"]
    return told


def test_an_mlx_folder_is_described(tmp_path: Path) -> None:
    config = settings(vocab_size=320, quantization={"group_size": 64, "bits": 4})
    packed = {"model.embed_tokens.weight": np.zeros((320, 4), np.uint32)}
    told = described(write_folder(tmp_path / "mlx", config, packed), "MLX")
    assert told["layers"] == [{"attention": "full", "n": 3}]
    assert told["tensors"][0]["dtype"] == "U32"


def test_weights_of_a_type_that_is_not_read_are_described(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    weights = tensors(json.loads((folder / "config.json").read_text()))
    weights["model.norm.weight"] = weights["model.norm.weight"].astype(np.int8)
    save_file(weights, folder / "model.safetensors")
    told = described(folder, "model.norm.weight is I8; glass reads")
    assert "I8" in {tensor["dtype"] for tensor in told["tensors"]}


@pytest.mark.parametrize(
    ("architecture", "layers", "reason"),
    [
        ("qwen2moe", [{"attention": "full", "n": 2}], "general.architecture is 'qwen2moe'"),
        ("mamba", [], "general.architecture is 'mamba'"),
    ],
)
def test_a_gguf_that_glass_does_not_run_is_described(
    architecture: str, layers: list[Any], reason: str, tmp_path: Path
) -> None:
    header = {key.replace("llama", architecture): value for key, value in GGUF_LLAMA.items()}
    header["general.architecture"] = architecture
    if architecture == "mamba":  # no heads there
        header = {key: value for key, value in header.items() if "attention" not in key}
    weights = {"token_embd.weight": np.zeros((10, 8), np.float32)}
    told = described(write_gguf(tmp_path / "m.gguf", header, weights), reason)
    assert told["layers"] == layers
    assert [(tensor["name"], tensor["dtype"]) for tensor in told["tensors"]] == [("token_embd.weight", "F32")]
    assert told["files"][0]["name"] == "m.gguf"


def test_a_gguf_in_a_type_that_is_not_read_is_described(tmp_path: Path) -> None:
    header = {**GGUF_LLAMA, "llama.embedding_length": 256, "llama.vocab_size": 2}
    packed = {"token_embd.weight": Stored(bytes(2 * 66), (2, 256), 16)}
    told = described(write_gguf(tmp_path / "m.gguf", header, packed), "is IQ2_XXS; glass reads")
    assert told["layers"] == [{"attention": "full", "n": 2}]
