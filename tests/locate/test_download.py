"""Downloads from a hub on the loopback: what is fetched for which need, and what is said where that fails."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import in_process
from helpers.damaged_weights import shard
from helpers.hub_cache import COMMIT
from helpers.hub_server import HubServer
from helpers.model_folders import write_folder
from helpers.terminal import glass, in_terminal
from huggingface_hub import constants

from glasscli.cli import models

REPO = "someone/tiny-llama"
GGUF = Path(__file__).parents[1] / "data" / "gguf" / "converted"
RUN = ("generate", "-m", f"hf:{REPO}", "Once", "-n", "3", "--seed", "1")


@pytest.fixture(scope="module")
def server() -> Iterator[HubServer]:
    with HubServer() as running:
        yield running


@pytest.fixture
def hub(server: HubServer) -> HubServer:
    server.repos.clear()
    server.asked.clear()
    return server


@pytest.fixture
def home(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own and this hub for the network, in this process: what the variables say when it starts."""
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr("glasscli.cli.models._fetched", {})
    return tmp_path / "hf"


def run(hub: HubServer, home: Path, *args: str, **env: str) -> Any:
    """`glass` in this process."""
    models._fetched.clear()
    return in_process.glass(*args, env={"HF_HOME": str(home), **env})


def run_alone(hub: HubServer, home: Path, *args: str, **env: str) -> Any:
    """`glass` in a process of its own: huggingface_hub reads its variables anew."""
    ran = glass(*args, HF_ENDPOINT=hub.url, HF_HOME=str(home), **env)
    assert b"Traceback" not in ran.stderr
    return in_process.Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def failed(hub: HubServer, home: Path, *args: str, **env: str) -> str:
    """The one line on stderr of a run that the hub brought down."""
    ran = run(hub, home, *args, **env)
    assert (ran.code, ran.out) == (1, ""), ran.err
    assert ran.err.startswith("glass: ")
    assert ran.err.count("\n") == 1
    return ran.err


def test_found(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    """The same text as from the folder; the next time nothing is fetched, and `org/name` asks nobody."""
    hub.add(REPO, tiny_model_folder)
    ran = run_alone(hub, home, *RUN)
    assert ran.code == 0, ran.err
    assert ran.out == in_process.glass("generate", "-m", str(tiny_model_folder), *RUN[3:]).out
    assert hub.downloaded() == ["config.json", "tokenizer.json", "model.safetensors"]
    assert {path.split("/")[1] for _, path, _ in hub.asked} <= {"someone", "elsewhere"}
    hub.asked.clear()
    assert run(hub, home, *RUN).out == ran.out
    assert hub.downloaded() == []
    hub.asked.clear()
    assert run(hub, home, "generate", "-m", REPO, *RUN[3:]).out == ran.out
    assert hub.asked == []


def test_a_tokenizer_needs_no_weights(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    hub.add(REPO, tiny_model_folder)
    assert run(hub, home, "tokenize", "-m", f"hf:{REPO}", "Once").code == 0
    assert hub.downloaded() == ["tokenizer.json"]


def test_shards(hub: HubServer, home: Path, tmp_path: Path) -> None:
    hub.add(REPO, shard(write_folder(tmp_path / "model")))
    assert run(hub, home, *RUN).code == 0
    shards = ["a.safetensors", "b.safetensors"]
    assert hub.downloaded() == ["config.json", "tokenizer.json", "model.safetensors.index.json", *shards]


def test_the_only_gguf_and_one_of_several(hub: HubServer, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "tiny.Q8_0.gguf").write_bytes((GGUF / "llama.gguf").read_bytes())
    offered = hub.add(REPO, folder)
    said = failed(hub, home, "kv-budget", "-m", f"hf:{REPO}")
    assert said.endswith(f"has no config.json on the hub. hf:{REPO}/tiny.Q8_0.gguf downloads its GGUF\n")
    assert hub.downloaded() == []
    assert run(hub, home, "info", "-m", f"hf:{REPO}").code == 0
    assert run(hub, home, "kv-budget", "-m", f"hf:{REPO}").code == 0  # now that it is there
    offered.files["other.gguf"] = offered.files["tiny.Q8_0.gguf"]
    said = failed(hub, home, "info", "-m", f"hf:{REPO}")
    assert said.endswith(f"holds 2 GGUF files; name one as hf:{REPO}/FILE: 'other.gguf', 'tiny.Q8_0.gguf'\n")
    hub.asked.clear()
    assert run(hub, home, "info", "-m", f"hf:{REPO}/other.gguf").code == 0
    assert run(hub, home, "info", "-m", f"{REPO}/other.gguf").code == 0
    assert "has no none.gguf on" in failed(hub, home, "info", "-m", f"hf:{REPO}/none.gguf")


def test_gated(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    hub.add(REPO, tiny_model_folder, gated=True, token="hf_right")
    for env in ({}, {"HF_TOKEN": "hf_wrong"}):
        said = failed(hub, home, *RUN, **env)
        assert f"{REPO}: is gated. Accept its conditions at {hub.url}/{REPO}, and give a token" in said
        assert "hf_wrong" not in said
    assert hub.downloaded() == []
    assert run(hub, home, *RUN, HF_TOKEN="hf_right").code == 0


def test_missing(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    assert f"{REPO}: {hub.url} has no such model, or it is private and needs a token" in failed(hub, home, *RUN)
    hub.add(REPO, tiny_model_folder).files.pop("tokenizer.json")
    assert f"{REPO}: has no tokenizer.json on {hub.url}" in failed(hub, home, *RUN)
    assert hub.downloaded() == ["config.json"]


def test_weights_that_glass_does_not_read(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    files = hub.add(REPO, tiny_model_folder).files
    files["pytorch_model.bin"] = files.pop("model.safetensors")
    said = failed(hub, home, *RUN)
    assert "has no model.safetensors on the hub, but pytorch_model.bin, which glass does not read" in said
    assert "pytorch_model.bin" not in hub.downloaded()


def test_a_model_that_glass_does_not_run_is_refused_before_its_weights(
    hub: HubServer, home: Path, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text()) | {"architectures": ["MambaForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(config))
    hub.add(REPO, folder)
    said = failed(hub, home, *RUN)
    assert "architectures is " in said
    assert "MambaForCausalLM" in said
    assert hub.downloaded() == ["config.json"]
    assert run(hub, home, "info", "-m", f"hf:{REPO}").code == 0


def test_cut_off_once_goes_on_where_it_ended(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    hub.add(REPO, tiny_model_folder, broken={"model.safetensors": 1})
    assert run(hub, home, *RUN).code == 0


def test_cut_off_for_good_leaves_nothing_half_done(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    """huggingface_hub tries five times more; what it can't finish is not in the cache, and the next run mends it."""
    repo = hub.add(REPO, tiny_model_folder, broken={"tokenizer.json": 99})
    said = failed(hub, home, *RUN)
    assert f"{REPO}/tokenizer.json: the download broke off" in said
    assert said.endswith("Run the same again\n")
    snapshot = home / "hub" / "models--someone--tiny-llama" / "snapshots" / COMMIT
    assert [path.name for path in snapshot.iterdir()] == ["config.json"]
    assert "does not hold all of it" in failed(hub, home, "generate", "-m", REPO, "Once")
    repo.broken.clear()
    assert run(hub, home, *RUN).code == 0


def test_offline(hub: HubServer, home: Path, tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(REPO, tiny_model_folder)
    there = run(hub, home, *RUN)
    hub.asked.clear()
    assert run_alone(hub, home, *RUN, HF_HUB_OFFLINE="1").out == there.out
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    said = failed(hub, home, "generate", "-m", "hf:someone/else", "Once")
    assert said == "glass: someone/else: is not in Hugging Face's cache, and HF_HUB_OFFLINE forbids to download it\n"
    assert hub.asked == []


def test_no_network(hub: HubServer, home: Path, tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens: said at once; with a copy in the cache, that is used and it is said."""
    hub.add(REPO, tiny_model_folder)
    there = run(hub, home, *RUN)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    said = failed(hub, home, "generate", "-m", "hf:someone/else", "Once")
    assert said.startswith(f"glass: someone/else/config.json: {url} can't be reached (")
    ran = run(hub, home, *RUN)
    assert (ran.code, ran.out) == (0, there.out)
    assert ran.err.endswith("; the copy in the cache is used\n")
    assert run(hub, home, *RUN, "-q").err == ""


def test_nothing_but_the_prefix_leads_to_the_network(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    hub.add(REPO, tiny_model_folder)
    for command in (("info",), ("tokenize", "Once"), ("generate", "Once"), ("dump-attn",)):
        assert f"hf:{REPO} downloads it" in failed(hub, home, command[0], "-m", REPO, *command[1:])
    assert hub.asked == []


def test_a_terminal_sees_no_bar_of_another_program(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    hub.add(REPO, tiny_model_folder)
    code, seen = in_terminal(*RUN, "-q", HF_ENDPOINT=hub.url, HF_HOME=str(home))
    assert code == 0
    assert "%" not in seen
    assert "B/s" not in seen


def test_a_budget_needs_config_json_alone(hub: HubServer, home: Path, tiny_model_folder: Path) -> None:
    hub.add(REPO, tiny_model_folder)
    by_folder = json.loads(in_process.glass("kv-budget", "-m", str(tiny_model_folder), "--json").out)
    for option in ("-m", "--config", "-m"):
        ran = run(hub, home, "kv-budget", option, f"hf:{REPO}", "--json")
        assert ran.code == 0, ran.err
        said = json.loads(ran.out)
        assert (said["model"], said["bytes_total"]) == (REPO, by_folder["bytes_total"])
    assert hub.downloaded() == ["config.json"]
    assert f"models--someone--tiny-llama/snapshots/{COMMIT}/config.json" in said["source"]
    assert "does not hold all of it" in failed(hub, home, "generate", "-m", REPO, "Once")


def test_a_budget_reads_what_modelopt_says_beside_the_config(
    hub: HubServer, home: Path, tiny_model_folder: Path
) -> None:
    quantised = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    files = hub.add(REPO, tiny_model_folder).files
    files["hf_quant_config.json"] = json.dumps(quantised).encode()
    ran = run(hub, home, "kv-budget", "-m", f"hf:{REPO}", "--json")
    assert json.loads(ran.out)["k_dtype"].startswith("fp8")
    assert hub.downloaded() == ["config.json", "hf_quant_config.json"]
