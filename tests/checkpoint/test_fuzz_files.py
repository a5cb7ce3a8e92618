"""Files changed at random: a clean error, or the very answer that another reader gives. Never a traceback.

The other readers: the `safetensors` package for weights, the `tokenizers` package for text.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import tokenizers
from helpers.fuzz_cases import CONFIG, WEIGHTS, edits, outcome
from helpers.model_folders import byte_level, safetensors_bytes, write_folder
from helpers.mutations import Edit, edited
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load as load_bytes

from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.facts import read_facts
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.model_config import ModelConfig
from glasscli.tokenizer.tokenizer import Tokenizer, load_tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples; each test rewrites what it changes."""
    return write_folder(tmp_path_factory.mktemp("fuzz") / "m", CONFIG, WEIGHTS)


# Weights.


def check_weights(folder: Path, data: bytes) -> bool:
    """Whether glass takes a file; if so, the safetensors package must read the same numbers from it."""
    (folder / "model.safetensors").write_bytes(data)
    found = outcome(lambda: dict(load_tensors(open_checkpoint(folder), ModelConfig.from_dict(CONFIG))))
    outcome(lambda: read_facts(folder))
    if found is None:
        return False
    theirs = load_bytes(data)  # raises if the package refuses it
    for name, array in found.items():
        np.testing.assert_array_equal(array, theirs[name].astype(np.float32))
    return True


@given(edits, st.booleans())
def test_changed_bytes_of_a_weight_file(folder: Path, changes: list[Edit], in_header: bool) -> None:
    data = safetensors.numpy.save(WEIGHTS)
    within = 8 + int.from_bytes(data[:8], "little") if in_header else len(data)
    check_weights(folder, edited(data, changes, within))


# What may stand in a header where something else belongs.
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.sampled_from(["F32", "F16", "BF16", "I64", "F8_E4M3", "Q4", "F32 "]),
    st.lists(st.one_of(st.integers(-1, 2**64), st.floats(), st.none()), max_size=4),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(st.data())
def test_a_header_with_other_values(folder: Path, data: st.DataObject) -> None:
    original = safetensors.numpy.save(WEIGHTS)
    size = int.from_bytes(original[:8], "little")
    header = json.loads(original[8 : 8 + size])
    name = data.draw(st.sampled_from(sorted(header)))
    field = data.draw(st.sampled_from(["dtype", "shape", "data_offsets", "name", "whole", "swap"]))
    if field == "name":
        header[data.draw(st.text(max_size=20))] = header.pop(name)
    elif field == "whole":
        header[name] = data.draw(junk)
    elif field == "swap":  # two tensors trade places in the file
        other = data.draw(st.sampled_from(sorted(header)))
        a, b = header[name], header[other]
        a["data_offsets"], b["data_offsets"] = b["data_offsets"], a["data_offsets"]
    else:
        header[name][field] = data.draw(junk)
    check_weights(folder, safetensors_bytes(header, original[8 + size :]))


@given(
    st.lists(st.sampled_from(sorted(WEIGHTS)), unique=True), st.sampled_from(["drop", "transpose", "double", "half"])
)
def test_other_sets_of_tensors(folder: Path, names: list[str], change: str) -> None:
    weights = dict(WEIGHTS)
    for name in names:
        array = weights.pop(name)
        if change == "transpose":
            weights[name] = array.T.copy()
        elif change == "double":
            weights[name] = np.concatenate([array, array])
        elif change == "half":
            weights[name] = array.astype(np.float16)
    taken = check_weights(folder, safetensors.numpy.save(weights))
    assert taken == (not names or change == "half" or (change == "transpose" and _alike_transposed(names)))


def _alike_transposed(names: list[str]) -> bool:
    return all(WEIGHTS[name].shape == WEIGHTS[name].T.shape for name in names)


# The index of shards.


@given(st.data())
def test_changed_indexes(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = write_folder(tmp_path_factory.mktemp("index") / "m", CONFIG, WEIGHTS)
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    index: Any = {"metadata": {}, "weight_map": dict.fromkeys(WEIGHTS, "a.safetensors")}
    key = data.draw(st.sampled_from(["weight_map", "metadata", *sorted(WEIGHTS)]))
    new = data.draw(junk | st.sampled_from(["../a.safetensors", "/dev/zero", "a.safetensors", "b", "config.json"]))
    if key in index:
        index[key] = new
    else:
        index["weight_map"][key] = new
    text = edited(json.dumps(index).encode(), data.draw(st.just([]) | edits), 2**31)
    (folder / "model.safetensors.index.json").write_bytes(text)
    found = outcome(lambda: dict(load_tensors(open_checkpoint(folder), ModelConfig.from_dict(CONFIG))))
    if found is not None:
        for name, array in found.items():
            np.testing.assert_array_equal(array, WEIGHTS[name])


# tokenizer.json.

TOKENIZER = byte_level().to_str()


@given(edits, st.text(max_size=20))
def test_changed_bytes_of_the_tokenizer(folder: Path, changes: list[Edit], text: str) -> None:
    changed = edited(TOKENIZER.encode(), changes, 2**31)
    (folder / "tokenizer.json").write_bytes(changed)

    def read() -> tuple[list[int], str]:
        found: Tokenizer = load_tokenizer(folder)
        token_ids = found.encode(text)
        assert all(found.label(token_id).isprintable() for token_id in token_ids)
        return token_ids, found.decode(token_ids)

    ours = outcome(read)
    if ours is not None:
        theirs = tokenizers.Tokenizer.from_str(changed.decode())
        theirs.encode_special_tokens = True
        assert ours[0] == theirs.encode(text).ids
