"""Reading a config from wherever it is, and what it may be instead."""

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from glasscli.config.source import read_config, title_of
from glasscli.errors import ConfigError

CONFIG = {"model_type": "llama", "num_hidden_layers": 2}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_any_unicode(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(json.dumps({**CONFIG, "名": "模型"}, ensure_ascii=False).encode(encoding))
    assert read_config(str(file)) == {**CONFIG, "名": "模型"}
    assert read_config(str(tmp_path)) == {**CONFIG, "名": "模型"}


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(buffer=io.BytesIO(json.dumps(CONFIG).encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_config("-") == CONFIG
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ConfigError, match="closed"):
        read_config("-")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"[1]", "found a list"),
        (b"7", "found a number"),
        (b'"llama"', "found a string"),
        (b"null", "found null"),
        (b'{"a": 1', "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b"\xff\xfe\xfd", "not text"),
        (b'{"a": "\xff"}', "not text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "a web page"),
        (b"GGUF\x03\x00\x00\x00\x00\x00\x00\x00", "a GGUF file"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00" + b'{"model.weight": {}}', "a safetensors file"),
        (b'{"a": 1, "a": 2}', "given twice"),
        (b'{"a": {"b": 1, "b": 2}}', "given twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "thousands of digits"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
    ],
)
def test_what_is_no_config(tmp_path: Path, data: bytes, says: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        read_config(str(file))
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(file))
    assert len(str(caught.value)) < 300 + len(str(file))


def test_the_same_value_twice_is_no_contradiction(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"a": 1, "a": 1}')
    assert read_config(str(file)) == {"a": 1}


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        read_config(str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match=r"holds no config\.json"):
        read_config(str(tmp_path))
    with pytest.raises(ConfigError, match="null byte"):
        read_config("a\0b")
    file = tmp_path / "config.json"
    file.write_text("{}")
    with pytest.raises(ConfigError):
        read_config(str(file / "below"))


def test_a_file_without_end() -> None:
    if not os.path.exists("/dev/zero"):
        pytest.skip("no /dev/zero on this system")
    with pytest.raises(ConfigError, match="larger than"):
        read_config("/dev/zero")


def test_a_folder_is_not_left(tmp_path: Path) -> None:
    folder, outside = tmp_path / "model", tmp_path / "config.json"
    folder.mkdir()
    outside.write_text("{}")
    file = folder / "config.json"
    for make, says in (
        (lambda: file.symlink_to(outside), "link to a file outside"),
        (lambda: file.symlink_to("/dev/zero"), "link to a file outside"),
        (lambda: file.symlink_to("nowhere"), "no such file"),
        (lambda: os.mkfifo(file), "not a regular file"),  # opening it would wait for ever
        (file.mkdir, "not a regular file"),
    ):
        make()
        with pytest.raises(ConfigError, match=says):
            read_config(str(folder))
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    file.symlink_to(outside.rename(folder / "settings.json").name)
    assert read_config(str(folder)) == {}


def test_the_file_beside_is_not_left_for_another(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    beside = tmp_path / "hf_quant_config.json"
    os.mkfifo(beside)
    with pytest.raises(ConfigError, match="not a regular file"):
        read_config(str(tmp_path))
    beside.unlink()
    beside.write_bytes(b" " * (17 << 20))
    with pytest.raises(ConfigError, match="is longer than"):
        read_config(str(tmp_path))


def test_titles(tmp_path: Path) -> None:
    assert title_of(str(tmp_path / "gemma" / "config.json")) == "gemma"
    assert title_of(str(tmp_path / "gemma")) == "gemma"
    assert title_of(str(tmp_path / "google--gemma-4.json")) == "google--gemma-4"


def test_what_modelopt_wrote_beside_a_config_is_read(tmp_path: Path) -> None:
    config, beside = tmp_path / "config.json", tmp_path / "hf_quant_config.json"
    config.write_text('{"model_type": "llama"}')
    beside.write_text('{"producer": {}, "quantization": {"kv_cache_quant_algo": "FP8"}}')
    assert read_config(str(tmp_path))["quantization_config"] == {"kv_cache_quant_algo": "FP8"}
    assert "quantization_config" not in read_config(str(config))
    config.write_text('{"quantization_config": {"quant_method": "fp8"}}')
    assert read_config(str(tmp_path))["quantization_config"] == {"quant_method": "fp8"}
    config.write_text("{}")
    for odd in ("[1]", '{"quantization": 3}', "{}"):
        beside.write_text(odd)
        assert read_config(str(tmp_path)) == {}
    beside.write_text("{")
    with pytest.raises(ConfigError, match=r"hf_quant_config\.json: not valid JSON"):
        read_config(str(tmp_path))
