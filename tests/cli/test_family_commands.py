"""The commands with models of other families: every view, file and screen of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.family_configs import FAMILIES
from helpers.family_models import family, family_folder
from helpers.in_process import glass

PROMPT = "one two one two one two, then three"
SHOWN = ["qwen3", "mistral", "gemma3", "gemma2", "olmo2", "smollm3", "phi3-longrope", "gpt2", "gpt_neox", "llama-yarn"]


def run(kind: str, command: str, *words: str) -> str:
    ran = glass(command, "-m", str(family_folder(kind)), *words)
    assert ran.code == 0, ran.err
    return ran.out


@pytest.mark.parametrize("kind", FAMILIES)
def test_info_tokenize_and_generate(kind: str) -> None:
    told = json.loads(run(kind, "info", "--json"))
    assert told["n_parameters"] == family(kind).config.n_parameters
    assert family(kind).config.architecture.class_name in run(kind, "info")
    assert "bytes" in run(kind, "info", "--tensors") or "B" in run(kind, "info", "--tensors")
    assert json.loads(run(kind, "tokenize", "one two", "--json"))
    written = run(kind, "generate", "one two", "--temperature", "0", "--max-new-tokens", "24", "--ignore-eos")
    assert written.startswith("one two") or written


@pytest.mark.parametrize("kind", SHOWN)
@pytest.mark.parametrize(
    "options",
    [
        "", "--all", "--layer 0", "--decode", "--new 4", "--new 4 --layer 0", "--heads", "--explain", "--rows 30",
        "--what-if no-mask", "--what-if no-scale", "--step scores", "--step cache", "--step jacobian", "--json",
        "--decode --json", "--explain --json", "--heads --json", "--what-if no-scale --json",
    ],
)  # fmt: skip
def test_every_view(kind: str, options: str) -> None:
    out = run(kind, "dump-attn", *options.split(), PROMPT)
    assert out
    for wrong in ("NOT", "CHANGED", "OFF BY", "DIFFER", "HIDDEN CELLS", "nan"):
        assert wrong not in out
    if "--json" in options:
        json.loads(out)


@pytest.mark.parametrize("ending", ["npz", "safetensors", "json", "csv", "svg", "html"])
@pytest.mark.parametrize("kind", ["gemma3", "qwen3", "gpt2", "gemma2"])
def test_every_file(kind: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"dump.{ending}"
    run(kind, "dump-attn", "--all", PROMPT, "-o", str(path))
    assert path.stat().st_size > 1000
    if ending == "npz":
        keys = {name for name in np.load(path).files if name.startswith("L0.")}
        assert ("L0.q_norm" in keys) == (kind in ("gemma3", "qwen3"))
        assert ("L0.softcap" in keys) == (kind == "gemma2")
        assert ("L0.rope_q" in keys) == (kind != "gpt2")


def test_a_step_that_a_model_has_not_is_refused() -> None:
    ran = glass("dump-attn", "-m", str(family_folder("gpt2")), "--step", "rope_q", PROMPT)
    assert ran.code == 2
    assert ran.err.startswith(
        "glass: this gpt2 model has no step 'rope_q'. Steps of attention: q, k, v, cache, scores,"
    )


def test_blocks_are_for_attention_over_everything() -> None:
    ran = glass("dump-attn", "-m", str(family_folder("mistral")), "--blocked", PROMPT)
    assert (ran.code, ran.out) == (2, "")
    assert "layer 1 has a window" in ran.err


def test_a_model_with_embeddings_of_positions_does_not_slide() -> None:
    ran = glass("generate", "-m", str(family_folder("gpt2")), "--overflow", "slide", "one")
    assert ran.code == 2
    assert "each position of this model has an embedding" in ran.err


def test_info_names_windows_and_bases() -> None:
    page = " ".join(run("gemma3", "info").split())
    assert "6 layers keep the last 9 tokens" in page
    assert "theta 10,000 in layers with a window" in page
    assert "none: positions have embeddings" in " ".join(run("gpt2", "info").split())
