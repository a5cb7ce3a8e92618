"""What one layer keeps between two steps, one frozen dataclass per kind of attention."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FullAttention:
    """Every token's key and value, for each key/value head (MHA, GQA and MQA differ in the heads alone)."""

    n_kv_heads: int
    k_dim: int
    v_dim: int
