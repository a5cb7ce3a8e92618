"""A config.json from wherever it is: a file, a model's folder, or a pipe. Reads JSON, knows no model."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from glasscli.errors import ConfigError
from glasscli.untrusted_files import JSON_LIMIT, disguise, file_inside, plain, read_limited

QUANTIZATION = "hf_quant_config.json"
FORMATS = {b"GGUF": "a GGUF file", b"PK\x03\x04": "a zip archive", b"\x7fELF": "a program", b"%PDF": "a PDF"}


def read_config(where: str) -> dict[str, Any]:
    """The JSON object in the file `where`, in the folder `where`, or on standard input if `where` is `-`.

    Raises ConfigError that says what was found instead. A key given twice is refused: nobody can say which
    of the two the engine would read.
    """
    name = "standard input" if where == "-" else where
    data = read_bytes(where)
    try:
        document = json.loads(decoded(data, name), object_pairs_hook=once)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}", error.field) from None
    except RecursionError:
        raise ConfigError(f"{name}: the JSON is nested too deep for a config") from None
    except ValueError as error:
        raise ConfigError(f"{name}: not valid JSON: {reason(error)}{looks_like(data)}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{name}: expected a JSON object with a model's settings, found {kind(document)}")
    return document | quantization_beside(where, document)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model's folder.

    Raises:
        ConfigError: it can't be read, leads out of its folder, is not JSON, is not an object, or says one thing twice.
    """
    data = read_limited(file_inside(path.parent, path.name, ConfigError), error=ConfigError)
    if (found := disguise(data[:512], len(data))) is not None:
        raise ConfigError(f"{path} {found}")
    try:
        document = json.loads(decoded(data, str(path)), object_pairs_hook=once)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", error.field) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid JSON ({plain(str(error))})") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a JSON object, found {type(document).__name__}")
    return document


def quantization_beside(where: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """What ModelOpt wrote into hf_quant_config.json of the folder `where`, where the config itself is silent.

    Engines read that file too: it says what the cache holds. What isn't an object of objects is left alone.
    """
    folder = Path(where)
    if "quantization_config" in document or where == "-" or not folder.is_dir():
        return {}
    if not os.path.lexists(folder / QUANTIZATION):
        return {}
    path = file_inside(folder, QUANTIZATION, ConfigError)
    data = read_limited(path, error=ConfigError)
    try:
        beside = json.loads(decoded(data, str(path)), object_pairs_hook=once)
    except (ConfigError, RecursionError, ValueError):
        raise ConfigError(f"{path}: not valid JSON") from None
    found = beside.get("quantization") if isinstance(beside, dict) else None
    return {"quantization_config": found} if isinstance(found, dict) else {}


def read_bytes(where: str) -> bytes:
    """The bytes at `where`; ConfigError if there are none, or too many for a config."""
    if where == "-":
        stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise ConfigError("standard input is closed; there is no config to read")
        data, name = stream.read(JSON_LIMIT + 1), "standard input"
    else:
        data, name = read_file(where), where
    if len(data) > JSON_LIMIT:
        raise ConfigError(f"{name}: larger than {JSON_LIMIT // 1024**2} MiB; a config.json has a few KiB")
    if not data.strip():
        raise ConfigError(f"{name}: empty; expected a model's config.json")
    return data


def read_file(where: str) -> bytes:
    """The first bytes of the file `where`, or of the config.json in the folder `where`.

    A file that is named is read whatever it is, such as a shell's `<(…)`; a folder may come from a stranger.
    """
    path = Path(where)
    try:
        if path.is_dir():
            if not os.path.lexists(path / "config.json"):
                raise ConfigError(f"{where}: the folder holds no config.json")
            path = file_inside(path, "config.json", ConfigError)
        with path.open("rb") as file:
            return file.read(JSON_LIMIT + 1)
    except FileNotFoundError:
        raise ConfigError(f"{where}: there is no such file or folder") from None
    except OSError as error:
        raise ConfigError(f"{where}: {error.strerror or error}") from None
    except ValueError as error:  # a NUL byte in the path
        raise ConfigError(f"{where}: {error}") from None


def decoded(data: bytes, name: str) -> str:
    """`data` as text: UTF-8 with or without a byte-order mark, UTF-16 or UTF-32."""
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise ConfigError(f"not text ({encoding} expected){looks_like(data)}") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict of `pairs`, refused when a key comes twice with different values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise ConfigError(f"the key {key[:60]!r} is given twice, with different values", key[:60])
        found[key] = value
    return found


def looks_like(data: bytes) -> str:
    """What `data` seems to be, as the end of a sentence, or nothing."""
    start = data[:200].lstrip()
    for magic, what in FORMATS.items():
        if start.startswith(magic):
            return f"; this is {what}"
    if start.startswith(b"version https://git-lfs"):
        return "; this is a Git LFS pointer, run: git lfs pull"
    if start[:1] == b"<":
        return "; this is a web page"
    if data[8:9] == b"{" and data[1:8].count(0) >= 3:
        return "; this is a safetensors file, its model's config.json lies beside it"
    return ""


def reason(error: ValueError) -> str:
    """What json found wrong, in a line."""
    if "Exceeds the limit" in str(error):
        return "a number has thousands of digits"
    return str(error)[:120]


def kind(document: object) -> str:
    """A JSON value's type, in words."""
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(document), "a number")


def title_of(where: str) -> str:
    """What to call the config at `where`: the folder's name, or the file's when it says more than config.json."""
    path = Path(where)
    named = path.parent if path.name == "config.json" else path
    return named.resolve().name.removesuffix(".json").removesuffix(".gguf") or str(path)
