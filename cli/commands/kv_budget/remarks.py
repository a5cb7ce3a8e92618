"""Lines that follow every table: the cost of a decode step, other dtypes, what one rank holds, what fits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glasscli.budget.answers import Answer
from glasscli.budget.fit import Fit
from glasscli.cli.page.page import Line, Page
from glasscli.units import decimal, format_seconds, short_bytes

LABEL = 15


@dataclass(frozen=True)
class Said:
    """What to say beside the answer.

    Attributes:
        assumed, tries: flags that were assumed, and those worth trying next.
        quiet: the answer alone.
        verbose: everything there is to say.
        timed: how long a step takes was asked for.
    """

    assumed: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()
    quiet: bool = False
    verbose: bool = False
    timed: bool = False


def label(text: str) -> str:
    """The word before a remark, padded so that the remarks align."""
    return f"{text:<{LABEL}}"


def context(tokens: int, batch: int) -> str:
    """How long and how many: `8,192`, `4 × 8,192`."""
    return f"{tokens:,}" if batch == 1 else f"{batch:,} × {tokens:,}"


def remarks(page: Page, answer: Answer, bandwidth: int, said: Said) -> list[Line]:
    """All that follows the sizes: what belongs to the answer, then what was asked for, then what must be known."""
    lines = [*per_rank(page, answer), *fits(page, answer)]
    if said.timed or said.verbose:
        lines += decode_step(page, answer, bandwidth)
    if said.quiet:
        return lines
    if said.verbose:
        lines += other_types(page, answer)
    return [*lines, *notes(page, answer.main.notes if said.verbose else answer.main.warnings)]


def decode_step(page: Page, answer: Answer, bandwidth: int) -> list[Line]:
    """What the next decode step reads, how long that takes, and how little is computed with it."""
    read = answer.read
    time = read.seconds(bandwidth)
    took = format_seconds(time.numerator, time.denominator)
    at = context(answer.settings.main, answer.settings.batch)
    pieces = [f"at {at} tokens reads {short_bytes(read.bytes)}:", f"{took} at {speed(bandwidth)}"]
    if read.intensity is not None:
        flops, per = read.intensity.numerator, read.intensity.denominator
        pieces[-1] += ","
        pieces.append(f"{decimal(flops, per, 0 if per == 1 else 1)} flop per byte")
    return page.flow(label("a decode step"), pieces, gap=1)


def other_types(page: Page, answer: Answer) -> list[Line]:
    """The bytes at the main context in other dtypes: those that the engine has and the heads fit."""
    held = [f"{name} {short_bytes(size)}" for name, size in answer.others if size is not None]
    return page.flow(label("other types"), held, gap=3) if held else []


def per_rank(page: Page, answer: Answer) -> list[Line]:
    """What the fullest rank holds, if there are several."""
    settings, budget = answer.settings, answer.main
    if settings.n_ranks == 1:
        return []
    split = f"tp {settings.tp} × pp {settings.pp} × dp {settings.dp}"
    split += f", dcp {settings.dcp}" if settings.dcp > 1 else f" × pcp {settings.pcp}" if settings.pcp > 1 else ""
    pieces = [f"{short_bytes(budget.per_rank.bytes)} on the fullest,"]
    pieces.append(f"{short_bytes(budget.bytes_total)} on all {settings.n_ranks:,} ({split})")
    return page.flow(label("per rank"), pieces, gap=1)


def fits(page: Page, answer: Answer) -> list[Line]:
    """What the budget has room for: the longest context, the largest batch, tokens in all."""
    fit, settings = answer.fit, answer.settings
    if fit is None:
        return []
    where = " a rank" if settings.n_ranks > 1 else ""
    verdict = "fits, weights not counted" if fit.fits else "does not fit"
    idle = fit.bytes - answer.main.per_rank.bytes
    beside = f", {short_bytes(idle)} of them idle" if idle > 0 else ""
    needed, there = needed_of(fit, short_bytes)
    need = f"{needed} needed{beside}: {verdict};"
    sequences = "a sequence" if settings.batch == 1 else f"each of {settings.batch:,} sequences"
    longest = "nothing" if fit.max_tokens == 0 else f"{count(fit.max_tokens)} tokens"
    most = "no sequence" if fit.max_batch == 0 else f"{count(fit.max_batch)} sequence{'s' * (fit.max_batch != 1)}"
    pieces = [f"of {there}{where}, {need}", f"room for {longest} in {sequences}"]
    if fit.tokens_in_all is not None and settings.batch > 1:
        pieces[-1] += f" ({fit.tokens_in_all:,} in all)"
    most_tokens = answer.subject.logical.max_positions
    if most_tokens is not None and (fit.max_tokens is None or fit.max_tokens > most_tokens):
        pieces[-1] += f" (it was made for {most_tokens:,})"
    pieces[-1] += ","
    return page.flow(
        label("budget"), [*pieces, f"or {most} of {settings.main:,}"], style="" if fit.fits else "red", gap=1
    )


def needed_of(fit: Fit, say: Callable[[int], str]) -> tuple[str, str]:
    """What is needed, and what there is of it; to the byte where it does not fit and both would read alike.

    An engine that keeps a page for itself needs that one, too, where the sequences alone would fit.
    """
    needed = fit.bytes if fit.fits or fit.bytes > fit.budget_bytes else fit.pool
    said = say(needed), say(fit.budget_bytes)
    return said if fit.fits or said[0] != said[1] else (f"{needed:,} B", f"{fit.budget_bytes:,} B")


def count(value: int | None) -> str:
    """A number, or that memory does not bound it."""
    return "any number of" if value is None else f"{value:,}"


def notes(page: Page, texts: Sequence[str]) -> list[Line]:
    """What was assumed and where the engine differs, a line each."""
    flows = [page.flow(label("note" if i == 0 else ""), [text], gap=1) for i, text in enumerate(texts)]
    return [line for lines in flows for line in lines]


def hint(page: Page, tries: Sequence[str]) -> list[Line]:
    """What to try next, for a person at a terminal."""
    return page.flow("try  ", tries, style="dim", gap=3) if tries and page.terminal else []


def joined(words: Sequence[str], last: str) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def speed(bandwidth: int) -> str:
    """A bandwidth in TB/s or GB/s."""
    unit, name = (10**12, "TB/s") if bandwidth >= 10**12 else (10**9, "GB/s")
    return f"{decimal(bandwidth, unit, 2)} {name}".replace(".00 ", " ")
