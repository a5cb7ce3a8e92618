"""Which files of a folder hold the weights, and which tensor is in which: headers only, no numbers.

One `model.safetensors`, or shards with `model.safetensors.index.json`. A tensor must be in one file, the one that
the index says.
"""

import json
from pathlib import Path

from glasscli.checkpoint.safetensors_file import TensorInfo, read_header
from glasscli.errors import CheckpointError
from glasscli.untrusted_files import disguise, file_inside, model_folder, quoted, read_limited

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
# Ends of names: old exports carry rotary frequencies and triangular masks, which a config says already.
FOLLOWS_FROM_CONFIG = (
    ".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".attention.bias", ".attention.masked_bias",
)  # fmt: skip


def list_tensors(folder: str | Path) -> list[TensorInfo]:
    """The tensors of all weight files of a folder, in the order of the files, from the headers alone.

    Raises:
        CheckpointError: as `load_tensors`, for all that can be seen without the numbers.
    """
    files = weight_files(folder)
    if len(files) == 1 and files[0].name == SINGLE:
        return list(read_header(files[0]).values())
    placed = _weight_map(Path(folder))
    found: dict[str, TensorInfo] = {}
    for path in files:
        for name, info in read_header(path).items():
            if name in found:
                raise CheckpointError(
                    f"{folder}: tensor {quoted(name)} is in two files, {found[name].file.name} and {path.name}"
                )
            if placed.get(name, path.name) != path.name or (
                name not in placed and not name.endswith(FOLLOWS_FROM_CONFIG)
            ):
                raise CheckpointError(f"{path}: holds tensor {quoted(name)}, which {INDEX} does not place there")
            found[name] = info
    for name, shard in placed.items():
        if name not in found:
            raise CheckpointError(f"{folder}/{shard}: has no tensor {quoted(name)}, which {INDEX} places there")
    return list(found.values())


def weight_files(folder: str | Path) -> list[Path]:
    """The safetensors files of a folder, by name: `model.safetensors` if it is there, else the index's shards.

    Raises:
        CheckpointError: there are none, or one is missing or leads outside.
    """
    folder = model_folder(folder)
    if _present(folder, SINGLE):
        return [file_inside(folder, SINGLE)]
    if _present(folder, INDEX):
        return [_shard(folder, name) for name in sorted(set(_weight_map(folder).values()))]
    raise CheckpointError(f"{folder}: there is no {SINGLE}{_instead(folder)}")


def _weight_map(folder: Path) -> dict[str, str]:
    """The index: which shard holds which tensor."""
    path = file_inside(folder, INDEX)
    data = read_limited(path)
    if (found := disguise(data[:512], len(data))) is not None:
        raise CheckpointError(f"{path} {found}")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path}: not valid JSON") from None
    placed = document.get("weight_map") if isinstance(document, dict) else None
    if not isinstance(placed, dict) or not placed or not all(isinstance(name, str) for name in placed.values()):
        raise CheckpointError(f"{path}: has no weight_map that names a file for each tensor")
    return placed


def _shard(folder: Path, name: str) -> Path:
    try:
        path = file_inside(folder, name)
    except CheckpointError as error:
        raise CheckpointError(f"{error}\n{INDEX} names it as a part of the weights.") from None
    if path.suffix != ".safetensors":
        raise CheckpointError(f"{folder / INDEX}: names {quoted(name)}; glass reads .safetensors files only")
    return path


def _present(folder: Path, name: str) -> bool:
    """Whether the name is taken, be it by a link that leads nowhere."""
    path = folder / name
    return path.is_symlink() or path.exists()


def _instead(folder: Path) -> str:
    """What the folder holds in place of safetensors, as the end of a sentence."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return "; the folder can't be listed"
    if any(name.startswith("pytorch_model") and name.endswith((".bin", ".bin.index.json")) for name in names):
        return ", only pytorch_model.bin. glass reads safetensors: load it with transformers and save_pretrained"
    if any(name.endswith(".gguf") for name in names):
        return ", only GGUF. Name the file itself, not its folder"
    others = [name for name in names if name.endswith(".safetensors")]
    if others:
        return f", but {quoted(others[0])}. Rename it, or add {INDEX}"
    return f" and no {INDEX}; a model folder holds config.json, the weights and tokenizer.json"
