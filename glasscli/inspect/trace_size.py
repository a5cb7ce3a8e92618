"""How much memory a trace takes, worked out before anything runs: it grows with queries × keys."""

from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError

MAX_TRACE_BYTES = 2 * 1024**3


class SizeError(UsageError):
    """What was asked for would not fit: in memory, or in a text file of bearable size."""


def check_size(config: ModelConfig, n_queries: int, n_keys: int, n_layers: int) -> None:
    """Refuse a trace that would not fit in memory: scores and pattern are [H, T, S] each.

    Raises:
        SizeError: it would take more than 2 GiB.
    """
    n_bytes = trace_bytes(config, n_queries, n_keys, n_layers)
    if n_bytes > MAX_TRACE_BYTES:
        layers = f"{n_layers} layer{'s' * (n_layers > 1)}"
        raise SizeError(
            f"{n_queries:,} × {n_keys:,} scores of {config.n_heads} heads in {layers} take "
            f"{n_bytes / 1024**3:.1f} GiB; the limit is {MAX_TRACE_BYTES // 1024**3} GiB"
        )


def trace_bytes(config: ModelConfig, n_queries: int, n_keys: int, n_layers: int) -> int:
    """Bytes of the two large arrays of a trace, scores and pattern."""
    return 2 * 4 * config.n_heads * n_queries * n_keys * n_layers
