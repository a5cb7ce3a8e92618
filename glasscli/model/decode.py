"""The same mathematics as `block`, for one new token, arranged for speed.

A decode step of a small model is not bound by arithmetic but by the number of NumPy calls and by memory
traffic. So this second form works on plain vectors, writes into arrays made once for a cache, and merges
steps where that is exact:

    readable form (block.py)               here
    ----------------------------------     ---------------------------------------------------
    q, k rotated one after the other       q | k lie side by side: one complex multiplication
    scores scaled by 1/√E                  the rotations of the queries are, once a step for all layers
    softmax subtracts the largest score    only where the sums of e^score show that it matters
    softmax divides every share            the H mixed rows are divided, not the H × S shares
    silu(gate) = gate/2·(1 + tanh gate/2)  u + u·tanh(gate/2) with u = up·gate/2, in place
    k and v appended one after the other   k | v lie side by side: one assignment
    scores are one matrix product          one a head once the keys are many (OpenBLAS is slow at 2 × E × many)
    numbers beside arrays                  arrays: NumPy turns a number into one anew at each call

Tests compare its logits with the readable form's at every position.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasscli.cache.kv_cache import KVCache
from glasscli.model.block import linear, mlp
from glasscli.model.ops import Array, fit_for_softmax, rms_norm, softmax
from glasscli.model.rope import turns_at

if TYPE_CHECKING:
    from glasscli.model.llama import Llama

FEW_KEYS = 512


class Decoder:
    """Decodes one sequence, token by token, into one cache. Holds scratch arrays, no state of its own."""

    def __init__(self, model: "Llama", cache: KVCache) -> None:
        assert cache.batch == 1
        config, self.cache, self.weights = model.config, cache, model.weights
        heads, kv_heads, width = config.n_heads, config.n_kv_heads, config.head_dim
        self.eps, self.dim, self.factor = config.norm_eps, config.dim, np.empty((), np.float32)
        self.model, self.turns = model, model.turns(0, min(cache.max_tokens, 1024))
        self.x = np.empty(config.dim, np.float32)
        self.normed = np.empty(config.dim, np.float32)
        self.added = np.empty(config.dim, np.float32)
        self.qkv = np.empty((heads + 2 * kv_heads) * width, np.float32)
        self.pairs = self.qkv[: (heads + kv_heads) * width].view(np.complex64).reshape(-1, width // 2)
        self.turn = np.empty_like(self.pairs)
        self.scale = np.ones((heads + kv_heads, 1), np.complex64)
        self.scale[:heads] = 1 / math.sqrt(width)
        self.q_KGE = self.qkv[: heads * width].reshape(kv_heads, config.group_size, width)
        self.new_kv = self.qkv[heads * width :].reshape(2, kv_heads, width)
        self.scores, self.ones = np.empty(heads * cache.max_tokens, np.float32), np.ones(cache.max_tokens, np.float32)
        self.sums = np.empty((heads, 1), np.float32)
        self.sums_H = self.sums[:, 0]
        self.mixed = np.empty((heads, width), np.float32)
        self.mixed_flat, self.mixed_KGE = self.mixed.reshape(-1), self.mixed.reshape(self.q_KGE.shape)
        self.gate_up = np.empty(2 * config.ffn_dim, np.float32)
        self.gate, self.up = self.gate_up[: config.ffn_dim], self.gate_up[config.ffn_dim :]
        self.silu, self.halves = np.empty(config.ffn_dim, np.float32), np.full(config.ffn_dim, 0.5, np.float32)
        # For all layers: where new keys and values go, and where the old ones are.
        self.new_L2KSE, self.keys_LKES = cache.kv[:, :, 0], cache.kv[:, 0, 0].swapaxes(2, 3)
        self.values_LKSE = cache.kv[:, 1, 0]

    @np.errstate(over="ignore")  # of e^score: it shows in the sums
    def step(self, token_id: int) -> Array:
        """Append `token_id` to the cache and return the logits of what follows it, a new float32 [V]."""
        x, normed, added, qkv, gate_up = self.x, self.normed, self.added, self.qkv, self.gate_up
        start = self.cache.length
        seen = start + 1
        self._look_back(seen)
        if start >= len(self.turns):
            self.turns = self.model.turns(0, min(self.cache.max_tokens, 2 * start))
        np.multiply(self.scale, self.turns[start], self.turn)
        x[:] = self.weights.embedding[token_id]
        for weights, new_2KE, keys_KES, values_KSE in zip(
            self.weights.blocks,
            self.new_L2KSE[:, :, :, start],
            self.keys_LKES[..., :seen],
            self.values_LKSE[:, :, :seen],
            strict=False,
        ):
            self._norm(x, weights.attn_norm)
            normed.dot(weights.qkv, qkv)
            if weights.qkv_bias is not None:
                np.add(qkv, weights.qkv_bias, qkv)
            np.multiply(self.pairs, self.turn, self.pairs)
            new_2KE[:] = self.new_kv
            self._attend(keys_KES, values_KSE)
            self.mixed_flat.dot(weights.out, added)
            if weights.out_bias is not None:
                np.add(added, weights.out_bias, added)
            np.add(x, added, x)

            self._norm(x, weights.ffn_norm)
            normed.dot(weights.gate_up, gate_up)
            if weights.gate_up_bias is not None:
                np.add(gate_up, weights.gate_up_bias, gate_up)
            self._swiglu()
            self.silu.dot(weights.down, added)
            if weights.down_bias is not None:
                np.add(added, weights.down_bias, added)
            np.add(x, added, x)
        self.cache.advance(1)
        self._norm(x, self.weights.norm)
        return self.weights.unembedding.dot(normed)

    def _norm(self, x: Array, weight: Array) -> None:
        self.factor[()] = 1 / math.sqrt(x.dot(x) / self.dim + self.eps)
        np.multiply(x, self.factor, self.normed)
        np.multiply(self.normed, weight, self.normed)

    def _look_back(self, seen: int) -> None:
        """Cut the scratch arrays to `seen` keys, for all layers."""
        self.scores_HS = self.scores[: len(self.mixed) * seen].reshape(-1, seen)
        self.scores_KGS, self.ones_S = self.scores_HS.reshape(*self.q_KGE.shape[:2], seen), self.ones[:seen]

    def _attend(self, keys_KES: Array, values_KSE: Array) -> None:
        scores_HS = self.scores_HS
        self._score(keys_KES)
        np.exp(scores_HS, scores_HS)
        scores_HS.dot(self.ones_S, self.sums_H)
        sums = self.sums_H.tolist()
        if not fit_for_softmax(min(sums), max(sums)):
            self._score(keys_KES)
            np.subtract(scores_HS, scores_HS.max(axis=1, keepdims=True), scores_HS)
            np.exp(scores_HS, scores_HS)
            scores_HS.dot(self.ones_S, self.sums_H)
        np.matmul(self.scores_KGS, values_KSE, self.mixed_KGE)
        np.divide(self.mixed, self.sums, self.mixed)

    def _score(self, keys_KES: Array) -> None:
        if keys_KES.shape[2] <= FEW_KEYS:
            np.matmul(self.q_KGE, keys_KES, self.scores_KGS)
        else:
            np.matvec(keys_KES.swapaxes(1, 2)[:, None], self.q_KGE, self.scores_KGS)

    def _swiglu(self) -> None:
        gate, up, silu = self.gate, self.up, self.silu
        np.multiply(gate, self.halves, gate)
        np.multiply(gate, up, up)
        np.tanh(gate, silu)
        np.multiply(silu, up, silu)
        np.add(silu, up, silu)


def decode_batch(model: "Llama", token_ids: Sequence[int], cache: KVCache) -> Array:
    """Append one token to each of B sequences, each at its own length; the residual stream after the last block.

    Matrix products are shared by all sequences; attention runs over the longest sequence's keys, with those
    that a shorter sequence does not have hidden from it.

    Returns:
        float32 [B, D]. The lengths of `cache` have moved by one.
    """
    config, rows = model.config, np.arange(cache.batch)
    starts = np.array(cache.lengths)
    seen = int(starts.max()) + 1
    turns_B1P = turns_at(model.frequency, starts)[:, None]
    hidden_B11S = (np.arange(seen) > starts[:, None])[:, None, None]
    x_BD = model.weights.embedding[list(token_ids)]
    for weights, kv in zip(model.weights.blocks, cache.kv, strict=True):
        qkv = linear(rms_norm(x_BD, weights.attn_norm, config.norm_eps), weights.qkv, weights.qkv_bias)
        heads = qkv.reshape(cache.batch, -1, config.head_dim)
        n_turned = config.n_heads + config.n_kv_heads
        pairs = heads[:, :n_turned].view(np.complex64)
        np.multiply(pairs, turns_B1P, pairs)
        kv[:, rows, :, starts] = heads[:, config.n_heads :].reshape(cache.batch, 2, config.n_kv_heads, -1)
        q_BKGE = heads[:, : config.n_heads].reshape(cache.batch, config.n_kv_heads, config.group_size, -1)
        scores = q_BKGE @ kv[0, :, :, :seen].transpose(0, 1, 3, 2)
        scores *= 1 / math.sqrt(config.head_dim)
        np.copyto(scores, -np.inf, where=hidden_B11S)
        mixed = (softmax(scores) @ kv[1, :, :, :seen]).reshape(cache.batch, -1)
        x_BD = x_BD + linear(mixed, weights.out, weights.out_bias)
        x_BD += mlp(x_BD, weights, config)
    cache.advance(1)
    return x_BD
