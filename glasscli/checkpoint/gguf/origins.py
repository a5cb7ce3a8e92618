"""Where a tensor in Hugging Face's layout comes from: rows of one or more GGUF tensors, and how they were moved.

What converters do to weights, and what undoes it:

    turned pairs   Llama, Granite, SmolLM3: the two halves of each query and key head were interleaved, since ggml's
                   rotation of these turns neighbours; row (head, i, half) goes back to (head, half, i)
    fused heads    GPT-NeoX: rows (head, q or k or v, i) were sorted into (q or k or v, head, i)
    one more       Gemma: 1 was added to the norms' weights, which the model adds itself
    turned over    GPT-2: its linear layers hold [in, out], a GGUF always [out, in]
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glasscli.checkpoint.gguf.tensor_types import READABLE
from glasscli.checkpoint.safetensors_file import TensorInfo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """Rows `start` up to `stop` (exclusive) of a GGUF tensor; a vector's numbers count as its rows."""

    info: TensorInfo
    start: int
    stop: int

    @property
    def n_bytes(self) -> int:
        """Bytes that they take in the file."""
        n_rows = self.info.shape[0] if self.info.shape else 1
        return self.info.n_bytes * (self.stop - self.start) // max(n_rows, 1)


@dataclass(frozen=True)
class Origin:
    """The way to one tensor.

    Attributes:
        info: name and shape as Hugging Face has them; dtype and bytes as the file has them.
        rows: what is put together, one below the other.
        pairs: how many heads have their halves interleaved.
        fused: how many heads were sorted by q, k and v.
        less_one: whether 1 is to be taken off each number.
        turned_over: whether rows are columns.
    """

    info: TensorInfo
    rows: tuple[Rows, ...]
    pairs: int = 0
    fused: int = 0
    less_one: bool = False
    turned_over: bool = False

    def places(self) -> "NDArray[np.intp] | None":
        """Where each stored row belongs; None if all stay where they are."""
        import numpy as np

        n_rows = sum(rows.stop - rows.start for rows in self.rows)
        numbers: NDArray[Any] = np.arange(n_rows)
        if self.pairs:
            return numbers.reshape(self.pairs, 2, -1).swapaxes(1, 2).reshape(-1)
        if self.fused:
            return numbers.reshape(self.fused, 3, -1).swapaxes(0, 1).reshape(-1)
        return None


def whole(info: TensorInfo) -> Rows:
    """All rows of a tensor."""
    return Rows(info, 0, info.shape[0] if info.shape else 1)


def origin(name: str, rows: tuple[Rows, ...], shape: tuple[int, ...], **how: Any) -> Origin:
    """An `Origin` whose `info` adds up what its rows are; of several types it has one that can't be read, if any."""
    first = rows[0].info
    offset = Rows(first, 0, rows[0].start).n_bytes
    dtype = next((part.info.dtype for part in rows if part.info.dtype not in READABLE), first.dtype)
    info = TensorInfo(name, dtype, shape, sum(part.n_bytes for part in rows), first.file, first.start + offset)
    return Origin(info, rows, **how)
