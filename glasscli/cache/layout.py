"""Which kind of attention each layer of a model has: what the cache allocates and the budget counts.

It knows no weights and imports no NumPy.
"""

from glasscli.config.model_config import ModelConfig
from glasscli.specs.cache_spec import CacheSpec


def layout_of(config: ModelConfig) -> tuple[CacheSpec, ...]:
    """One entry a layer, first layer first."""
    return config.specs
