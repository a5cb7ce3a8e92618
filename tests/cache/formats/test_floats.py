"""fp8, bf16 and f16 equal torch's types bit for bit: by what `make_floats.py` wrote down, and live."""

import json
from pathlib import Path

import numpy as np
import pytest
from helpers.numbers_to_pack import any_bits, bell, digest

from glasscli.cache.formats.floats import Float8
from glasscli.cache.formats.minifloat import BF16, E4M3, E5M2, F16, Layout, narrow, widen
from glasscli.cache.formats.registry import FORMATS

STORED = json.loads((Path(__file__).parent / "float_bits.json").read_text())["packed"]
SMALL = {"f16": F16, "bf16": BF16, "fp8_e4m3": E4M3, "fp8_e5m2": E5M2}
MILLION = 1_000_000


@pytest.mark.parametrize("name", SMALL)
def test_a_million_numbers_become_torchs_bits(name: str) -> None:
    anything = any_bits(MILLION)
    anything = anything[~np.isnan(anything)]
    assert digest(FORMATS[name].pack(anything)) == STORED[name]["any bits"]
    for scale in (1e-3, 0.02, 1.0, 300.0):
        assert digest(FORMATS[name].pack(bell(MILLION, scale))) == STORED[name][f"bell {scale:g}"], scale


@pytest.mark.parametrize("name", SMALL)
def test_narrowing_is_to_the_nearest_and_ties_go_to_the_even_number(name: str) -> None:
    """Every finite number comes back; so does what is nearest to it; halfway between two, the even one wins."""
    layout = SMALL[name]
    bits = np.arange(layout.special, dtype=layout.unsigned)
    numbers = widen(bits, layout).astype(np.float64)
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(narrow(numbers.astype(np.float32), layout), bits)
    np.testing.assert_array_equal(narrow(-numbers.astype(np.float32), layout), bits + (layout.magnitude + 1))
    halfway = (numbers[:-1] + numbers[1:]) / 2
    if layout is not BF16:  # half of bf16's least number is no float32 that a product keeps
        even = bits[:-1] + bits[:-1] % 2
        middle = halfway.astype(np.float32)
        np.testing.assert_array_equal(narrow(middle, layout), even)
        np.testing.assert_array_equal(narrow(np.nextafter(middle, np.float32(0)), layout), bits[:-1])
        np.testing.assert_array_equal(narrow(np.nextafter(middle, np.float32(np.inf)), layout), bits[1:])


@pytest.mark.parametrize("layout", SMALL.values(), ids=SMALL)
def test_infinity_nan_and_what_is_too_large(layout: Layout) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, 0.0, -0.0], np.float32)
    back = widen(narrow(x, layout), layout)
    assert np.isnan(back[2])
    assert np.signbit(back[[1, 4, 6]]).all()
    assert not np.signbit(back[[0, 3, 5]]).any()
    if layout is BF16:
        assert back[3] == pytest.approx(3e38, rel=2**-8)
        assert np.isinf(back[:2]).all()
    else:
        assert np.abs(back[[0, 1, 3, 4]]).tolist() == [np.inf if layout.has_infinity else 448] * 4


def test_halves_read_the_same_few_or_many() -> None:
    """NumPy converts a few, shifted bits many: all 65,536 of them."""
    bits = np.arange(65536, dtype=np.uint16)
    few = np.concatenate([widen(part, F16) for part in bits.reshape(-1, 64)])
    np.testing.assert_array_equal(widen(bits, F16), few)
    np.testing.assert_array_equal(few, bits.view(np.float16).astype(np.float32))


def test_e4m3_by_hand() -> None:
    """1.0 is exponent 7, fraction 0; 448 the largest; 2⁻⁹ the least; 0.7 lies between 0.6875 and 0.75."""
    x = np.array([1, 448, 1e9, 2**-9, 0.7, -1], np.float32)
    assert FORMATS["fp8_e4m3"].pack(x).tolist() == [0x38, 0x7E, 0x7E, 0x01, 0x33, 0xB8]
    assert FORMATS["fp8_e4m3"].unpack(np.array([0x33], np.uint8))[0] == 0.6875


@pytest.mark.parametrize(("name", "largest"), [("fp8_e4m3", 448), ("fp8_e5m2", 57344)])
def test_a_scale_for_the_tensor_makes_its_largest_number_the_formats(name: str, largest: float) -> None:
    plain = FORMATS[name]
    assert isinstance(plain, Float8)
    assert plain.largest == largest
    x = bell(4096, 1e-4)
    scaled = plain.calibrated(x)
    assert scaled.scale == pytest.approx(np.abs(x).max() / largest)
    assert np.abs(widen(scaled.pack(x), scaled.layout)).max() == largest
    error = np.abs(scaled.unpack(scaled.pack(x)) - x).max()
    assert error <= np.abs(x).max() * 2.0 ** -(scaled.layout.fraction + 1)
    assert error < np.abs(plain.unpack(plain.pack(x)) - x).max()
    zeros = np.zeros(32, np.float32)
    np.testing.assert_array_equal(plain.calibrated(zeros).unpack(plain.calibrated(zeros).pack(zeros)), 0)


@pytest.mark.parity
@pytest.mark.parametrize("name", SMALL)
def test_torch_says_the_same_today(name: str) -> None:
    import make_floats
    import torch

    for case, x in make_floats.cases().items():
        cast = make_floats.cast(x, name)
        packed = FORMATS[name].pack(x)
        np.testing.assert_array_equal(packed.view(SMALL[name].unsigned), make_floats.raw(cast), case)
        np.testing.assert_array_equal(FORMATS[name].unpack(packed), cast.to(torch.float32).numpy(), case)
