"""Every format by its name."""

from collections.abc import Mapping
from types import MappingProxyType

from glasscli.cache.formats import minifloat
from glasscli.cache.formats.base import Format
from glasscli.cache.formats.floats import BFloat16, Float8, Float16, Float32
from glasscli.cache.formats.ggml import Q8, Symmetric, WithMinimum
from glasscli.cache.formats.kivi import Kivi
from glasscli.errors import UsageError

_ALL = (
    Float32(), Float16(), BFloat16(), Float8("fp8_e4m3", minifloat.E4M3), Float8("fp8_e5m2", minifloat.E5M2),
    Q8(), WithMinimum(5), Symmetric(5), WithMinimum(4), Symmetric(4), Kivi(4), Kivi(2),
)  # fmt: skip

FORMATS: Mapping[str, Format] = MappingProxyType({fmt.name: fmt for fmt in _ALL})


def format_named(name: str) -> Format:
    """The format called `name`.

    Raises:
        UsageError: no such format; the message lists those there are.
    """
    if name not in FORMATS:
        raise UsageError(f"{name!r} is not a format of keys and values; known are {', '.join(FORMATS)}")
    return FORMATS[name]
