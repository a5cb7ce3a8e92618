"""Which kind of attention each layer of a model has: what the cache allocates and the budget counts.

It knows no weights and imports no NumPy.
"""

from glasscli.config.model_config import ModelConfig
from glasscli.specs.cache_spec import FullAttention


def layout_of(config: ModelConfig) -> tuple[FullAttention, ...]:
    """One entry a layer, first layer first. Every layer of a Llama is full attention of the same shape."""
    return (FullAttention(config.n_kv_heads, config.head_dim, config.head_dim),) * config.n_layers
