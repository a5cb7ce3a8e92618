"""Which model `glass kv-budget` speaks of: paths before names, and the screen says what was read."""

import json
from pathlib import Path

import pytest
from helpers.hub_cache import put_in_cache
from helpers.in_process import LLAMA, budget, glass

from glasscli.cli import models

REPO = "meta-llama/Llama-3.1-8B"
GGUF = Path(__file__).parents[1] / "data" / "gguf" / "converted" / "llama.gguf"
SMALL = {**LLAMA, "num_hidden_layers": 4}  # 8 × 128 × 2 × 2 bytes × 4 layers: 16 KiB a token, an eighth of the real one
NAMED = ["llama-3.1-8b", REPO]  # both well known


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an empty working directory."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(models, "_fetched", {})
    return tmp_path / "hub"


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(SMALL))
    return folder


def per_token(*args: str) -> tuple[int, str]:
    said = budget(*args)
    return said["bytes_per_token"], said["source"]


@pytest.mark.parametrize("option", ["-m", "--config"])
@pytest.mark.parametrize("name", NAMED)
def test_a_path_wins_over_a_name(option: str, name: str) -> None:
    size, source = per_token(option, name)
    assert size == 131_072
    assert "arXiv:2407.21783" in source
    write(Path(name))
    assert per_token(option, name) == (16_384, f"{name}/config.json")
    assert per_token(option, f"./{name}") == (16_384, f"{name}/config.json")
    assert f"source: {name}/config.json" in glass("kv-budget", option, name).out


def test_a_path_that_looks_like_a_name() -> None:
    """512 MiB at 4,096 tokens would be the well-known model's; this folder's model needs 64."""
    write(Path("models/llama-3.1-8b"))
    said = budget("-m", "models/llama-3.1-8b", "--ctx", "4k")
    assert said["bytes_total"] == 64 * 2**20
    assert said["model"] == "models/llama-3.1-8b"  # not the name of the other one
    both = budget("--compare", "models/llama-3.1-8b,llama-3.1-8b")["models"]
    assert [model["model"] for model in both] == ["models/llama-3.1-8b", "llama-3.1-8b"]
    assert [model["bytes_per_token"] for model in both] == [16_384, 131_072]


def test_what_the_cache_holds_wins_over_the_well_known(cache: Path, tmp_path: Path) -> None:
    snapshot = put_in_cache(cache, REPO, write(tmp_path / "model"))
    for option in ("-m", "--config"):
        assert per_token(option, REPO) == (16_384, str(snapshot / "config.json"))
    assert budget("-m", REPO)["model"] == REPO


def test_the_shipped_model_and_gguf() -> None:
    assert per_token("-m", "glass-1m")[0] == 2 * 4 * 2 * 32 * 2  # K and V, layers, heads, width, bytes
    assert per_token("-m", str(GGUF)) == per_token("--config", str(GGUF))
    assert per_token("-m", str(GGUF))[1] == str(GGUF)


def test_the_environment_names_the_model() -> None:
    write(Path("here"))
    env = {"GLASS_MODEL": "here"}
    assert json.loads(glass("kv-budget", "--json", env=env).out)["source"] == "here/config.json"
    assert json.loads(glass("kv-budget", "--json", "-m", "gpt-2", env=env).out)["model"] == "gpt-2"
    assert json.loads(glass("kv-budget", "--json", "--hq", "4", env=env).out)["hq"] == 4
    assert glass("kv-budget", env={"GLASS_MODEL": ""}).code == 2
    assert "models, as of" in glass("kv-budget", "--list", env=env).out


def test_absent(cache: Path) -> None:
    ran = glass("kv-budget", "-m", "someone/else")
    assert ran.code == 1
    assert ran.err == (
        f"glass: someone/else: does not exist, and Hugging Face's cache ({cache}) does not hold it. "
        "hf:someone/else downloads it\n"
    )
    assert glass("kv-budget", "-m", "lama-3.1-8b").err.startswith(
        "glass: no model is called 'lama-3.1-8b'. Did you mean llama-3.1-8b"
    )
    assert "no such file or folder" in glass("kv-budget", "--config", "conifg").err
    assert "no such file or folder" in glass("kv-budget", "-m", "conifg.json").err


def test_a_server_is_told_the_name_that_it_knows(cache: Path, tmp_path: Path) -> None:
    put_in_cache(cache, REPO, write(tmp_path / "model"))
    assert f"vllm serve {REPO} " in glass("kv-budget", "-m", REPO, "--emit", "vllm").out
    write(Path("here"))
    assert "vllm serve here " in glass("kv-budget", "-m", "here", "--emit", "vllm").out
