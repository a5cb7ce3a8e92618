"""A folder in Hugging Face layout to float32 tensors that fit a config: the last stop before the model.

One `model.safetensors`, or shards with `model.safetensors.index.json`. It knows names and shapes, not what is done
with them. A folder from a stranger can make it read nothing outside (see `folder`), run nothing, and take no more
memory than: 2 times the weight files (float16 becomes float32) and one tensor more, and 40 times the JSON texts,
each of which is refused past 16 MiB.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.config import ModelConfig
from glasscli.errors import CheckpointError
from glasscli.folder import disguise, file_inside, model_folder, quoted, read_limited
from glasscli.weight_file import READABLE, TensorInfo, read_header, read_tensor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
_SILENT = ".rotary_emb.inv_freq"  # old exports carry them; they follow from the config


def load_tensors(
    folder: str | Path, config: ModelConfig, notes: list[str] | None = None
) -> "dict[str, NDArray[np.float32]]":
    """Every tensor that the model needs, by its Hugging Face name, as a float32 array of its own.

    `lm_head.weight` is among them only if it differs from the embedding or `config` is not tied: without it, the
    embedding is the head. That is how transformers decides: a tied config whose file holds both, different, is
    not tied.

    Whoever builds larger arrays from these may pop them one by one, so that both are never held at once.

    Args:
        notes: gets a sentence for each thing worth telling that is no error (tensors that were not needed).

    Raises:
        CheckpointError: a file is missing, damaged or leads outside the folder; a tensor is missing, of another
            shape or dtype, or holds NaN or infinity.
    """
    infos = {info.name: info for info in list_tensors(folder)}
    needed = _needed(Path(folder), config, infos)
    tensors: dict[str, NDArray[np.float32]] = {}
    for path in dict.fromkeys(info.file for info in needed.values()):
        with path.open("rb", buffering=0) as file:
            for name, info in needed.items():
                if info.file == path:
                    tensors[name] = read_tensor(file, info)
    _settle_head(tensors, config, notes)
    extra = [name for name in infos if name not in needed and not name.endswith(_SILENT)]
    if extra and notes is not None:
        some = ", ".join(quoted(name) for name in extra[:3]) + (", …" if len(extra) > 3 else "")
        notes.append(f"ignored {len(extra)} tensor{'s' * (len(extra) > 1)} that this model has no use for: {some}")
    return tensors


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Hugging Face names and shapes of all tensors of a model, `lm_head.weight` only if the head is not tied."""
    return dict(_expected(config))


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
            if placed.get(name, path.name) != path.name or (name not in placed and not name.endswith(_SILENT)):
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


def weights_hash(folder: str | Path) -> str:
    """SHA-256 over the bytes of the weight files in the order of their names, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in weight_files(folder):
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _expected(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """As `expected_shapes`, one at a time: a config may claim more layers than memory can name."""
    d, f = config.dim, config.ffn_dim
    q, kv = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    linears = {
        "self_attn.q_proj": (q, d, config.attention_bias),
        "self_attn.k_proj": (kv, d, config.attention_bias),
        "self_attn.v_proj": (kv, d, config.attention_bias),
        "self_attn.o_proj": (d, q, config.attention_bias),
        "mlp.gate_proj": (f, d, config.mlp_bias),
        "mlp.up_proj": (f, d, config.mlp_bias),
        "mlp.down_proj": (d, f, config.mlp_bias),
    }
    yield EMBEDDING, (config.vocab_size, d)
    for i in range(config.n_layers):
        block = f"model.layers.{i}"
        yield f"{block}.input_layernorm.weight", (d,)
        yield f"{block}.post_attention_layernorm.weight", (d,)
        for name, (rows, columns, bias) in linears.items():
            yield f"{block}.{name}.weight", (rows, columns)
            if bias:
                yield f"{block}.{name}.bias", (rows,)
    yield "model.norm.weight", (d,)
    if not config.tied:
        yield HEAD, (config.vocab_size, d)


def _needed(folder: Path, config: ModelConfig, infos: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    """The tensors to read, checked against the config: present, of the right shape, of a dtype we read."""
    needed: dict[str, TensorInfo] = {}

    def check(name: str, shape: tuple[int, ...]) -> None:
        info = infos[name]
        if info.shape != shape:
            raise CheckpointError(
                f"{info.file}: {name} has shape {list(info.shape)}, where config.json asks for {list(shape)}"
            )
        if info.dtype not in READABLE:
            raise CheckpointError(f"{info.file}: {name} is {info.dtype}; glass reads {', '.join(READABLE)}")
        needed[name] = info

    for name, shape in _expected(config):
        if name in infos:
            check(name, shape)
        elif not (name == EMBEDDING and config.tied and HEAD in infos):
            hint = "; config.json says that the head is not tied to the embedding" if name == HEAD else ""
            raise CheckpointError(f"{folder}: the weights lack {name}, expected with shape {list(shape)}{hint}")
    if config.tied and HEAD in infos:
        check(HEAD, (config.vocab_size, config.dim))
    return needed


def _settle_head(tensors: "dict[str, NDArray[np.float32]]", config: ModelConfig, notes: list[str] | None) -> None:
    """For a tied config: keep `lm_head.weight` only where it says something the embedding does not."""
    if not config.tied or HEAD not in tensors:
        return
    if EMBEDDING not in tensors:
        tensors[EMBEDDING] = tensors.pop(HEAD)
    elif bool((tensors[EMBEDDING] == tensors[HEAD]).all()):
        del tensors[HEAD]
    elif notes is not None:
        notes.append(f"{HEAD} differs from the embedding although config.json ties them; it is used as it is")


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
        return ", only GGUF. glass reads safetensors, the files of the original model"
    others = [name for name in names if name.endswith(".safetensors")]
    if others:
        return f", but {quoted(others[0])}. Rename it, or add {INDEX}"
    return f" and no {INDEX}; a model folder holds config.json, the weights and tokenizer.json"
