"""From a folder to the tensors of a model: what good folders give, which head counts, and what does not fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.damaged_weights import MakeFolder, load, one_tensor, refused, rewrite, split_off
from helpers.model_folders import write_bfloat16
from helpers.random_llama import KINDS, settings, shapes
from safetensors.numpy import load_file, save_file

from glasscli import load_model
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.model_config import ModelConfig
from glasscli.config.tensor_shapes import expected_tensors
from glasscli.errors import CheckpointError


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_loads_as_the_safetensors_package_reads_it(kind: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder(**KINDS[kind])
    loaded, file = load(folder), load_file(folder / "model.safetensors")
    assert set(loaded) == set(file)
    for name, array in loaded.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, file[name])


@pytest.mark.parametrize("kind", KINDS)
def test_expected_shapes_are_those_of_the_written_model(kind: str) -> None:
    config = settings(**KINDS[kind])
    expected = {tensor.name: tensor.shape for tensor in expected_tensors(ModelConfig.from_dict(config))}
    assert expected == shapes(config)


def test_float16_is_widened_exactly(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    halves = {name: array.astype(np.float16) for name, array in load(folder).items()}
    save_file(halves, folder / "model.safetensors")
    for name, array in load(folder).items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, halves[name].astype(np.float32))


def test_bfloat16_is_the_upper_half_of_float32(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    whole = dict(load(folder))
    write_bfloat16(folder / "model.safetensors", whole)
    for name, array in load(folder).items():
        cut = (whole[name].view(np.uint32) & 0xFFFF0000).view(np.float32)
        np.testing.assert_array_equal(array, cut)


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_what_torch_writes_is_read_as_torch_reads_it(dtype: str, make_model_folder: MakeFolder) -> None:
    import torch
    from safetensors.torch import save_file as save_torch

    folder = make_model_folder()
    stored = {name: torch.from_numpy(array).to(getattr(torch, dtype)) for name, array in load(folder).items()}
    save_torch(stored, folder / "model.safetensors")
    for name, array in load(folder).items():
        np.testing.assert_array_equal(array, stored[name].float().numpy())


def test_tied_head_in_the_file_and_equal_is_dropped(make_model_folder: MakeFolder) -> None:
    folder = rewrite(make_model_folder(), lambda w: w.update({"lm_head.weight": w["model.embed_tokens.weight"].copy()}))
    notes: list[str] = []
    assert "lm_head.weight" not in load(folder, notes)
    assert notes == []


def test_tied_head_in_the_file_and_different_is_used(make_model_folder: MakeFolder) -> None:
    folder = rewrite(make_model_folder(), lambda w: w.update({"lm_head.weight": w["model.embed_tokens.weight"] * 2}))
    notes: list[str] = []
    loaded = load(folder, notes)
    np.testing.assert_array_equal(loaded["lm_head.weight"], loaded["model.embed_tokens.weight"] * 2)
    assert len(notes) == 1
    assert "lm_head.weight differs" in notes[0]


def test_tied_head_alone_is_the_embedding(make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    embedding = load(folder)["model.embed_tokens.weight"]
    rewrite(folder, lambda w: w.update({"lm_head.weight": w.pop("model.embed_tokens.weight")}))
    loaded = load(folder)
    assert "lm_head.weight" not in loaded
    np.testing.assert_array_equal(loaded["model.embed_tokens.weight"], embedding)


def test_untied_head_missing_is_named(make_model_folder: MakeFolder) -> None:
    folder = rewrite(make_model_folder(tie_word_embeddings=False), lambda w: w.pop("lm_head.weight"))
    message = refused(folder)
    assert "lack lm_head.weight" in message
    assert "[320, 32]" in message
    assert "not tied" in message


def test_no_word_of_tying_and_no_head_ties_and_says_so(make_model_folder: MakeFolder) -> None:
    """As llama.cpp does; a config without the key and with a head in the file is not tied, as transformers has it."""
    silent = make_model_folder()
    tied = load_model(silent)
    config = json.loads((silent / "config.json").read_text())
    del config["tie_word_embeddings"]
    (silent / "config.json").write_text(json.dumps(config))
    loaded = load_model(silent)
    assert loaded.config.tied
    assert loaded.notes == (
        "the weights hold no lm_head.weight, and config.json does not say whether the head is tied: "
        "the embedding is taken for it",
    )
    np.testing.assert_array_equal(loaded.model([1, 5, 2]), tied.model([1, 5, 2]))
    head = np.ones((320, 32), np.float32)
    loaded = load_model(rewrite(silent, lambda w: w.update({"lm_head.weight": head})))
    assert not loaded.config.tied
    assert loaded.notes == ()


def test_a_gguf_has_no_config_json() -> None:
    """Its settings stand in its header, and that is what messages say."""
    checkpoint = open_checkpoint(Path(__file__).parents[1] / "data" / "gguf" / "converted" / "llama.gguf")
    config = replace(checkpoint.config(), ffn_dim=7)
    with pytest.raises(CheckpointError, match="where the header asks for") as caught:
        load_tensors(checkpoint, config)
    assert "config.json" not in str(caught.value)


def test_missing_tensor_is_named_with_its_shape(make_model_folder: MakeFolder) -> None:
    message = refused(rewrite(make_model_folder(), lambda w: w.pop("model.layers.2.mlp.up_proj.weight")))
    assert "lack model.layers.2.mlp.up_proj.weight, expected with shape [48, 32]" in message


def test_misshapen_tensor_is_named_with_both_shapes(make_model_folder: MakeFolder) -> None:
    name = "model.layers.0.self_attn.k_proj.weight"
    message = refused(rewrite(make_model_folder(), lambda w: w.update({name: np.zeros((32, 32), np.float32)})))
    assert f"{name} has shape [32, 32], where config.json asks for [16, 32]" in message


def test_transposed_tensor_does_not_pass_for_its_size(make_model_folder: MakeFolder) -> None:
    name = "model.layers.0.self_attn.k_proj.weight"
    message = refused(rewrite(make_model_folder(), lambda w: w.update({name: w[name].T.copy()})))
    assert "[32, 16], where config.json asks for [16, 32]" in message


def test_extra_tensors_are_ignored_with_a_note(make_model_folder: MakeFolder) -> None:
    hostile = "evil\x1b]52;c;AAAA\x07"
    folder = rewrite(make_model_folder(), lambda w: w.update({hostile: np.zeros(2, np.int8)}))
    notes: list[str] = []
    assert hostile not in load(folder, notes)
    assert len(notes) == 1
    assert notes[0].startswith("ignored 1 tensor that")
    assert notes[0].isprintable()


def test_rotary_frequencies_are_ignored_in_silence(make_model_folder: MakeFolder) -> None:
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    notes: list[str] = []
    load(rewrite(make_model_folder(), lambda w: w.update({name: np.zeros(4, np.float32)})), notes)
    assert notes == []


@pytest.mark.parametrize(("dtype", "stored"), [("I8", np.int8), ("I64", np.int64)])
def test_other_types_are_refused_by_name(dtype: str, stored: Any, make_model_folder: MakeFolder) -> None:
    name = "model.norm.weight"
    message = refused(rewrite(make_model_folder(), lambda w: w.update({name: w[name].astype(stored)})))
    assert f"{name} is {dtype}; glass reads F64, F32, F16, BF16" in message


def test_float64_is_rounded_to_float32(make_model_folder: MakeFolder) -> None:
    name, folder = "model.norm.weight", make_model_folder()
    exact = np.random.default_rng(3).normal(1, 0.2, 32)
    loaded = load(rewrite(folder, lambda w: w.update({name: exact})))[name]
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded, exact.astype(np.float32))


def test_float64_past_the_range_of_float32_is_refused(make_model_folder: MakeFolder) -> None:
    name = "model.norm.weight"
    folder = rewrite(make_model_folder(), lambda w: w.update({name: np.full(32, 1e300)}))
    with pytest.raises(CheckpointError, match="holds 32 values that are no finite numbers, the first inf"):
        load(folder)[name]


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2"])
def test_float8_is_refused_by_name(dtype: str, make_model_folder: MakeFolder) -> None:
    folder = make_model_folder()
    header = one_tensor("model.norm.weight", dtype=dtype, shape=[32], data_offsets=[0, 32])
    split_off(folder, header, bytes(32))
    assert f"model.norm.weight is {dtype}; glass reads" in refused(folder)


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_weights_that_are_no_numbers_are_named(
    bad: float, word: str, dtype: Any, make_model_folder: MakeFolder
) -> None:
    def spoil(weights: dict[str, Any]) -> None:
        for name in weights:
            weights[name] = weights[name].astype(dtype)
        weights["model.layers.1.mlp.down_proj.weight"][3, 7] = bad

    message = refused(rewrite(make_model_folder(), spoil))
    assert (
        f"model.layers.1.mlp.down_proj.weight holds 1 value that is no finite number, the first {word} at [3, 7]"
        in message
    )
