"""What one step of decoding has to read: the whole cache once, for one token of every sequence.

Reading is what bounds decoding: each key and value read takes part in one product for each query head that
shares it, so the arithmetic done for a byte (the intensity) is near one for MHA and grows with the group size.
Source: Shazeer 2019, arXiv:1911.02150, section 2.4.
"""

from dataclasses import dataclass
from fractions import Fraction

from glasscli.budget.engines.engine import total
from glasscli.budget.engines.logical import InUse
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer


@dataclass(frozen=True)
class Read:
    """One decoding step of the whole batch. `bytes` is read in all, `rank_bytes` by one device of each stage.

    `flops` counts a multiply and an add for q·k and for weights·v in attention layers alone, 0 where not known.
    """

    bytes: int
    rank_bytes: int
    flops: int

    @property
    def intensity(self) -> Fraction | None:
        """Operations for each byte read; None where the operations are not known."""
        return Fraction(self.flops, self.bytes) if self.flops and self.bytes else None

    def seconds(self, bandwidth: int) -> Fraction:
        """The least time a step takes when each device reads `bandwidth` bytes a second, stage after stage."""
        return Fraction(self.rank_bytes, bandwidth)


def decode_read(request: Request) -> Read:
    """What decoding one more token for every sequence of `request` reads, in the dtypes of its engine.

    Only rows that are in use count, not the padding of an engine's pages, nor room that waits for exact tokens. A
    sequence reads a shared prefix for itself.
    """
    dtypes = Sizer(request).engine.dtypes
    bare = request.as_mathematics(dtypes, state_dtype=dtypes.state, tp=request.tp, dp=request.dp)
    sizer = Sizer(bare, InUse)
    sequences = -(-request.batch // request.dp)
    read = sizer.total(request.tokens, request.batch)
    rank = sum(count * total(sizer.hold(part, request.tokens, sequences)) for part, count in sizer.parts.items())
    return Read(read, rank, flops_of(sizer, request) * request.batch)


def flops_of(sizer: Sizer, request: Request) -> int:
    """Operations of all layers' attention for one new token of one sequence; 0 if those of one are not known."""
    n_heads = request.layout.n_heads or 0
    flops = 0
    for part, count in sizer.parts.items():
        of_one = part.flops(n_heads, request.tokens, request.encoder)
        if of_one is None:
            return 0
        flops += count * of_one
    return flops
