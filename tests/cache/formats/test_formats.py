"""What holds for every format: its bytes, its widths, its shapes, and that attention over packed rows is attention."""

import inspect
from typing import Any

import numpy as np
import pytest
from helpers.numbers_to_pack import bell

from glasscli import ConfigError, UsageError
from glasscli.cache.formats.base import TILE, Format
from glasscli.cache.formats.registry import FORMATS, format_named
from glasscli.dtypes import row_bytes

BUDGETED = [name for name in FORMATS if not name.startswith("kivi")]
WIDTHS = [1, 2, 8, 32, 48, 64, 80, 96, 128, 192, 256, 576]


def rows(*shape: int, seed: int = 4) -> Any:
    return bell(int(np.prod(shape)), 1.0, seed).reshape(shape)


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_takes_what_the_budget_says(name: str, width: int) -> None:
    fmt = FORMATS[name]
    try:
        expected = row_bytes(name, width)
    except ConfigError:
        with pytest.raises(ConfigError, match=f"{name} packs blocks of 32 elements, .* head width of {width}") as error:
            fmt.row_bytes(width)
        assert error.value.field == "head_dim"
        with pytest.raises(ConfigError, match=f"head width of {width}"):
            fmt.pack(rows(3, width))
        return
    assert fmt.row_bytes(width) == expected
    assert fmt.pack(rows(3, width)).nbytes == fmt.empty((3,), width).nbytes == 3 * expected


@pytest.mark.parametrize("bits", [2, 4])
def test_kivi_takes_one_bit_a_value_for_scale_and_zero(bits: int) -> None:
    assert FORMATS[f"kivi{bits}"].row_bytes(64) * 8 == 64 * (bits + 1)


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_any_axes_may_stand_before_the_row(fmt: Format) -> None:
    """Packed one by one, all at once, from a strided view and into a strided view: the same bytes."""
    x = rows(3, 5, 2, 64)
    at_once = fmt.pack(x)
    assert at_once.shape == (3, 5, 2, 64 // fmt.block)
    one_by_one = np.array([[[fmt.pack(row) for row in b] for b in a] for a in x])
    assert one_by_one.tobytes() == at_once.tobytes()
    assert fmt.pack(np.moveaxis(x, 0, 2)).tobytes() == np.moveaxis(at_once, 0, 2).tobytes()
    room = fmt.empty((3, 9, 2), 64)
    assert fmt.pack(x, room[:, 2:7]) is not None
    assert room[:, 2:7].tobytes() == at_once.tobytes()
    assert not np.frombuffer(room[:, :2].tobytes() + room[:, 7:].tobytes(), np.uint8).any()

    read = fmt.unpack(at_once)
    assert read.dtype == np.float32
    assert read.shape == x.shape
    strided = np.full((3, 5, 2, 128), 7, np.float32)
    fmt.unpack(at_once, strided[..., ::2])
    np.testing.assert_array_equal(strided[..., ::2], read)
    assert (strided[..., 1::2] == 7).all()
    np.testing.assert_array_equal(fmt.unpack(np.moveaxis(at_once, 0, 2)), np.moveaxis(read, 0, 2))


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_packing_leaves_the_numbers_alone_and_no_rows_are_no_trouble(fmt: Format) -> None:
    x = rows(4, 32)
    before = x.copy()
    fmt.pack(x)
    np.testing.assert_array_equal(x, before)
    assert fmt.unpack(fmt.pack(x[:0])).shape == (0, 32)
    assert fmt.scores(rows(2, 3, 32), fmt.empty((2, 0), 32)).shape == (2, 3, 0)
    for room in (None, np.zeros(TILE, np.float32)):
        np.testing.assert_array_equal(fmt.mix(rows(2, 3, 0), fmt.empty((2, 0), 32), scratch=room), np.zeros((2, 3, 32)))


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize(
    ("lead", "group", "seen", "width"),
    [((2,), 2, 64, 32), ((3,), 3, 37, 64), ((1,), 9, 5, 128), ((2, 3), 2, 11, 96), ((2,), 1, 3000, 64)],
)
def test_attention_over_packed_rows_is_attention_over_unpacked_ones(
    fmt: Format, lead: tuple[int, ...], group: int, seen: int, width: int
) -> None:
    """Also where the rows take more than one tile, and in a slice of a larger store."""
    store = fmt.empty((*lead, seen + 9), width)
    fmt.pack(rows(*lead, seen, width), store[..., :seen, :])
    packed = store[..., :seen, :]
    unpacked = fmt.unpack(packed).astype(np.float64)
    queries, weights = rows(*lead, group, width, seed=5), np.abs(rows(*lead, group, seen, seed=6))
    before = weights.copy()
    scratch = np.full(TILE, np.nan, np.float32)
    for room in (None, scratch):
        scores, mixed = fmt.scores(queries, packed, scratch=room), fmt.mix(weights, packed, scratch=room)
        assert scores.dtype == mixed.dtype == np.float32
        np.testing.assert_allclose(scores, queries @ unpacked.swapaxes(-1, -2), rtol=0, atol=2e-5 * width**0.5)
        np.testing.assert_allclose(mixed, weights @ unpacked, rtol=0, atol=2e-6 * seen)
    np.testing.assert_array_equal(weights, before)
    out = np.empty_like(mixed)
    assert fmt.mix(weights, packed, out, scratch) is out
    np.testing.assert_array_equal(out, mixed)


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
def test_infinity_and_nan_are_never_read_as_numbers(fmt: Format) -> None:
    """But by e4m3, which has no infinity and cuts it off at 448."""
    for bad in (np.inf, -np.inf, np.nan):
        x = rows(2, 64)
        x[1, 40] = bad
        read = fmt.unpack(fmt.pack(x))
        assert np.isfinite(read[0]).all()
        assert np.isfinite(read[1, :32]).all()
        if fmt.name == "fp8_e4m3" and not np.isnan(bad):
            assert read[1, 40] == np.copysign(448, bad)
        else:
            assert not np.isfinite(read[1, 40])


def test_formats_have_no_state_of_a_cache() -> None:
    """One object serves all: packing and reading leave it as it was."""
    for fmt in FORMATS.values():
        before = dict(vars(fmt))
        fmt.scores(rows(1, 1, 32), fmt.pack(rows(1, 4, 32)))
        assert vars(fmt) == before


def test_a_format_that_forgets_a_method_cannot_be_made() -> None:
    class Half(Format):
        def _pack(self, rows: Any, out: Any) -> None: ...

    assert inspect.isabstract(Half)
    with pytest.raises(TypeError, match="_unpack"):
        Half()  # type: ignore[abstract]


def test_formats_go_by_their_names() -> None:
    assert all(format_named(name).name == name for name in FORMATS)
    with pytest.raises(UsageError, match=r"'q3_K' is not a format .* known are f32, f16, bf16, fp8_e4m3"):
        format_named("q3_K")
