"""The formats of keys and values, and the bytes that a number takes in each"""

from fractions import Fraction

from glasscli.cache.formats.names import ALIASES as RUN_ALIASES
from glasscli.cache.formats.names import NAMES, SAYS
from glasscli.cli.help.parts import Heading, Part, Prose, Sample, table
from glasscli.dtypes import ALIASES, DTYPES, Dtype

HEAD_DIM = 128  # of most models: what a format adds for each head is spread over so many numbers


def parts() -> list[Part]:
    """Those that a model can run with, then those that are counted."""
    return [
        Prose(
            "Bytes a number are those of a head of 128, scales included. Keys and values can differ: k=q8_0,v=q4_0 in "
            "--cache and --spec, --k-dtype and --v-dtype in kv-budget."
        ),
        Heading("Run: generate --cache, dump-attn --cache, kv-quality --spec"),
        table((name, f"{_run_bytes(name)} B. {SAYS[name]}{_also(name, RUN_ALIASES)}") for name in NAMES),
        Heading("Counted: kv-budget --dtype"),
        table((name, f"{_counted(dtype)}{_also(name, ALIASES)}") for name, dtype in DTYPES.items()),
        Heading("Examples"),
        Sample(["glass kv-quality --spec q8_0 --spec kivi2", "glass kv-budget --model llama-3.1-8b --dtype q4_0"]),
    ]


def _run_bytes(name: str) -> str:
    """As the cache that runs holds it."""
    from glasscli.cache.formats.registry import FORMATS

    return _bytes(Fraction(FORMATS[name].row_bytes(HEAD_DIM), HEAD_DIM))


def _counted(dtype: Dtype) -> str:
    extra = Fraction(dtype.head_bytes + dtype.row_bytes, HEAD_DIM)
    return f"{_bytes(Fraction(dtype.block_bytes, dtype.block) + extra)} B. {dtype.says}"


def _bytes(each: Fraction) -> str:
    return f"{float(each):.4g}"


def _also(name: str, aliases: dict[str, str]) -> str:
    also = [alias for alias, own in aliases.items() if own == name]
    return f"; also {', '.join(also)}" if also else ""
