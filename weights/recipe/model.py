"""The network, as plain PyTorch: ids in, logits out, with Hugging Face's tensor names.

Exactly what `transformers` calls LlamaForCausalLM (RMSNorm before each half block, half-split RoPE,
grouped-query attention, SwiGLU, tied embeddings), written out because a short module is quicker to
compile and to read. It does not know how it is trained or where its weights are kept.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Shape:
    """Sizes of the network. Defaults are the shipped model's."""

    vocab_size: int = 1024
    dim: int = 128
    n_layers: int = 4
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 32
    ffn_dim: int = 384
    max_seq_len: int = 512
    rope_theta: float = 10_000.0
    norm_eps: float = 1e-5


class RMSNorm(nn.Module):
    """Divide by the root mean square, then scale. Source: Zhang & Sennrich 2019, arXiv:1910.07467."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rope_tables(shape: Shape) -> tuple[Tensor, Tensor]:
    """Cosines and sines [max_seq_len, head_dim], each half of the last axis the same angles.

    Source: Su et al. 2021, arXiv:2104.09864, in the half-split layout of Hugging Face's Llama.
    """
    rates = shape.rope_theta ** (-torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
    angles = torch.outer(torch.arange(shape.max_seq_len).float(), rates)
    angles = torch.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn each pair (i, i + half) of the last axis by its position's angle. x: [..., T, head_dim]."""
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], dim=-1) * sin


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention, [B, n_heads, T, head_dim] each: the first half of the queries sees half of the keys only.

    What `F.scaled_dot_product_attention` computes. On a CPU, in bfloat16 and with heads this narrow, two plain
    products a half take a third of its time, and half of a training step was spent there.
    """
    n_tokens, parts = q.shape[2], []
    for start, stop in ((0, n_tokens // 2), (n_tokens // 2, n_tokens)):
        seen = torch.arange(stop) <= torch.arange(start, stop)[:, None]
        scores = (q[:, :, start:stop] * q.shape[-1] ** -0.5) @ k[:, :, :stop].transpose(-1, -2)
        weights = scores.float().masked_fill(~seen, -torch.inf).softmax(-1)
        parts.append(weights.to(v.dtype) @ v[:, :, :stop])
    return torch.cat(parts, dim=2)


class Attention(nn.Module):
    """Causal grouped-query attention. Source: Ainslie et al. 2023, arXiv:2305.13245."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        q_width, kv_width = shape.n_heads * shape.head_dim, shape.n_kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.dim, q_width, bias=False)
        self.k_proj = nn.Linear(shape.dim, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.dim, kv_width, bias=False)
        self.o_proj = nn.Linear(q_width, shape.dim, bias=False)

    def heads(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Rotated queries, rotated keys and values, [B, n_heads, T, head_dim], K and V repeated."""
        n_batch, n_tokens, _ = x.shape
        q, k, v = (
            proj(x).view(n_batch, n_tokens, -1, self.shape.head_dim).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        group = self.shape.n_heads // self.shape.n_kv_heads
        k = rotate(k, cos, sin).repeat_interleave(group, dim=1)
        return rotate(q, cos, sin), k, v.repeat_interleave(group, dim=1)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = self.heads(x, cos, sin)
        mixed = attend(q, k, v)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).reshape(*x.shape[:2], -1))
        return out


class MLP(nn.Module):
    """SwiGLU. Source: Shazeer 2020, arXiv:2002.05202."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.dim, shape.ffn_dim, bias=False)
        self.up_proj = nn.Linear(shape.dim, shape.ffn_dim, bias=False)
        self.down_proj = nn.Linear(shape.ffn_dim, shape.dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Block(nn.Module):
    """Attention, then MLP, each behind a norm and added to the residual stream."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(shape.dim, shape.norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape.dim, shape.norm_eps)
        self.mlp = MLP(shape)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Decoder(nn.Module):
    """Embedding, blocks, final norm: the part Hugging Face stores under `model.`."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.dim)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.n_layers))
        self.cos: Tensor
        self.sin: Tensor
        self.norm = RMSNorm(shape.dim, shape.norm_eps)
        cos, sin = rope_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, token_ids: Tensor) -> Tensor:
        """The normed residual stream [B, T, dim]."""
        cos, sin = self.turns(token_ids.shape[1])
        x: Tensor = self.embed_tokens(token_ids)
        for layer in self.layers:
            x = layer(x, cos, sin)
        normed: Tensor = self.norm(x)
        return normed

    def turns(self, n_tokens: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines of the first positions."""
        return self.cos[:n_tokens], self.sin[:n_tokens]

    def blocks(self) -> list[Block]:
        """The layers, as what they are."""
        return [layer for layer in self.layers if isinstance(layer, Block)]


class Llama(nn.Module):
    """The whole model; the output matrix is the embedding matrix."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.model = Decoder(shape)
        self.apply(self._initialise)
        # Blocks start as near-identities: each adds nothing until its output matrix has grown.
        for layer in self.model.blocks():
            nn.init.zeros_(layer.self_attn.o_proj.weight)
            nn.init.zeros_(layer.mlp.down_proj.weight)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Logits [B, T, vocab_size] for token_ids [B, T]."""
        return F.linear(self.model(token_ids), self.model.embed_tokens.weight)

    def loss(self, token_ids: Tensor, targets: Tensor) -> Tensor:
        """Mean nats per target; targets of -100 are not counted."""
        logits = self(token_ids).flatten(0, 1)
        return F.cross_entropy(logits, targets.flatten(), ignore_index=-100)
