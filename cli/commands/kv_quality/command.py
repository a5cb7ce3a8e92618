"""`glass kv-quality`: its options, and what it does."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from glasscli.cache.choice import CacheChoice
from glasscli.cache.choice_text import is_choice, parse_choice
from glasscli.cli.blas import pin_threads
from glasscli.cli.console import Color
from glasscli.cli.interrupts import tidy_end
from glasscli.cli.options import ColorOption, Csv, Group, Json, ModelDir, Quiet, Verbose, argument, option
from glasscli.errors import UsageError
from glasscli.quality.by import By, check_parts
from glasscli.units import parse_count, show

UNNAMED = "f16"  # what a token takes beside f16 is then the share of what is kept
EPILOG = """\
Every cache reads the same text; its predictions are compared with those of the
full cache in float32. A chunk stays in one document (a line <|endoftext|> ends
one), and its second half is scored. A query sees what the cache of a decoder
that goes token by token holds right after that query's token came. Queries are
exact; llama.cpp rounds them to 8 bits where keys are packed, so q8_0 costs
slightly more there.

\b
A cache is a format, a rule for tokens, merged heads, or several of these; what
names no format is kept in f16, as in other engines (with --cache: in f32):
  q8_0              f32 f16 bf16 fp8_e4m3 fp8_e5m2 q8_0 q5_1 q5_0 q4_1 q4_0
                    kivi4 kivi2; k=q8_0,v=q4_0 keys and values apart
  q4_0,norot        without llama.cpp's rotation (head widths of 64, 128, ...)
  window=256        the last tokens; sinks=4+window=252 the first ones too;
                    with ,renumber positions count inside the window
  h2o=256 tova=256  the tokens that were attended to most
  kv-heads=1        neighbouring KV heads merged by their mean, not retrained

\b
Columns:
  Δ     what a token costs more, in nats, ± its standard error over chunks
  KLD   Σ p ln(p/q) of a position, p the full cache's: mean, 99th percentile
  copy  share of 64 random tokens at the beginning of a chunk that are foreseen
        when they come again at its end

\b
Examples:
  glass kv-quality
  glass kv-quality --spec q8_0 --spec k=q8_0,v=q4_0 --spec sinks=4+window=124
  glass kv-quality --spec q4_0 --by layer
  glass kv-quality --text notes.txt --spec q5_0 --max-kld 0.01
  glass kv-quality -m path/to/llama --svg cost.svg"""


@dataclass(frozen=True)
class Options:
    """Measure what smaller KV caches cost on a text: quantised, windowed, evicting, with merged heads."""

    text: Annotated[str | None, argument("[TEXT]", "The text [default: held-out stories]; - reads stdin.")] = None
    file: Annotated[str | None, option("--text --file", "Read a file instead.", Group.text, metavar="FILE")] = None
    spec: Annotated[
        list[str] | None,
        option(
            "--spec",
            "A cache, such as q8_0; may be repeated [default: several].",
            Group.view,
            metavar="SPEC",
        ),
    ] = None
    by: Annotated[By | None, option("--by", "Where it hurts: each part of a cache alone.", Group.view)] = None
    max_kld: Annotated[
        str | None,
        option(
            "--max-kld",
            "Exit with 1 if a --spec costs more, or if no cache of the list passes [default: 0.01, exit 0].",
            Group.view,
            metavar="X",
        ),
    ] = None
    ctx: Annotated[
        str | None,
        option("--ctx", "Tokens of a chunk [default: up to 512, so that there are 4 chunks].", Group.size, metavar="N"),
    ] = None
    chunks: Annotated[
        str | None,
        option("--chunks", "Read N chunks [default: 4,096 tokens; 1,024 of a large model].", Group.size, metavar="N"),
    ] = None
    svg: Annotated[
        Path | None, option("--svg", "Also draw bytes against KL divergence into a file.", Group.output, metavar="FILE")
    ] = None
    as_json: Json = False
    as_csv: Csv = False
    model: ModelDir = None
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    @property
    def limit(self) -> float | None:
        """The most nats of KL divergence, if it was asked for."""
        if self.max_kld is None:
            return None
        try:
            value = float(self.max_kld)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf:
            raise UsageError(f"--max-kld {show(self.max_kld)}: expected nats from 0 up, such as 0.01")
        return value

    @property
    def context(self) -> int | None:
        """Tokens of a chunk, if they were given."""
        return _count("--ctx", self.ctx, "a number of tokens")

    @property
    def n_chunks(self) -> int | None:
        """How many chunks, if that was given."""
        return _count("--chunks", self.chunks, "a number of chunks")

    @property
    def choices(self) -> list[CacheChoice] | None:
        """The caches that were named, each once."""
        try:
            return list(dict.fromkeys(parse_choice(text, UNNAMED) for text in self.spec)) if self.spec else None
        except UsageError as error:
            raise UsageError(f"--spec{str(error).removeprefix('cache')}") from None

    def check(self) -> None:
        """Refuse what makes no sense before anything is loaded.

        Raises:
            UsageError: an option that can't be read, or two that contradict each other.
        """
        if self.text is not None and self.file is not None:
            raise UsageError("a text and --text FILE were given. Give one of them.")
        if self.text is not None and is_choice(self.text):
            raise UsageError(f"{show(self.text)} stands where the text goes. A cache: --spec {self.text}")
        if self.as_json and self.as_csv:
            raise UsageError("--json and --csv both print to stdout. Give one of them.")
        if self.svg is not None and self.svg.suffix.lower() != ".svg":
            raise UsageError(f"--svg {show(str(self.svg))}: name a file that ends in .svg")
        _ = self.limit, self.context, self.n_chunks
        for choice in self.choices or ():
            if self.by is not None:
                check_parts(choice, self.by)


def _count(name: str, text: str | None, what: str) -> int | None:
    try:
        return None if text is None else parse_count(text, what)
    except UsageError as error:
        raise UsageError(f"{name}: {error}") from None


def run(options: Options) -> int:
    """Try every cache and show what each costs; the exit code."""
    options.check()
    pin_threads(options.model, options.quiet)
    from glasscli.cli.commands.kv_quality.run import run_all

    with tidy_end():
        return run_all(options)
