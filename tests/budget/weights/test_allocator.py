"""PyTorch's caching allocator by hand: what is booked for tensors that come in an order."""

import pytest

from glasscli.budget.weights.allocator import MIB, Allocator


def booked(*sizes: float) -> float:
    """MiB booked for tensors of so many MiB."""
    allocator = Allocator()
    for size in sizes:
        allocator.take(int(size * MIB))
    return allocator.booked / MIB


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((31.5,), 32),  # half a MiB of 32 would be left
        ((24.5,), 24.5),  # 1.5 of 26 are left and cut off
        ((9,), 9),
        ((6, 4.5, 6), 16.5),  # one segment of 20, of which 3.5 are left
        ((6, 4.5, 6, 4.5, 6, 4.5), 31.5),  # the last takes from what the second segment has left: 9.5
        ((6, 4.5, 9), 19.5 + 0.5),  # 9.5 are left for 9: half a MiB is no piece of its own
        ((0.5, 0.5), 1),
    ],
)
def test_large_tensors_share_segments(sizes: tuple[float, ...], expected: float) -> None:
    assert booked(*sizes) == expected


def test_small_ones_are_rounded_to_512_bytes() -> None:
    allocator = Allocator()
    allocator.take(1)
    allocator.take(513)
    assert allocator.booked == 512 + 1024


def test_what_is_given_back_is_used_again() -> None:
    """Two of 8 and one of 4 MiB in a segment of 20; the first two given back are one piece of 16, which fits 12."""
    allocator = Allocator()
    pieces = [allocator.take(size * MIB) for size in (8, 8, 4)]
    for piece in pieces[:2]:
        allocator.give(piece)
    assert allocator.booked == 4 * MIB
    allocator.take(12 * MIB)
    assert (allocator.booked, len(allocator.segments)) == (16 * MIB, 1)
