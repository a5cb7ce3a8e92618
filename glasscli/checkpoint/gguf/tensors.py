"""The tensors of a GGUF under Hugging Face's names, each with the way to its numbers.

What has no name there (a rotary table, a tensor of an architecture without a row) keeps the one it has.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from glasscli.checkpoint.gguf.names import NAMES, Names
from glasscli.checkpoint.gguf.origins import Origin, Rows, origin, whole
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.errors import CheckpointError

ROTARY = re.compile(r"rope_(freqs|factors_long|factors_short)\.weight")  # `rope` puts these into the settings
_IN_BLOCK = re.compile(r"blk\.(\d{1,6})\.(.+)\.(weight|bias)")
_QKV = ("attn_q", "attn_k", "attn_v")


@dataclass(frozen=True)
class Heads:
    """Heads of one layer, as far as names and rows depend on them."""

    n_heads: int
    n_kv_heads: int
    head_dim: int

    def rows(self, part: str) -> int:
        """Rows of the projection that makes queries, keys or values."""
        return self.head_dim * (self.n_heads if part == "attn_q" else self.n_kv_heads)


def origins(architecture: str, infos: Mapping[str, TensorInfo], heads: list[Heads]) -> dict[str, Origin]:
    """Each tensor by Hugging Face's name, in the order of the file.

    Args:
        heads: one entry a layer.

    Raises:
        CheckpointError: two tensors come to one name, or one does not fit the heads.
    """
    names = NAMES.get(architecture)
    found: dict[str, Origin] = {}
    for info in infos.values():
        for made in _of(info, names, infos, heads) if names else [_as_it_is(info)]:
            if made.info.name in found:
                raise CheckpointError(f"{info.file}: two tensors come to the name {made.info.name}")
            found[made.info.name] = made
    return found


def _of(info: TensorInfo, names: Names, infos: Mapping[str, TensorInfo], heads: list[Heads]) -> Iterator[Origin]:
    """What one GGUF tensor becomes: one tensor, three of one, or nothing where another stands for it."""
    inside = _IN_BLOCK.fullmatch(info.name)
    if inside is None or int(inside[1]) >= len(heads):
        stem, _, kind = info.name.rpartition(".")
        if ROTARY.fullmatch(info.name):
            return
        name = f"{names.outer[stem]}.{kind}" if stem in names.outer else info.name
        yield _plain(name, info, names, stem)
        return
    layer, part, kind = int(inside[1]), inside[2], inside[3]
    prefix, own = names.prefix.format(layer), heads[layer]
    if names.joined and part in (*_QKV, "attn_qkv"):
        if part != "attn_q":  # those of k and v are taken with q's
            if part == "attn_qkv":
                yield _plain(f"{prefix}{names.joined}.{kind}", info, names, part)
            return
        parts = [infos[name] for p in _QKV if (name := f"blk.{layer}.{p}.{kind}") in infos]
        yield _joined(f"{prefix}{names.joined}.{kind}", parts)
    elif part == "attn_qkv" and part not in names.block:
        yield from _split(info, names, prefix, kind, own)
    elif names.norms_by_head and part in ("attn_q_norm", "attn_k_norm") and len(info.shape) == 2:
        for head in range(info.shape[0]):
            yield origin(
                f"{prefix}{names.block[part]}.norms.{head}.{kind}", (Rows(info, head, head + 1),), info.shape[1:]
            )
    elif part in names.block:
        how = _how(names, part, own, info)
        yield _plain(f"{prefix}{names.block[part]}.{kind}", info, names, part, **how)
    else:
        yield _as_it_is(info)


def _as_it_is(info: TensorInfo) -> Origin:
    return origin(info.name, (whole(info),), info.shape)


def _plain(name: str, info: TensorInfo, names: Names, part: str, **how: int) -> Origin:
    turned_over = part in names.turned_over and len(info.shape) == 2
    shape = info.shape[::-1] if turned_over else info.shape
    less_one = names.less_one and part.endswith("norm")
    return origin(name, (whole(info),), shape, turned_over=turned_over, less_one=less_one, **how)


def _how(names: Names, part: str, own: Heads, info: TensorInfo) -> dict[str, int]:
    """The heads whose rows are to be put back, checked to be what the tensor has."""
    count, each = 0, 2
    if names.pairs and part in ("attn_q", "attn_k"):
        count = own.n_heads if part == "attn_q" else own.n_kv_heads
    if names.fused_heads and part == "attn_qkv":
        count, each = own.n_heads, 3
    if not count:
        return {}
    if not info.shape or info.shape[0] % (count * each):
        raise CheckpointError(
            f"{info.file}: {info.name} has shape {list(info.shape)}, which {count} heads don't divide"
        )
    return {"pairs" if each == 2 else "fused": count}


def _split(info: TensorInfo, names: Names, prefix: str, kind: str, own: Heads) -> Iterator[Origin]:
    """Queries, keys and values that a converter put into one tensor, q on top."""
    start, n_rows = 0, info.shape[0] if info.shape else 1
    if n_rows != sum(own.rows(part) for part in _QKV) or own.head_dim % 2 or not own.head_dim:
        raise CheckpointError(f"{info.file}: {info.name} has {n_rows} rows, which are not those of its heads")
    for part in _QKV:
        stop = start + own.rows(part)
        pairs = (own.n_heads if part == "attn_q" else own.n_kv_heads) if names.pairs and part != "attn_v" else 0
        shape = (stop - start, *info.shape[1:])
        yield origin(f"{prefix}{names.block[part]}.{kind}", (Rows(info, start, stop),), shape, pairs=pairs)
        start = stop


def _joined(name: str, parts: list[TensorInfo]) -> Origin:
    """Queries, keys and values that Hugging Face has in one tensor."""
    widths = {part.shape[1:] for part in parts}
    if len(widths) != 1 or not all(part.shape for part in parts):
        raise CheckpointError(f"{parts[0].file}: the rows of {name} are not equally long")
    rows = sum(part.shape[0] for part in parts)
    return origin(name, tuple(map(whole, parts)), (rows, *parts[0].shape[1:]))
