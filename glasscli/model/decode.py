"""The same mathematics as `block`, for one new token, arranged for speed.

A decode step of a small model is not bound by arithmetic but by the number of NumPy calls and by memory
traffic. So this second form works on plain vectors, writes into arrays made once, and merges steps where that
is exact. It computes what most Llamas are made of (`Decoder.knows`); other architectures go through the block.

    readable form (block.py)               here
    ----------------------------------     ---------------------------------------------------
    q, k rotated one after the other       q | k lie side by side: one complex multiplication
    queries scaled by 1/√E                 their rotations are, once a step for all layers
    softmax subtracts the largest score    only where the sums of e^score show that it matters
    silu(gate) = gate/2·(1 + tanh gate/2)  u + u·tanh(gate/2) with u = up·gate/2, in place
    the cache shows keys and a mask        one query sees every key: `Store.append_one`, k | v side by side
    keys and values are float32            read as the store has packed them: `Store.score_one`, `Store.mix_one`
    numbers beside arrays                  arrays: NumPy turns a number into one anew at each call

Tests compare its logits with the readable form's at every position.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.formats.base import TILE
from glasscli.cache.kv_cache import KVCache
from glasscli.cache.store import Store
from glasscli.config.model_config import ModelConfig
from glasscli.model.ops import Norm, fit_for_softmax

if TYPE_CHECKING:
    from glasscli.model.llama import Llama


class Decoder:
    """Decodes token by token. Holds scratch arrays, and nothing of a text: that is in the cache.

    It belongs to one loop: two threads need one each.
    """

    def __init__(self, model: "Llama") -> None:
        config, self.weights = model.config, model.weights
        assert self.knows(config)
        heads, kv_heads, width = config.n_heads, config.n_kv_heads, config.head_dim
        self.eps, self.dim, self.factor = config.norm_eps, config.dim, np.empty((), np.float32)
        self.model, self.rotations = model, model.rotations(0, 0)
        self.norms = [_norms(block.attn_norm, block.ffn_norm) for block in self.weights.blocks]
        self.x = np.empty(config.dim, np.float32)
        self.normed = np.empty(config.dim, np.float32)
        self.added = np.empty(config.dim, np.float32)
        self.qkv = np.empty((heads + 2 * kv_heads) * width, np.float32)
        self.pairs = self.qkv[: (heads + kv_heads) * width].view(np.complex64).reshape(-1, width // 2)
        self.rotation = np.empty_like(self.pairs)
        self.scale = np.ones((heads + kv_heads, 1), np.complex64)
        self.scale[:heads] = 1 / math.sqrt(width)
        self.q_KGE = self.qkv[: heads * width].reshape(kv_heads, config.group_size, width)
        self.new_2KE = self.qkv[heads * width :].reshape(2, kv_heads, width)
        self.scores, self.ones = np.empty(0, np.float32), np.empty(0, np.float32)
        self.sums = np.empty((heads, 1), np.float32)
        self.sums_H, self.sums_KG1 = self.sums[:, 0], self.sums.reshape(kv_heads, -1, 1)
        self.room = np.empty(TILE, np.float32)  # where packed keys and values are unpacked, a tile at a time
        self.mixed = np.empty((heads, width), np.float32)
        self.mixed_flat, self.mixed_KGE = self.mixed.reshape(-1), self.mixed.reshape(self.q_KGE.shape)
        self.gate_up = np.empty(2 * config.ffn_dim, np.float32)
        self.gate, self.up = self.gate_up[: config.ffn_dim], self.gate_up[config.ffn_dim :]
        self.silu, self.halves = np.empty(config.ffn_dim, np.float32), np.full(config.ffn_dim, 0.5, np.float32)

    @staticmethod
    def knows(config: ModelConfig) -> bool:
        """Whether it computes what `config` describes: two norms a block, SwiGLU, one rotation, no caps or factors."""
        row = config.architecture
        plain = (row.norm, row.norms, row.qk_norm, config.parallel, row.gated)
        factors = (config.embedding_scale, config.residual_scale, config.logit_scale)
        caps = (config.attention_scale, config.attention_softcap, config.logit_softcap)
        return (
            plain == ("rms", ("attn_norm", "ffn_norm"), "", False, True)
            and config.activation == "silu"
            and set(config.ropes) == {config.rope}
            and (config.rope.partial, config.rope.attention_factor, config.rope.grows) == (1, 1, False)
            and factors == (1, 1, 1)
            and caps == (None, None, None)
        )

    @np.errstate(over="ignore")  # of e^score: it shows in the sums
    def step(self, token_id: int, cache: KVCache) -> Array:
        """Append `token_id` to the only sequence of `cache`; the logits of what follows it, a new float32 [V]."""
        x, normed, added, qkv, gate_up = self.x, self.normed, self.added, self.qkv, self.gate_up
        start = cache.length
        if start >= len(self.rotations):
            self._grow(start)
        np.multiply(self.scale, self.rotations[start], self.rotation)
        self._look_back(start + 1)
        x[:] = self.weights.embedding[token_id]
        for weights, (attn_norm, ffn_norm), store in zip(self.weights.blocks, self.norms, cache.stores, strict=True):
            self._norm(x, attn_norm)
            normed.dot(weights.qkv, qkv)
            if weights.qkv_bias is not None:
                np.add(qkv, weights.qkv_bias, qkv)
            np.multiply(self.pairs, self.rotation, self.pairs)
            keys, values, seen = store.append_one(self.new_2KE, start)
            self._attend(store, keys, values, seen)
            self.mixed_flat.dot(weights.out, added)
            if weights.out_bias is not None:
                np.add(added, weights.out_bias, added)
            np.add(x, added, x)

            self._norm(x, ffn_norm)
            normed.dot(weights.gate_up, gate_up)
            if weights.gate_up_bias is not None:
                np.add(gate_up, weights.gate_up_bias, gate_up)
            self._swiglu()
            self.silu.dot(weights.down, added)
            if weights.down_bias is not None:
                np.add(added, weights.down_bias, added)
            np.add(x, added, x)
        cache.advance(1)
        self._norm(x, self.weights.norm.weight)
        return self.weights.unembedding.dot(normed)

    def _grow(self, start: int) -> None:
        """Make room for twice as many tokens, and know their rotations."""
        most = max(1024, 2 * start)
        self.rotations = self.model.rotations(0, most)
        self.scores, self.ones = np.empty(len(self.mixed) * (most + 1), np.float32), np.ones(most + 1, np.float32)

    def _norm(self, x: Array, weight: Array) -> None:
        self.factor[()] = 1 / math.sqrt(x.dot(x) / self.dim + self.eps)
        np.multiply(x, self.factor, self.normed)
        np.multiply(self.normed, weight, self.normed)

    def _look_back(self, seen: int) -> None:
        """Cut the scratch arrays to `seen` keys."""
        self.scores_HS = self.scores[: len(self.mixed) * seen].reshape(-1, seen)
        self.scores_KGS, self.ones_S = self.scores_HS.reshape(*self.q_KGE.shape[:2], seen), self.ones[:seen]

    def _attend(self, store: Store, keys: Any, values: Any, seen: int) -> None:
        if seen != len(self.ones_S):  # a layer with a window, or one after it
            self._look_back(seen)
        scores_HS = self.scores_HS
        store.score_one(self.q_KGE, keys, self.scores_KGS, self.room)
        np.exp(scores_HS, scores_HS)
        scores_HS.dot(self.ones_S, self.sums_H)
        sums = self.sums_H.tolist()
        if not fit_for_softmax(min(sums), max(sums)):
            store.score_one(self.q_KGE, keys, self.scores_KGS, self.room)
            np.subtract(scores_HS, scores_HS.max(axis=1, keepdims=True), scores_HS)
            np.exp(scores_HS, scores_HS)
            scores_HS.dot(self.ones_S, self.sums_H)
        store.mix_one(self.scores_KGS, values, self.mixed_KGE, self.room)
        if store.by_attention:
            store.observe_one(self.scores_KGS, self.sums_KG1)
        np.divide(self.mixed, self.sums, self.mixed)

    def _swiglu(self) -> None:
        gate, up, silu = self.gate, self.up, self.silu
        np.multiply(gate, self.halves, gate)
        np.multiply(gate, up, up)
        np.tanh(gate, silu)
        np.multiply(silu, up, silu)
        np.add(silu, up, silu)


def _norms(attn_norm: Norm | None, ffn_norm: Norm | None) -> tuple[Array, Array]:
    assert attn_norm is not None
    assert ffn_norm is not None
    return attn_norm.weight, ffn_norm.weight
