"""A folder in Hugging Face layout to float32 tensors that fit a config: the last stop before the model.

It knows names and shapes, not which file is which (`shards`) nor what is done with the numbers. A folder from a
stranger can make it read nothing outside (see `folder`), run nothing, and take no more memory than: 2 times the
weight files (float16 becomes float32) and one tensor more, and 40 times the JSON texts, each of which is refused
past 16 MiB. The tests measure both.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.checkpoint.safetensors_file import READABLE, TensorInfo, read_tensor
from glasscli.checkpoint.shards import FOLLOWS_FROM_CONFIG, list_tensors
from glasscli.checkpoint.untrusted_files import quoted, shown
from glasscli.config.model_config import ModelConfig
from glasscli.errors import CheckpointError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"


class Tensors(Mapping[str, "NDArray[np.float32]"]):
    """The tensors of a checkpoint by their Hugging Face names, each read from its file when it is asked for.

    Whoever builds a model from it holds the model and one tensor, never two models. Asking twice reads twice.

    Attributes:
        infos: what the headers say of each.
    """

    def __init__(self, infos: Mapping[str, TensorInfo]) -> None:
        self.infos = dict(infos)

    def __getitem__(self, name: str) -> "NDArray[np.float32]":
        """The tensor as a float32 array of its own.

        Raises:
            KeyError: the model has no such tensor.
            CheckpointError: it holds NaN or infinity, or the file changed.
        """
        return read_tensor(self.infos[name])

    def __contains__(self, name: object) -> bool:
        return name in self.infos

    def __iter__(self) -> Iterator[str]:
        return iter(self.infos)

    def __len__(self) -> int:
        return len(self.infos)


def load_tensors(folder: str | Path, config: ModelConfig, notes: list[str] | None = None) -> Tensors:
    """Every tensor that the model needs, checked against `config`; the numbers are read when asked for.

    `lm_head.weight` is among them only if it differs from the embedding or `config` is not tied: without it, the
    embedding is the head. transformers decides alike: a tied config whose file holds both, different, is not tied.

    Args:
        notes: gets a sentence for each thing worth telling that is no error (tensors that were not needed).

    Raises:
        CheckpointError: a file is missing, damaged or leads outside the folder; a tensor is missing or has another
            shape or dtype.
    """
    infos = {info.name: info for info in list_tensors(folder)}
    needed = _needed(Path(folder), config, infos)
    extra = [name for name in infos if name not in needed and not name.endswith(FOLLOWS_FROM_CONFIG)]
    if config.tied and HEAD in needed:
        _settle_head(needed, notes)
    if extra and notes is not None:
        some = ", ".join(quoted(name) for name in extra[:3]) + (", …" if len(extra) > 3 else "")
        notes.append(f"ignored {len(extra)} tensor{'s' * (len(extra) > 1)} that the model has no use for: {some}")
    return Tensors(needed)


def expected_shapes(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Hugging Face names and shapes of all tensors of a model, `lm_head.weight` only if the head is not tied.

    One at a time: a config may claim more layers than memory can name.
    """
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
                f"{info.file}: {name} has shape {shown(list(info.shape))}, where config.json asks for {list(shape)}"
            )
        if info.dtype not in READABLE:
            raise CheckpointError(f"{info.file}: {name} is {info.dtype}; glass reads {', '.join(READABLE)}")
        needed[name] = info

    for name, shape in expected_shapes(config):
        if name in infos:
            check(name, shape)
        elif not (name == EMBEDDING and config.tied and HEAD in infos):
            hint = "; config.json says that the head is not tied to the embedding" if name == HEAD else ""
            raise CheckpointError(f"{folder}: the weights lack {name}, expected with shape {list(shape)}{hint}")
    if config.tied and HEAD in infos:
        check(HEAD, (config.vocab_size, config.dim))
    return needed


def _settle_head(needed: dict[str, TensorInfo], notes: list[str] | None) -> None:
    """For a tied config with a head in the file: keep it only where it says something the embedding does not."""
    if EMBEDDING not in needed:
        needed[EMBEDDING] = needed.pop(HEAD)
    elif bool((read_tensor(needed[EMBEDDING]) == read_tensor(needed[HEAD])).all()):
        del needed[HEAD]
    elif notes is not None:
        notes.append(f"{HEAD} differs from the embedding although config.json ties them; it is used as it is")
