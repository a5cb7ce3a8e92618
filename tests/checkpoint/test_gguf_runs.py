"""Converted GGUFs of every family, run: the logits of the config and the tensors they were converted from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import random_model, random_tensors
from helpers.formula import weights
from helpers.gguf_files import write_gguf

from glasscli import Llama, ModelConfig
from glasscli.checkpoint.checkpoint import open_checkpoint
from glasscli.checkpoint.tensors import load_tensors
from glasscli.config.tensor_shapes import expected_tensors

CONVERTED = Path(__file__).parents[1] / "data" / "gguf" / "converted"
FACTS: dict[str, Any] = json.loads((CONVERTED / "facts.json").read_text())
IDS = [1, 5, 2, 7, 3, 3, 8, 4, 19, 23, 0, 11, 6, 6, 9, 14, 2, 21, 10, 17]


@pytest.mark.parametrize("name", FACTS)
def test_the_logits_of_what_it_was_converted_from(name: str) -> None:
    config = ModelConfig.from_dict(FACTS[name]["config"])
    aliases = config.architecture.other_names
    tensors = {aliases.get(k, k): weights(k, s).astype(np.float32) for k, s in FACTS[name]["tensors"].items()}
    assert {spec.name for spec in expected_tensors(config)} <= set(tensors)
    checkpoint = open_checkpoint(CONVERTED / f"{name}.gguf")
    read = checkpoint.config()
    found = Llama(read, load_tensors(checkpoint, read))(IDS)
    expected = Llama(config, tensors)(IDS)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * float(np.abs(expected).max()))


def test_a_stablelm_with_norms_by_head_and_attention_beside_the_mlp(tmp_path: Path) -> None:
    """As llama.cpp's converter writes StableLM 2 12B: norms of heads stacked, and one norm a block."""
    given = FAMILIES["stablelm-2-12b"]
    tensors, parts = random_tensors(given), {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}
    parts |= {"input_layernorm": "attn_norm", "self_attn": "attn", "_proj": "", "attn.o.": "attn_output."}
    parts |= {"attn.": "attn_", "mlp.": "ffn_", "model.layers": "blk", "lm_head": "output", "layernorm": "norm"}
    written: dict[str, np.ndarray] = {}
    for name, array in tensors.items():
        stem, by_head, rest = name.partition(".norms.")
        for theirs, ours in parts.items():
            stem = stem.replace(theirs, ours)
        if by_head:
            written.setdefault(f"{stem}.weight", np.empty((0, len(array)), np.float32))
            assert int(rest.split(".")[0]) == len(written[f"{stem}.weight"])
            array = np.concatenate([written[f"{stem}.weight"], array[None]])
            stem += ".weight"
        written[stem] = array
    said = {"block_count": 3, "context_length": 1024, "embedding_length": 64, "feed_forward_length": 48,
            "attention.head_count": 4, "attention.head_count_kv": 1, "attention.layer_norm_epsilon": 1e-3,
            "rope.dimension_count": 4, "use_parallel_residual": True, "vocab_size": 96}  # fmt: skip
    header = {"general.architecture": "stablelm", **{f"stablelm.{key}": value for key, value in said.items()}}
    checkpoint = open_checkpoint(write_gguf(tmp_path / "m.gguf", header, written))
    config, notes = checkpoint.config(), list[str]()
    assert config.parallel
    found = Llama(config, load_tensors(checkpoint, config, notes))(IDS)
    assert not notes
    np.testing.assert_allclose(found, random_model("stablelm-2-12b")(IDS), rtol=1e-5, atol=1e-5)
