"""Make a long map small enough to look at: each cell becomes the largest of a block.

The largest and not the mean, because a head's single strong link must survive.
"""

import numpy as np

from glasscli.arrays import Array, Mask


def max_pool(values_TS: Array, mask_TS: Mask, rows: int, columns: int) -> tuple[Array, Mask]:
    """Blocks of `rows` × `columns` cells, each replaced by its largest visible value.

    Blocks at the right and lower edge may be smaller.

    Args:
        values_TS: any values; those that `mask_TS` hides are not looked at.
        mask_TS: true where a value counts.

    Returns:
        values [⌈T/rows⌉, ⌈S/columns⌉], 0 where a block shows nothing; mask, true where it shows something.
    """
    n_rows, n_columns = values_TS.shape
    pad = ((0, -n_rows % rows), (0, -n_columns % columns))
    shown = np.pad(mask_TS, pad)
    values = np.where(shown, np.pad(values_TS, pad), -np.inf)
    shape = (shown.shape[0] // rows, rows, shown.shape[1] // columns, columns)
    visible = shown.reshape(shape).any(axis=(1, 3))
    pooled = values.reshape(shape).max(axis=(1, 3))
    return np.where(visible, pooled, 0.0).astype(values_TS.dtype), np.asarray(visible)
