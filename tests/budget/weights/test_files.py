"""Weights from the headers of files: to the byte, without what an engine leaves where it is."""

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
from helpers.gguf_files import LLAMA as GGUF_LLAMA
from helpers.gguf_files import write_gguf
from helpers.in_process import budget

from glasscli.budget.device_fit import load_of, load_of_files
from glasscli.budget.request import Request
from glasscli.budget.subjects import from_config
from glasscli.budget.weights.files import Files, files_at
from glasscli.budget.weights.stored import stored
from glasscli.errors import CheckpointError, ConfigError

np = pytest.importorskip("numpy")

ITEM = {"BF16": 2, "F32": 4, "I8": 1}
TINY = {
    "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, "vocab_size": 128,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}  # fmt: skip


def shapes(layers: int = 2) -> dict[str, tuple[int, ...]]:
    """The tensors of TINY, as a checkpoint names them."""
    found = {"model.embed_tokens.weight": (128, 64), "lm_head.weight": (128, 64), "model.norm.weight": (64,)}
    for i in range(layers):
        own = {"q_proj": (64, 64), "k_proj": (32, 64), "v_proj": (32, 64), "o_proj": (64, 64)}
        found |= {f"model.layers.{i}.self_attn.{name}.weight": shape for name, shape in own.items()}
        wide = {"gate_proj": (128, 64), "up_proj": (128, 64), "down_proj": (64, 128)}
        found |= {f"model.layers.{i}.mlp.{name}.weight": shape for name, shape in wide.items()}
        norms = ("input_layernorm", "post_attention_layernorm")
        found |= {f"model.layers.{i}.{name}.weight": (64,) for name in norms}
    return found


def folder(path: Path, tensors: dict[str, tuple[int, ...]], dtype: str = "BF16", **config: Any) -> Path:
    """A folder with a config and one safetensors file full of zeros."""
    header, end = {}, 0
    for name, shape in tensors.items():
        start, end = end, end + math.prod(shape) * ITEM[dtype]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))
    (path / "config.json").write_text(json.dumps(TINY | config))
    return path


def found_at(path: Path, **config: Any) -> Files:
    found = files_at(path, TINY | config, 2)
    assert found is not None
    return found


def n_bytes(tensors: dict[str, tuple[int, ...]], item: int = 2) -> int:
    return item * sum(math.prod(shape) for shape in tensors.values())


def asked(**more: Any) -> Request:
    return Request(from_config(TINY, "vllm").layout, 64, engine="vllm", **more)


def test_to_the_byte_and_as_counted(tmp_path: Path) -> None:
    files, model = found_at(folder(tmp_path, shapes())), stored(TINY)
    assert files.n_bytes == n_bytes(shapes()) == model.n_bytes
    assert (files.n_files, files.left_out, files.gguf) == (1, 0, False)
    for split in ({}, {"tp": 2}, {"pp": 2}):
        assert load_of_files(files, model, 0, asked(**split)).weights == load_of(model, 0, asked(**split)).weights


def test_what_an_engine_does_not_load(tmp_path: Path) -> None:
    """Rotary frequencies, a third layer that drafts, a head that is the embedding."""
    more = {
        "model.layers.0.self_attn.rotary_emb.inv_freq": (8,),
        "mtp.layers.0.eh_proj.weight": (64, 128),
        **{name: shape for name, shape in shapes(3).items() if ".2." in name},
    }
    files = found_at(folder(tmp_path, shapes() | more))
    assert (files.n_bytes, files.left_out) == (n_bytes(shapes()), n_bytes(more))
    tied = found_at(tmp_path, tie_word_embeddings=True)
    assert files.n_bytes - tied.n_bytes == 128 * 64 * 2


def test_files_in_another_dtype_than_the_config_says_are_believed(tmp_path: Path) -> None:
    files, model = found_at(folder(tmp_path, shapes(), "F32")), stored(TINY)
    one = load_of_files(files, model, 0, asked())
    assert one.weights == (n_bytes(shapes(), 4),)
    (rank,) = load_of_files(files, model, 0, asked(tp=2)).weights
    (counted,) = load_of(model, 0, asked(tp=2)).weights
    assert rank == 2 * counted


def test_a_model_of_an_unknown_type_can_be_weighed_but_not_split(tmp_path: Path) -> None:
    files = found_at(folder(tmp_path, shapes()))
    assert load_of_files(files, None, None, asked()).weights == (n_bytes(shapes()),)
    with pytest.raises(ConfigError) as refusal:
        load_of_files(files, None, None, asked(tp=2))
    assert refusal.value.field == "tp"


def test_a_folder_without_weights_is_counted(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    assert files_at(tmp_path, TINY, 2) is None
    assert files_at(tmp_path / "config.json", TINY, 2) is None
    said = budget("--config", str(tmp_path), "--gpu", "t4")
    assert said["device"]["weights_source"].startswith("counted from the config")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = folder(tmp_path, shapes()) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(CheckpointError, match="bytes"):
        files_at(tmp_path, TINY, 2)


def test_the_command_reads_the_headers(tmp_path: Path) -> None:
    said = budget("--config", str(folder(tmp_path, shapes())), "--gpu", "t4", "--engine", "transformers")
    assert said["device"]["weight_bytes"] == n_bytes(shapes())
    assert said["device"]["weights_source"] == "the headers of 1 file, to the byte"
    for where in (tmp_path, tmp_path / "config.json"):
        assert budget("-m", str(where), "--gpu", "t4", "--engine", "transformers")["device"] == said["device"]


class TestGguf:
    """llama.cpp leaves the embedding in the machine's memory, unless it is the head too."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        tensors = {
            "token_embd.weight": np.zeros((10, 8), np.float32),
            "output.weight": np.zeros((10, 8), np.float32),
            **{f"blk.{i}.ffn_up.weight": np.zeros((12 * (i + 1), 8), np.float32) for i in range(2)},
        }
        return write_gguf(tmp_path / "model.gguf", GGUF_LLAMA, tensors)

    def test_on_one_device(self, path: Path) -> None:
        files = files_at(path, {}, 2)
        assert files is not None
        assert (files.n_bytes, files.left_out, files.gguf) == ((10 * 8 + 36 * 8) * 4, 10 * 8 * 4, True)

    def test_by_layers(self, path: Path) -> None:
        files = files_at(path, {}, 2)
        assert files is not None
        assert files.stages([1, 1]) == (12 * 8 * 4, (24 * 8 + 10 * 8) * 4)

    def test_tied(self, tmp_path: Path) -> None:
        tensors = {"token_embd.weight": np.zeros((10, 8), np.float32)}
        files = files_at(write_gguf(tmp_path / "tied.gguf", GGUF_LLAMA, tensors), {}, 2)
        assert files is not None
        assert (files.n_bytes, files.left_out) == (10 * 8 * 4, 0)

    def test_through_the_command(self, path: Path) -> None:
        said = budget("--config", str(path), "--gpu", "8GiB", "--engine", "llama.cpp")
        assert said["device"]["weight_bytes"] == (10 * 8 + 36 * 8) * 4
        two = budget("--config", str(path), "--gpu", "8GiB", "--engine", "llama.cpp", "--num", "2")
        assert two["device"]["weight_bytes_of_stages"] == [12 * 8 * 4, (24 * 8 + 10 * 8) * 4]
