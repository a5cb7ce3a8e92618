"""What smaller caches cost, beside llama.cpp's own: mean KL divergence of the same texts with the same types.

`make_llama_cpp_divergence.py` wrote down llama.cpp's, between its logits with a float32 cache and with each of the
others. It also rounds queries to 8 bits where keys are packed, which shows beside q8_0 alone: with queries rounded so
as well, glass costs the same there, too.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.rounded_queries import RoundedQueries

from glasscli import load_model
from glasscli.arrays import Array
from glasscli.cache.choice_text import parse_choice
from glasscli.quality.divergence import kl_divergence

PACKED = json.loads((Path(__file__).parent / "gguf_divergence.json").read_text("utf-8"))["files"]
DATA = json.loads((Path(__file__).parent / "llama_cpp_divergence.json").read_text())
SHIPPED = DATA["shipped"]
HALF = slice(DATA["context"] // 2 - 1, -1)


@pytest.fixture(scope="module")
def full() -> list[Array]:
    """The scored halves with the full cache: 12 × 256 positions."""
    model = load_model().model
    return [model(ids)[HALF] for ids in SHIPPED["chunks"]]


@pytest.mark.parametrize("spec", [spec for spec in SHIPPED["llama_cpp"] if spec != "q8_0"])
def test_the_shipped_model_loses_as_much_as_in_llama_cpp(full: list[Array], spec: str) -> None:
    """Within 5 %; where this was written, 2.7 %."""
    assert mean_kld(full, spec) == pytest.approx(SHIPPED["llama_cpp"][spec], rel=0.05)


def test_eight_bits_cost_as_much_once_queries_are_rounded_too(full: list[Array]) -> None:
    """Without it 20 % less than in llama.cpp; with it within 3 %, where this was written .8 %."""
    theirs = SHIPPED["llama_cpp"]["q8_0"]
    assert mean_kld(full, "q8_0") < 0.95 * theirs < 2e-4
    assert mean_kld(full, "q8_0", rounded=True) == pytest.approx(theirs, rel=0.03)


def mean_kld(full: list[Array], spec: str, rounded: bool = False) -> float:
    model, choice = load_model().model, parse_choice(spec)
    trace = RoundedQueries(choice, model.config.head_dim) if rounded else None
    klds = [
        kl_divergence(logits, model(ids, model.chosen_cache(choice, len(ids)), trace=trace)[HALF])
        for logits, ids in zip(full, SHIPPED["chunks"], strict=True)
    ]
    assert sum(len(kld) for kld in klds) >= 2000
    return float(np.concatenate(klds).mean())


def test_so_did_a_model_whose_heads_are_rotated() -> None:
    """SmolLM2-135M, heads of 64, 1,024 positions, as both read it when this was made: within 20 %; it was 8.1 %."""
    theirs, ours = DATA["smollm2"]["llama_cpp"], DATA["smollm2"]["glass"]
    assert theirs.keys() == ours.keys()
    for spec in theirs.keys() - {"q8_0"}:
        assert ours[spec] == pytest.approx(theirs[spec], rel=0.2), spec
    for spec in ("q5_1", "q5_0", "q4_1", "q4_0"):
        assert all(found[f"{spec},norot"] > 1.5 * found[spec] for found in (theirs, ours)), spec
    assert max(theirs["q8_0"], ours["q8_0"]) < 5e-4


def test_so_did_its_eight_bits_once_queries_were_rounded_too() -> None:
    """Without that 36 % less than in llama.cpp, with it within 20 %: it was 12 %, and less with fewer bits."""
    smollm2 = DATA["smollm2"]
    theirs, ours, rounded = (smollm2[key] for key in ("llama_cpp", "glass", "glass_rounded_queries"))
    assert ours["q8_0"] < 0.8 * theirs["q8_0"]
    assert "q8_0" in rounded
    for spec, kld in rounded.items():
        assert kld == pytest.approx(theirs[spec], rel=0.2), spec
        assert abs(kld - theirs[spec]) < abs(ours[spec] - theirs[spec]), spec


@pytest.mark.parametrize("file", PACKED)
def test_packed_weights_are_what_llama_cpp_computes_in_float32(file: str) -> None:
    """As `make_gguf_divergence.py` found: what parts the two is what llama.cpp rounds on packed weights."""
    found, klds = PACKED[file], PACKED[file]["mean_kld"]
    assert found["positions"] >= 1000
    for pair in ("glass ‖ llama.cpp float32", "llama.cpp float32 ‖ glass"):
        assert klds[pair] < 1e-6
    for pair, own in (
        ("llama.cpp packed ‖ glass", "llama.cpp packed ‖ llama.cpp float32"),
        ("glass ‖ llama.cpp packed", "llama.cpp float32 ‖ llama.cpp packed"),
    ):
        assert klds[own] > 1e-3
        assert klds[pair] == pytest.approx(klds[own], rel=0.02)
