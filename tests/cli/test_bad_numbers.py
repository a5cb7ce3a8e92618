"""Weights that hold NaN: nothing is generated from them, and a layer that is sound can still be looked at."""

from pathlib import Path

import numpy as np
import pytest
from helpers.gguf_files import write_gguf
from helpers.in_process import glass
from helpers.model_folders import byte_level, write_folder
from helpers.random_llama import settings, tensors

from glasscli import load_model
from glasscli.checkpoint.gguf.header import read_header
from glasscli.checkpoint.gguf.origins import Origin, Rows
from glasscli.checkpoint.gguf.read import read
from glasscli.errors import CheckpointError

NAME = "model.layers.1.self_attn.q_proj.weight"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = byte_level()
    config = settings(vocab_size=tokenizer.get_vocab_size())
    weights = tensors(config)
    weights[NAME][3, 4] = np.nan
    return write_folder(tmp_path_factory.mktemp("bad") / "model", config, weights, tokenizer)


@pytest.mark.parametrize("more", [[], ["--decode"], ["--json"], ["--rows", "2:4"]])
def test_a_layer_before_it_is_shown_with_a_note(folder: Path, more: list[str]) -> None:
    ran = glass("dump-attn", "-m", str(folder), "a cat sat", "--layer", "0", *more)
    assert ran.code == 0, ran.err
    assert ran.out
    (note,) = ran.err.splitlines()
    assert f"{NAME} holds 1 value that is no finite number, the first nan at [3, 4]" in note
    assert glass("dump-attn", "-m", str(folder), "a cat", "--layer", "0", "-q").err == ""


def test_the_layer_itself_names_the_step(folder: Path) -> None:
    ran = glass("dump-attn", "-m", str(folder), "a cat sat", "--layer", "1")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == "glass: layer 1: q is the first step with NaN or infinity in it"
    assert "layer 2: input is the first" in glass("dump-attn", "-m", str(folder), "a", "--layer", "2").err


def test_nothing_is_generated(folder: Path) -> None:
    ran = glass("generate", "-m", str(folder), "a cat")
    assert (ran.code, ran.out) == (1, "")
    assert NAME in ran.err
    with pytest.raises(CheckpointError, match=NAME):
        load_model(folder)


def test_a_gguf_tells_it_once(tmp_path: Path) -> None:
    values = np.ones((40_000, 4), np.float32)
    values[[1, 39_999], 2] = np.inf
    path = write_gguf(tmp_path / "m.gguf", {"general.architecture": "llama"}, {"w": values})
    info = read_header(path).tensors["w"]
    source = Origin(info, (Rows(info, 0, 40_000),))
    with pytest.raises(CheckpointError, match="the first inf in row 1"):
        read(source)
    notes: list[str] = []
    assert np.array_equal(read(source, notes), values)
    assert len(notes) == 1


def test_steps_behind_it_are_refused(folder: Path) -> None:
    for form in ([], ["--json"]):
        ran = glass("dump-attn", "-m", str(folder), "a cat", "--step", "logits", *form)
        assert (ran.code, ran.out) == (1, "")
        assert "logits holds NaN or infinity" in ran.err or "first step with NaN" in ran.err
