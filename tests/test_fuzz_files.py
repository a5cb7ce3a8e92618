"""Files changed at random: a clean error, or the very answer that another reader gives. Never a traceback.

The other readers: the `safetensors` package for weights, `reference.py` with its own reading of config.json for
logits, the `tokenizers` package for text.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import reference
import safetensors
import tokenizers
from hypothesis import event, given
from hypothesis import strategies as st
from model_folders import byte_level, safetensors_bytes, write_folder
from mutations import KINDS, Edit, edited
from random_llama import settings, tensors
from safetensors.numpy import load as load_bytes

from glasscli.checkpoint import load_tensors
from glasscli.config import ModelConfig
from glasscli.errors import GlassError
from glasscli.facts import read_facts
from glasscli.load import load_model
from glasscli.tokenizer import Tokenizer, load_tokenizer

CONFIG = settings(num_hidden_layers=1, vocab_size=320, hidden_size=16, intermediate_size=8, head_dim=4)
WEIGHTS = tensors(CONFIG)
IDS = [0, 5, 7, 7, 200]
T = TypeVar("T")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples; each test rewrites what it changes."""
    return write_folder(tmp_path_factory.mktemp("fuzz") / "m", CONFIG, WEIGHTS)


def said(error: GlassError) -> None:
    """An error must be one or two lines that can't steer a terminal."""
    lines = str(error).splitlines()
    assert 1 <= len(lines) <= 3
    assert all(line.isprintable() for line in lines)
    assert len(str(error)) < 1500


def outcome(read: Callable[[], T]) -> T | None:
    """What `read` gives, or None if it refused, cleanly."""
    try:
        found = read()
    except GlassError as error:
        said(error)
        event("refused")
        return None
    event("taken")
    return found


# --- weights ----------------------------------------------------------------------------------------------------

edits = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 2**31), st.integers(0, 64), st.binary()), min_size=1, max_size=3
)


def check_weights(folder: Path, data: bytes) -> bool:
    """Whether glass takes a file; if so, the safetensors package must read the same numbers from it."""
    (folder / "model.safetensors").write_bytes(data)
    found = outcome(lambda: dict(load_tensors(folder, ModelConfig.from_dict(CONFIG))))
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


# --- the index of shards ----------------------------------------------------------------------------------------


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
    found = outcome(lambda: dict(load_tensors(folder, ModelConfig.from_dict(CONFIG))))
    if found is not None:
        for name, array in found.items():
            np.testing.assert_array_equal(array, WEIGHTS[name])


# --- config.json ------------------------------------------------------------------------------------------------

DEFAULTS = {
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, 1, 2, 3, 4, 5, 8, 16, 320, -1, 2**31, 10**12, 10**40, 0.5, 1e-3, 1.0, 4.0, 1e300, math.nan, math.inf]
    ),
    st.sampled_from(["", "4", "silu", "gelu", "llama", "mistral", "default", "linear", "llama3", "yarn", "\x1b[0m"]),
    st.lists(st.integers(-5, 400), max_size=3),
    st.dictionaries(st.sampled_from(["rope_type", "rope_theta", "factor"]), st.sampled_from(["linear", 2, 100.0])),
)
ROPE_FIELDS = ["rope_type", "rope_theta", "factor", "low_freq_factor", "partial_rotary_factor"]


def meaning(config: dict[str, Any]) -> dict[str, Any]:
    """The settings that a config.json stands for, read as transformers' LlamaConfig reads it."""
    given = {key: value for key, value in config.items() if value is not None}
    full = {**DEFAULTS, **given}
    full.setdefault("num_key_value_heads", full["num_attention_heads"])
    full.setdefault("head_dim", full["hidden_size"] // full["num_attention_heads"])
    rope = {key: value for key, value in full["rope_parameters"].items() if value is not None}
    theta = full.get("rope_theta", 10000.0)
    full["rope_parameters"] = {"rope_type": rope.get("type", "default"), "rope_theta": theta, **rope}
    return full


@given(st.data())
def test_changed_settings(folder: Path, data: st.DataObject) -> None:
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(WEIGHTS))
    config = json.loads(json.dumps(CONFIG))
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.booleans()):
            target, field = config, data.draw(st.sampled_from(sorted(CONFIG)))
        else:
            target, field = config.get("rope_parameters"), data.draw(st.sampled_from(ROPE_FIELDS))
        if isinstance(target, dict):
            target[field] = data.draw(values)
            if data.draw(st.integers(0, 3)) == 0:
                del target[field]
    (folder / "config.json").write_text(json.dumps(config))
    outcome(lambda: read_facts(folder))
    loaded = outcome(lambda: load_model(folder))
    if loaded is not None:
        expected = reference.logits(meaning(config), WEIGHTS, IDS)
        np.testing.assert_allclose(loaded.model(IDS), expected, atol=2e-4)


@given(edits)
def test_changed_bytes_of_the_config(folder: Path, changes: list[Edit]) -> None:
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(WEIGHTS))
    text = edited(json.dumps(CONFIG).encode(), changes, 2**31)
    (folder / "config.json").write_bytes(text)
    loaded = outcome(lambda: load_model(folder))
    if loaded is not None:
        expected = reference.logits(meaning(json.loads(text)), WEIGHTS, IDS)
        np.testing.assert_allclose(loaded.model(IDS), expected, atol=2e-4)


# --- tokenizer.json ---------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("field", [*sorted(CONFIG), "rope_scaling", "partial_rotary_factor", "quantization_config"])
def test_values_too_long_or_too_deep_to_show(folder: Path, field: str) -> None:
    (folder / "model.safetensors").write_bytes(safetensors.numpy.save(WEIGHTS))
    for depth in (3, sys.getrecursionlimit() // 2, sys.getrecursionlimit() - 200, 100_000):
        text = json.dumps({**CONFIG, field: "HERE"}).replace('"HERE"', "[" * depth + "]" * depth)
        (folder / "config.json").write_text(text)
        with pytest.raises(GlassError) as caught:
            load_model(folder)
        said(caught.value)
    (folder / "config.json").write_text(json.dumps({**CONFIG, field: ["\x1b]52;c;AAAA\x07" * 100_000]}))
    with pytest.raises(GlassError) as caught:
        load_model(folder)
    said(caught.value)
