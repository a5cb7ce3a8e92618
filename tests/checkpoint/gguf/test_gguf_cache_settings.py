"""The size of a cache from a header alone: against arithmetic, and against what is not said."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.gguf_files import write_gguf

from glasscli.budget.cache_size import cache_size
from glasscli.checkpoint.gguf.cache_settings import LATENT, PLAIN, WINDOWED, cache_settings
from glasscli.checkpoint.gguf.settings import FAMILIES
from glasscli.errors import ConfigError

KEYS: dict[str, Any] = {
    "block_count": 4, "context_length": 4096, "embedding_length": 64, "feed_forward_length": 128,
    "attention.head_count": 8, "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-5,
    "attention.layer_norm_epsilon": 1e-5, "vocab_size": 100,
}  # fmt: skip


def n_bytes(tmp_path: Path, architecture: str, tokens: int = 1000, **more: Any) -> int:
    """Bytes of one sequence, in float16 as of a quantised file."""
    said = {f"{architecture}.{key}": value for key, value in (KEYS | more).items() if value is not None}
    path = write_gguf(tmp_path / "m.gguf", {"general.architecture": architecture} | said)
    return cache_size(cache_settings(path), tokens).bytes_total


@pytest.mark.parametrize("architecture", [*PLAIN, *(set(FAMILIES) - {"gpt2", "gptneox", "gemma2", "gemma3"})])
def test_full_attention(architecture: str, tmp_path: Path) -> None:
    assert n_bytes(tmp_path, architecture) == 1000 * 2 * 4 * 2 * 8 * 2
    wider = {"attention.key_length": 32, "attention.value_length": 16}
    assert n_bytes(tmp_path, architecture, **wider) == 1000 * 4 * 2 * (32 + 16) * 2


@pytest.mark.parametrize("architecture", ["gpt2", "gptneox"])
def test_a_head_for_each_query_head(architecture: str, tmp_path: Path) -> None:
    assert n_bytes(tmp_path, architecture, **{"attention.head_count_kv": None}) == 1000 * 2 * 4 * 8 * 8 * 2


@pytest.mark.parametrize(("architecture", "n_full"), [("gemma2", 2), ("gpt-oss", 2), ("cohere2", 1), ("gemma3", 0)])
def test_windows(architecture: str, n_full: int, tmp_path: Path) -> None:
    row = 2 * 2 * 8 * 2
    found = n_bytes(tmp_path, architecture, **{"attention.sliding_window": 100})
    assert found == row * (n_full * 1000 + (4 - n_full) * 100)
    listed = {"attention.sliding_window": 100, "attention.sliding_window_pattern": [False, True, True, True]}
    assert n_bytes(tmp_path, architecture, **listed) == row * (1000 + 3 * 100)


def test_a_latent_row(tmp_path: Path) -> None:
    """DeepSeek-V3's: 512 numbers and 64 that are rotated, whatever the heads."""
    widths = {"attention.kv_lora_rank": 512, "rope.dimension_count": 64, "attention.key_length": 576}
    more = {"attention.value_length": 512, "attention.key_length_mla": 192, "attention.value_length_mla": 128}
    for heads in ({"attention.head_count_kv": 1}, {"attention.head_count_kv": 8}):
        assert n_bytes(tmp_path, "deepseek2", **widths, **more, **heads) == 1000 * 4 * (512 + 64) * 2


def test_heads_that_differ_from_layer_to_layer(tmp_path: Path) -> None:
    assert n_bytes(tmp_path, "llama", **{"attention.head_count_kv": [2, 4, 8, 1]}) == 1000 * 2 * 15 * 8 * 2
    lists = {"attention.head_count": [8, 0, 8, 8], "attention.head_count_kv": [2, 0, 4, 0]}
    assert n_bytes(tmp_path, "olmo", **lists) == 1000 * 2 * 6 * 8 * 2  # layers without heads keep nothing


def test_what_the_header_does_not_say_is_refused(tmp_path: Path) -> None:
    for architecture in ("mamba", "jamba", "gemma3n", "bert", "made-up"):
        with pytest.raises(ConfigError, match=f"general.architecture is '{architecture}'; glass sizes apertus"):
            n_bytes(tmp_path, architecture)
    with pytest.raises(ConfigError, match="sliding_window is set"):
        n_bytes(tmp_path, "olmo", **{"attention.sliding_window": 10})
    with pytest.raises(ConfigError, match="leaves no layer with attention"):
        n_bytes(tmp_path, "olmo", **{"attention.head_count": 0})
    with pytest.raises(ConfigError, match="kv_lora_rank is missing"):
        n_bytes(tmp_path, "deepseek2", **{"rope.dimension_count": 64})


def test_no_architecture_is_in_two_tables() -> None:
    tables = [*FAMILIES, *PLAIN, *WINDOWED, *LATENT]
    assert len(tables) == len(set(tables))


def test_the_command_sizes_a_gguf_without_numpy(tmp_path: Path) -> None:
    said = {f"llama.{key}": value for key, value in KEYS.items()}
    path = write_gguf(tmp_path / "tiny.gguf", {"general.architecture": "llama"} | said)
    program = "import sys; from glasscli.cli.app import main; main(sys.argv[1:]); print({'numpy'} & set(sys.modules))"
    args = ["kv-budget", "--config", str(path), "--ctx", "1000", "--json"]
    run = subprocess.run([sys.executable, "-c", program, *args], capture_output=True, text=True, check=True)
    assert run.stdout.endswith("set()\n")
    assert '"tiny"' in run.stdout
