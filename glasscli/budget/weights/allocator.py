"""How many bytes PyTorch's caching allocator books for tensors: more than they have, by the order they come in.

Sizes are rounded up to 512 B. Up to 1 MiB that is all. Larger ones are cut from segments: of 20 MiB for those below
10 MiB, else of their own size rounded up to 2 MiB; first from what is free of segments that are there, the tightest
piece that is large enough. A piece is cut only where more than 1 MiB would be left: else it is booked whole.

Source: PyTorch's `CUDACachingAllocator.cpp` (kMinBlockSize, kSmallSize, kLargeBuffer, kMinLargeAlloc, kRoundLarge).
"""

from dataclasses import dataclass

MIB = 1024**2
BLOCK, SMALL, BUFFER, LARGE, ROUND = 512, MIB, 20 * MIB, 10 * MIB, 2 * MIB


@dataclass(eq=False)
class Piece:
    """A part of a segment; `segment` is None for what is too small to be followed."""

    size: int
    free: bool
    segment: "list[Piece] | None"


class Allocator:
    """What is booked, tensor by tensor. `booked` counts the bytes."""

    def __init__(self) -> None:
        self.booked = 0
        self.segments: list[list[Piece]] = []

    def take(self, size: int) -> Piece:
        """The piece that a tensor of `size` bytes gets."""
        size = -(-size // BLOCK) * BLOCK
        if size <= SMALL:
            self.booked += size
            return Piece(size, False, None)
        fitting = [piece for segment in self.segments for piece in segment if piece.free and piece.size >= size]
        piece = min(fitting, key=lambda piece: piece.size) if fitting else self._segment(size)
        segment = piece.segment
        assert segment is not None
        if piece.size - size > SMALL:
            segment.insert(segment.index(piece) + 1, Piece(piece.size - size, True, segment))
            piece.size = size
        piece.free = False
        self.booked += piece.size
        return piece

    def give(self, piece: Piece) -> None:
        """Take a piece back; it becomes one with free neighbours."""
        self.booked -= piece.size
        piece.free = True
        segment = piece.segment
        if segment is None:
            return
        for at in range(len(segment) - 1, 0, -1):
            if segment[at].free and segment[at - 1].free:
                segment[at - 1].size += segment.pop(at).size

    def _segment(self, size: int) -> Piece:
        segment: list[Piece] = []
        segment.append(Piece(BUFFER if size < LARGE else -(-size // ROUND) * ROUND, True, segment))
        self.segments.append(segment)
        return segment[0]
