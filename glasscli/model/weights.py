"""A checkpoint's tensors, arranged once for computing: the only copy of the weights that stays.

Three things differ from the file, none of which changes a number:

    (in, out)      matrices are transposed, so that a row of activations is multiplied from the left
    fused          W_Q | W_K | W_V stand side by side in one matrix, and so do gate | up
    pairs adjacent the columns of W_Q and W_K are reordered within each head, see `rope.pair_order`

A token of text reads every weight once, so how fast memory gives them is how fast a small model writes: `Room`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from glasscli.arrays import Array
from glasscli.config.architecture import FUSED
from glasscli.config.model_config import ModelConfig
from glasscli.config.tensor_shapes import matrices, tensor_name
from glasscli.model.ops import Norm
from glasscli.model.rope import pair_order


@dataclass(frozen=True)
class BlockWeights:
    """The weights of one block. A norm or a bias is None where the model has none."""

    attn_norm: Norm | None
    qkv: Array  # [D, (H + 2K)·E]
    qkv_bias: Array | None
    q_norm: Array | None  # [E], [H·E] where all heads are normed at once, [H, 1, E] where each head has its own
    k_norm: Array | None
    out: Array  # [H·E, D]
    out_bias: Array | None
    attn_post_norm: Norm | None
    ffn_norm: Norm | None
    gate_up: Array  # [D, 2F], or [D, F] without a gate
    gate_up_bias: Array | None
    down: Array  # [F, D]
    down_bias: Array | None
    ffn_post_norm: Norm | None


@dataclass(frozen=True)
class Weights:
    """All weights of a model. `unembedding` is the very array `embedding` where the head is tied."""

    embedding: Array  # [V, D]
    positions: Array | None  # [longest text, D], where positions have embeddings
    blocks: tuple[BlockWeights, ...]
    norm: Norm
    unembedding: Array  # [V, D]


class Room:
    """Puts matrices one behind the other into few large blocks of memory, each at a multiple of 64 bytes.

    Aligned so, a model of a few MiB decodes with 4 % less time and reads a prompt with 20 % less. NumPy asks for
    large pages where a block has 4 MiB or more: two pages instead of a thousand save 3 % more of a decode step.
    """

    LEAST, PAGE, LINE = 6 * 2**20, 2 * 2**20, 64  # bytes: of a block, of a large page, of a line of the cache

    def __init__(self) -> None:
        self.free = np.empty(0, np.uint8)

    def matrix(self, *shape: int) -> Array:
        """An array of `shape`, float32, not yet filled."""
        n_bytes = 4 * math.prod(shape)
        if n_bytes > self.free.size:
            block = np.empty(max(n_bytes, self.LEAST) + self.PAGE, np.uint8)
            self.free = block[-block.ctypes.data % self.PAGE :]
        taken, self.free = self.free[:n_bytes], self.free[-(-n_bytes // self.LINE) * self.LINE :]
        return taken.view(np.float32).reshape(shape)


def load_weights(config: ModelConfig, tensors: Mapping[str, Array]) -> Weights:
    """Arrange float32 tensors, named and shaped as the architecture says (`config.tensor_shapes`).

    Each tensor is asked for once, and dropped before the next block's are: a mapping that reads on demand never
    holds two copies of the model.
    """
    room = Room()

    def rows(role: str, n_rows: int = config.vocab_size) -> Array:
        matrix = room.matrix(n_rows, config.dim)
        matrix[:] = tensors[tensor_name(config, role)]
        return matrix

    embedding = rows("embedding")
    positions = rows("positions", config.max_seq_len) if "positions" in config.architecture.names else None
    unembedding = embedding if config.tied else rows("head")
    blocks = tuple(_load_block(config, tensors, layer, room) for layer in range(config.n_layers))
    return Weights(embedding, positions, blocks, _Block(config, tensors, None).norm("final_norm"), unembedding)


class _Block:
    """The tensors of one layer by their roles; those outside the blocks where the layer is None."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, Array], layer: int | None) -> None:
        self.config, self.tensors, self.layer = config, tensors, layer
        self.parts: dict[str, Array] = {}  # of tensors that hold several, until they are asked for
        self.norms: dict[str, Norm] = {}  # by name: two places may share one

    def __call__(self, role: str) -> Array:
        """A tensor with a row an output, whether or not it stands alone in the file."""
        if role not in self.parts:
            bare, _, kind = role.partition(".")
            whole = next((w for w, parts in FUSED.items() if bare in parts and w in self.config.architecture.names), "")
            if not whole:
                return self._stored(role)
            self.parts |= self._split(whole, f".{kind}" if kind else "")
        return self.parts.pop(role)

    def _stored(self, role: str) -> Array:
        array = self.tensors[tensor_name(self.config, role, self.layer)]
        return array.T if self.config.architecture.transposed and array.ndim == 2 else array

    def _split(self, whole: str, suffix: str) -> dict[str, Array]:
        """The parts of a tensor that holds several."""
        rows, sizes = self._stored(whole + suffix), matrices(self.config)
        parts = FUSED[whole]
        if self.config.architecture.interleaved:
            heads = rows.reshape(self.config.n_heads, len(parts), self.config.head_dim, *rows.shape[1:])
            return {part + suffix: heads[:, i].reshape(-1, *rows.shape[1:]) for i, part in enumerate(parts)}
        ends = np.cumsum([sizes[part][0] for part in parts])
        return {part + suffix: array for part, array in zip(parts, np.split(rows, ends[:-1]), strict=True)}

    def norm(self, role: str) -> Norm:
        row = self.config.architecture
        name = row.names[role]
        if name not in self.norms:
            weight = self(role)
            if row.norm_offset:
                weight = weight + np.float32(row.norm_offset)
            centred = row.norm == "layer"
            self.norms[name] = Norm(weight, self(f"{role}.bias") if centred else None, centred)
        return self.norms[name]

    def norm_or_none(self, role: str) -> Norm | None:
        return self.norm(role) if role in self.config.architecture.norms else None

    def head_norm(self, role: str, n_heads: int) -> Array | None:
        """The weight of the norm of queries or keys, if there is one."""
        row, width = self.config.architecture, self.config.head_dim
        if not row.qk_norm:
            return None
        if row.qk_norm != "each":
            return self.in_pairs(role) + np.float32(row.norm_offset)
        names = [tensor_name(self.config, role, self.layer, head) for head in range(n_heads)]
        order = pair_order(width, self.config.rotary_dim)
        return np.stack([self.tensors[name] for name in names])[:, None, order]

    def in_pairs(self, role: str) -> Array:
        """Rows of heads, [heads·E, D] or a vector [heads·E], with the coordinates of each pair side by side."""
        rows, width = self(role), self.config.head_dim
        order = pair_order(width, self.config.rotary_dim)
        return rows.reshape(-1, width, *rows.shape[1:])[:, order].reshape(rows.shape)


def _load_block(config: ModelConfig, tensors: Mapping[str, Array], layer: int, room: Room) -> BlockWeights:
    block = _Block(config, tensors, layer)

    def fuse(*rows: Array) -> Array:
        """Matrices [out, in] side by side and transposed: [in, all outs]."""
        matrix, done = room.matrix(rows[0].shape[1], sum(map(len, rows))), 0
        for part in rows:
            matrix[:, done : done + len(part)] = part.T
            done += len(part)
        return matrix

    def bias(there: bool, *roles: str) -> Array | None:
        parts = [block.in_pairs(f"{role}.bias") if role in "qk" else block(f"{role}.bias") for role in roles if there]
        return np.concatenate(parts) if parts else None

    into_mlp = ("gate", "up") if config.architecture.gated else ("up",)
    return BlockWeights(
        attn_norm=block.norm_or_none("attn_norm"),
        qkv=fuse(block.in_pairs("q"), block.in_pairs("k"), block("v")),
        qkv_bias=bias(config.qkv_bias, "q", "k", "v"),
        q_norm=block.head_norm("q_norm", config.n_heads),
        k_norm=block.head_norm("k_norm", config.n_kv_heads),
        out=fuse(block("out")),
        out_bias=bias(config.out_bias, "out"),
        attn_post_norm=block.norm_or_none("attn_post_norm"),
        ffn_norm=block.norm_or_none("ffn_norm"),
        gate_up=fuse(*(block(role) for role in into_mlp)),
        gate_up_bias=bias(config.mlp_bias, *into_mlp),
        down=fuse(block("down")),
        down_bias=bias(config.mlp_bias, "down"),
        ffn_post_norm=block.norm_or_none("ffn_post_norm"),
    )
