"""DeepSeek V4 in llama.cpp: a window of rows, compressed rows and what waits for them, a stream for each sequence.

Every sequence has streams of its own, also in a unified cache, where each has room for the whole context. Rows are
keys and values in one, in the type of K; compressed rows and index keys are padded to 256; what waits to be compressed
is in float32, twice as wide and twice as many where rows of 4 overlap.

Source: llama.cpp's `llama-kv-cache-dsv4.cpp` and `llama-kv-cache-iswa.cpp` of 2026.
"""

from glasscli.budget.engines.engine import Dtypes, up
from glasscli.dtypes import row_bytes
from glasscli.specs.attention_specs import CompressedAttention

RATIOS = (0, 4, 128)
PAD, F32 = 256, 4


def rows(part: CompressedAttention, cells: int, window_cells: int, dtypes: Dtypes) -> dict[str, int]:
    """Bytes of one layer's rows and index keys in a stream of `cells`, by role."""
    n_rows = window_cells
    compressed = up(max(1, -(-cells // part.ratio)), PAD) if part.ratio else 0
    found = {"k": (n_rows + compressed) * row_bytes(dtypes.k, part.width, 1)}
    if part.index_dim:
        found["index"] = compressed * row_bytes(dtypes.index, part.index_dim, 1)
    return found


def states(part: CompressedAttention) -> int:
    """Bytes of the numbers of one layer that wait in a stream to be compressed: rows and their weights."""
    if not part.ratio:
        return 0
    both = 2 if part.ratio == 4 else 1
    return 2 * (both * part.ratio) * both * (part.width + part.index_dim) * F32
