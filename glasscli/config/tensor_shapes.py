"""Which tensors a model has, and of which shape: what is looked for in the files, and what is counted.

It knows roles and sizes; the names are the architecture's.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from glasscli.config.architecture import FUSED
from glasscli.config.model_config import ModelConfig


class TensorSpec(NamedTuple):
    """One tensor that a model needs.

    Attributes:
        role: what the mathematics calls it (`Architecture.names`), a bias as `q.bias`.
        name: in the file, `.weight` or `.bias` included.
        shape: rows are outputs.
        layer: None outside the blocks.
    """

    role: str
    name: str
    shape: tuple[int, ...]
    layer: int | None


def expected_tensors(config: ModelConfig) -> Iterator[TensorSpec]:
    """All tensors of a model, the head only if it is not tied.

    One at a time: a config may claim more layers than memory can name.
    """
    row = config.architecture
    yield from _tensor(config, "embedding", (config.vocab_size, config.dim), None)
    if "positions" in row.names:
        yield from _tensor(config, "positions", (config.max_seq_len, config.dim), None)
    for layer in range(config.n_layers):
        for role in stored_norms(config):
            yield from _tensor(config, role, (config.dim,), layer, bias=row.norm == "layer")
        if row.qk_norm:
            yield from _head_norms(config, layer)
        for role, (rows, columns, bias) in stored_matrices(config).items():
            shape = (columns, rows) if row.transposed else (rows, columns)
            yield TensorSpec(role, tensor_name(config, role, layer), shape, layer)
            if bias:
                yield TensorSpec(f"{role}.bias", tensor_name(config, f"{role}.bias", layer), (rows,), layer)
    yield from _tensor(config, "final_norm", (config.dim,), None, bias=row.norm == "layer")
    if not config.tied:
        yield from _tensor(config, "head", (config.vocab_size, config.dim), None)


def matrices(config: ModelConfig) -> dict[str, tuple[int, int, bool]]:
    """The matrices of a block: rows, columns, and whether there is a bias, by role."""
    d, f = config.dim, config.ffn_dim
    q, kv = config.n_heads * config.head_dim, config.n_kv_heads * config.head_dim
    gate = {"gate": (f, d, config.mlp_bias)} if config.architecture.gated else {}
    return {
        "q": (q, d, config.qkv_bias),
        "k": (kv, d, config.qkv_bias),
        "v": (kv, d, config.qkv_bias),
        "out": (d, q, config.out_bias),
        **gate,
        "up": (f, d, config.mlp_bias),
        "down": (d, f, config.mlp_bias),
    }


def stored_matrices(config: ModelConfig) -> dict[str, tuple[int, int, bool]]:
    """`matrices`, those that the file holds in one tensor as one."""
    single = matrices(config)
    for whole, parts in FUSED.items():
        if whole in config.architecture.names:
            rows = [single.pop(part) for part in parts]
            single[whole] = (sum(n for n, _, _ in rows), *rows[0][1:])
    return single


def stored_norms(config: ModelConfig) -> list[str]:
    """The roles of a block's norms, but for those that are an earlier one in another place."""
    row = config.architecture
    by_name = {row.names[role]: role for role in reversed(row.norms)}
    return [role for role in row.norms if by_name[row.names[role]] == role]


def tensor_name(config: ModelConfig, role: str, layer: int | None = None, head: int | None = None) -> str:
    """The name in the file of a role's tensor; a bias is `q.bias`."""
    bare, _, part = role.partition(".")
    name = config.architecture.names[bare]
    return f"{name if layer is None else name.format(i=layer, h=head)}.{part or 'weight'}"


def n_parameters(config: ModelConfig) -> int:
    """Weights of the model, a tied head counted once."""
    return sum(math.prod(tensor.shape) for tensor in expected_tensors(config))


def _head_norms(config: ModelConfig, layer: int) -> Iterator[TensorSpec]:
    """The norms of queries and keys: a tensor each, or one a head."""
    kind = config.architecture.qk_norm
    for role, n_heads in (("q_norm", config.n_heads), ("k_norm", config.n_kv_heads)):
        width = config.head_dim * (n_heads if kind == "all" else 1)
        for head in range(n_heads) if kind == "each" else [None]:
            yield TensorSpec(role, tensor_name(config, role, layer, head), (width,), layer)


def _tensor(
    config: ModelConfig, role: str, shape: tuple[int, ...], layer: int | None, bias: bool = False
) -> Iterator[TensorSpec]:
    yield TensorSpec(role, tensor_name(config, role, layer), shape, layer)
    if bias:
        yield TensorSpec(f"{role}.bias", tensor_name(config, f"{role}.bias", layer), shape[:1], layer)
