"""The head-count screen: MHA, GQA and MQA side by side, with the formula and its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from glasscli.budget.answers import Answer
from glasscli.budget.describe import shape
from glasscli.budget.dtypes import dtype_named
from glasscli.budget.fit import Fit
from glasscli.budget.plan import Budget
from glasscli.budget.subjects import Heads
from glasscli.cli.commands.kv_budget.remarks import (
    Said,
    decode_step,
    fits,
    hint,
    joined,
    label,
    notes,
    other_types,
    per_rank,
)
from glasscli.cli.page.screen import Screen
from glasscli.units import decimal, format_bytes, short_bytes

BARS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class HeadsPage:
    """What the screen shows: the variants from large to small, which was asked for, and the model that glass ships."""

    heads: Heads
    variants: tuple[Heads, ...]
    answers: tuple[Answer, ...]
    bandwidth: int
    shipped: Budget
    said: Said

    @property
    def chosen(self) -> int:
        """Which variant was asked for."""
        return self.variants.index(self.heads)

    @property
    def answer(self) -> Answer:
        """The answer for the heads that were asked for."""
        return self.answers[self.chosen]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The contexts, a row each."""
        return self.answer.settings.tokens

    @property
    def fits(self) -> tuple[Fit, ...]:
        """What fits into the budget, for each variant; empty without a budget."""
        return tuple(answer.fit for answer in self.answers if answer.fit is not None)


def show(page: HeadsPage, screen: Screen, quiet: bool = False) -> None:
    """The whole page; if `quiet`, without what was assumed and what follows."""
    formula(page, screen, quiet)
    screen.blank()
    if not table(page, screen) and not table(page, screen, short=True):
        stacked(page, screen)
    if quiet:
        return
    screen.blank()
    decode_step(page.answer, page.bandwidth, screen)
    other_types(page.answer, screen)
    per_rank(page.answer, screen)
    screen.flow(label("tensor ranks"), ranks(page.heads, page.answer.main.logical_bytes), gap=1)
    fits(page.answer, screen)
    ours(page.shipped, screen)
    notes(page.answer.main, screen)
    hint(page.said.tries, screen)


def formula(page: HeadsPage, screen: Screen, quiet: bool) -> None:
    """The formula with its numbers, and what was assumed as flags that can be pasted."""
    heads, budget = page.heads, page.answer.main
    k, v = budget.k_dtype, budget.v_dtype
    factors = [f"{heads.n_layers:,} layers", f"{heads.n_kv_heads:,} KV head{'s' * (heads.n_kv_heads != 1)}"]
    if k == v:
        factors = ["2", *factors, f"{heads.head_dim:,} dims", f"{element(k)} ({k})"]
    else:
        sides = [f"{heads.head_dim:,} dims × {element(name)} ({role} {name})" for role, name in (("K", k), ("V", v))]
        factors.append(f"({' + '.join(sides)})")
    size = budget.bytes_per_token
    product = f"{size:,} B" + (f" = {short_bytes(size)}" if size >= 1024 else "")
    screen.say(f"K,V per token = {' × '.join(factors)} = {product}", style="bold", indent=2)
    screen.say(sharing(heads), style="dim", indent=2)
    if page.said.assumed and not quiet:
        screen.flow("assumed: ", page.said.assumed)


def element(name: str) -> str:
    """Bytes of one element, scales included: `2 B`, `34/32 B`."""
    dtype = dtype_named(name)
    size = f"{dtype.block_bytes} B" if dtype.block == 1 else f"{dtype.block_bytes}/{dtype.block} B"
    return size + (f" + {dtype.head_bytes} B a head" if dtype.head_bytes else "")


def sharing(heads: Heads) -> str:
    """What the head counts mean, in a sentence."""
    if heads.kind == "MHA":
        return f"{heads.kind}: every query head has a key/value head of its own"
    return f"{heads.kind}: {heads.group_size:,} query heads share one key/value head"


def title(heads: Heads) -> str:
    """A column's title: `GQA  hkv 8`."""
    return f"{heads.kind}  hkv {heads.n_kv_heads:,}"


def table(page: HeadsPage, screen: Screen, short: bool = False) -> bool:
    """The variants as columns, with `short` titles if need be; False if they don't fit."""
    rows = [
        [f"{n:,}", *(format_bytes(answer.budgets[i].bytes_total) for answer in page.answers)]
        for i, n in enumerate(page.tokens)
    ]
    sections = [len(rows) - 1]
    name = "/ token" if short else "per token"
    rows.append([name, *(format_bytes(answer.main.bytes_per_token) for answer in page.answers)])
    rows.append(["vs MHA", *(percent(page, i) if short else ratio(page, i, screen) for i in range(len(page.variants)))])
    if page.fits:
        sections.append(len(rows) - 1)
        rows += fit_rows(page.fits)
    batch = page.answer.settings.batch
    first = "context" if batch == 1 else f"{batch:,} × context"
    headers = [first, *(f"{heads.kind} {heads.n_kv_heads:,}" if short else title(heads) for heads in page.variants)]
    return screen.table(headers, rows, sections=sections, bold=page.chosen + 1)


def fit_rows(fits: Sequence[Fit]) -> list[list[str]]:
    """What fits into the budget, a row for each question."""
    return [
        ["max tokens", *(number(fit.max_tokens) for fit in fits)],
        ["max batch", *(number(fit.max_batch) for fit in fits)],
    ]


def number(value: int | None) -> str:
    """A count, or that nothing bounds it."""
    return "no limit" if value is None else f"{value:,}"


def ratio(page: HeadsPage, i: int, screen: Screen) -> str:
    """How a variant compares with MHA: a bar and per cent."""
    eighths = max(1, 64 * page.answers[i].main.bytes_total // page.answers[0].main.bytes_total)
    bar = BARS[8] * (eighths // 8) + BARS[eighths % 8].strip()
    if not screen.unicode:
        bar = "#" * max(1, eighths // 8)
    return f"{bar} {percent(page, i):>6}"


def percent(page: HeadsPage, i: int) -> str:
    """How much of MHA's cache a variant needs, with a decimal where it isn't whole."""
    part, whole = page.answers[i].main.bytes_total * 100, page.answers[0].main.bytes_total
    return f"{decimal(part, whole, 0 if part % whole == 0 else 1)} %"


def stacked(page: HeadsPage, screen: Screen) -> None:
    """The variants one below the other, for a narrow terminal."""
    for i, (heads, answer) in enumerate(zip(page.variants, page.answers, strict=True)):
        screen.blank()
        screen.say(title(heads), style="bold" if i == page.chosen else "")
        rows = [(f"{n:,}", answer.budgets[j].bytes_total) for j, n in enumerate(page.tokens)]
        rows.append(("per token", answer.main.bytes_per_token))
        shown = [(name, format_bytes(size)) for name, size in rows]
        shown.append(("vs MHA", percent(page, i)))
        if page.fits:
            shown += [(row[0], row[i + 1]) for row in fit_rows(page.fits)]
        for name, value in shown:
            screen.flow(f"{name:>11}  ", [value])


def ranks(heads: Heads, total: int) -> list[str]:
    """Over how many tensor-parallel ranks the KV heads split, and what happens past that."""
    n = heads.n_kv_heads
    copies = next((tp for tp in (8 * n, 4 * n, 2 * n) if n == 1 and heads.n_heads % tp == 0), 2 * n)
    copied = f"{short_bytes(copies // n * total)} in all" if heads.n_heads % copies == 0 else ""
    if n == 1:
        said = "every rank keeps the one KV head"
        return [f"{said}:", f"{copies} ranks hold {copied}"] if copied else [said]
    splits = [f"{tp}" for tp in (2, 4, 8, 16, 32, 64) if n % tp == 0] or [f"{n:,}"]
    said = f"{joined(splits, 'or')} split the {n:,} KV heads"
    return [f"{said};", f"{copies:,} copy them: {copied}"] if copied else [said]


def ours(budget: Budget, screen: Screen) -> None:
    """The model that comes with glass, for scale."""
    layout, tokens = budget.request.layout, budget.request.tokens
    pieces = [f"glass-1m: {layout.n_heads} query heads, {layout.n_layers} × {shape(budget.lines[0].part)},"]
    pieces += [f"{budget.k_dtype}: {short_bytes(budget.bytes_per_token)} a token,"]
    screen.flow(label("shipped model"), [*pieces, f"{short_bytes(budget.bytes_total)} at {tokens:,}"], gap=1)
