"""What KIVI's types take: the oldest tokens packed, a group at a time, the newest exact, in float32.

    tokens n       packed                   exact, at most
    to r + 30      0                        n
    from r + 31    32 · ⌊(n − r) / 32⌋      r + 31

r is the residual. A group of keys is 32 tokens of one channel, so none is packed before it is full; one of values is
32 channels of one token, packed with its keys. Both take the same bytes. There is room for as many exact tokens as
there ever are at once, whatever are there now.

Source: Liu et al. 2024, arXiv:2402.02750, section 3.3; there keys are packed r at a time.
"""

from glasscli.dtypes import DTYPES, Dtype, row_bytes
from glasscli.specs.cache_spec import Tensor

RESIDUAL = 32
EXACT = "f32"
KIVI = frozenset(dtype.name for dtype in DTYPES.values() if dtype.group > 1)


def most_exact(dtype: Dtype, residual: int) -> int:
    """Tokens that are exact at once, at most: the next one fills a group, which is packed."""
    return residual + dtype.group - 1


def n_packed(dtype: Dtype, tokens: int, residual: int) -> int:
    """How many of `tokens` are packed."""
    return max(0, tokens - residual) // dtype.group * dtype.group


def kivi_bytes(dtype: Dtype, tensor: Tensor, residual: int, sequences: int, prefix: int = 0, room: bool = True) -> int:
    """Bytes of the keys or the values of one layer, `tensor.rows` tokens of each of `sequences`.

    Args:
        prefix: tokens that all sequences begin with: groups that lie in them are kept once, exact tokens never.
        room: count the room for exact tokens, not only those that are there.

    Raises:
        ConfigError: 32 does not divide the width of a head.
    """
    tokens, width = tensor.rows, tensor.width // tensor.heads
    packed = n_packed(dtype, tokens, residual)
    exact = min(tokens, most_exact(dtype, residual)) if room else tokens - packed
    shared = min(packed, prefix // dtype.group * dtype.group)
    rows = shared + sequences * (packed - shared)
    size = row_bytes(dtype.name, width, tensor.heads)
    return rows * size + sequences * exact * row_bytes(EXACT, width, tensor.heads)
