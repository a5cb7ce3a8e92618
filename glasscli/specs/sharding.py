"""How counts split over tensor-parallel ranks: evenly, or not at all. Specs say by this what one rank keeps."""


class UnevenError(Exception):
    """These many ranks do not split this layer; says what does not divide."""


def split_heads(n_kv_heads: int, tp: int) -> int:
    """Key/value heads a rank keeps: its share, or one that other ranks keep too. Raises UnevenError.

    Source: vLLM's `get_num_kv_heads`.
    """
    if n_kv_heads % tp == 0:
        return n_kv_heads // tp
    if tp % n_kv_heads == 0:
        return 1
    raise UnevenError(f"{n_kv_heads} key/value heads")


def divide(count: int, tp: int, what: str) -> int:
    """`count` split evenly. Raises UnevenError when it does not."""
    if count % tp:
        raise UnevenError(f"{count} {what}")
    return count // tp
