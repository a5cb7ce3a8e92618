"""The head-count screen: MHA, GQA and MQA side by side, with the formula and its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from glasscli.budget.answers import Answer
from glasscli.budget.fit import Fit
from glasscli.budget.plan import Budget
from glasscli.budget.subjects import Heads
from glasscli.cli.commands.kv_budget.remarks import Said, hint, joined, label, remarks
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.dtypes import dtype_named, row_bytes
from glasscli.units import decimal, format_bytes, short_bytes

BARS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class HeadsShown:
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


def heads_screen(page: Page, shown: HeadsShown) -> list[Line]:
    """The whole page."""
    formula = _formula(page, shown)
    table = _table(page, shown) or _table(page, shown, short=True) or _stacked(page, shown)
    answer, said = shown.answer, shown.said
    follows = remarks(page, answer, shown.bandwidth, said)
    if said.verbose:
        follows += page.flow(label("tensor ranks"), ranks(shown.heads, answer.main.logical_bytes), gap=1)
        follows += _ours(page, shown.shipped)
    return spaced(formula, table, follows, hint(page, said.tries))


def _formula(page: Page, shown: HeadsShown) -> list[Line]:
    """The formula with its numbers, and what was assumed as flags that can be pasted."""
    heads, budget = shown.heads, shown.answer.main
    k, v = budget.k_dtype, budget.v_dtype
    factors = [f"{heads.n_layers:,} layers", f"{heads.n_kv_heads:,} KV head{'s' * (heads.n_kv_heads != 1)}"]
    if k == v:
        factors = ["2", *factors, f"{heads.head_dim:,} dims", f"{element(k)} ({k})"]
    else:
        sides = [f"{heads.head_dim:,} dims × {element(name)} ({role} {name})" for role, name in (("K", k), ("V", v))]
        factors.append(f"({' + '.join(sides)})")
    size = heads.n_layers * sum(row_bytes(name, heads.head_dim, heads.n_kv_heads) for name in (k, v))
    product = f"{size:,} B" + (f" = {short_bytes(size)}" if size >= 1024 else "")
    lines = page.say(f"K,V per token = {' × '.join(factors)} = {product}", style="bold", indent=2)
    lines += page.say(sharing(heads), style="dim", indent=2)
    return [*lines, *(page.flow("assumed: ", shown.said.assumed) if shown.said.assumed else [])]


def element(name: str) -> str:
    """Bytes of one element, scales included: `2 B`, `34/32 B`."""
    dtype = dtype_named(name)
    size = f"{dtype.block_bytes} B" if dtype.block == 1 else f"{dtype.block_bytes}/{dtype.block} B"
    return size + (f" + {dtype.head_bytes} B a head" if dtype.head_bytes else "") + " packed" * (dtype.group > 1)


def sharing(heads: Heads) -> str:
    """What the head counts mean, in a sentence."""
    if heads.kind == "MHA":
        return f"{heads.kind}: every query head has a key/value head of its own"
    return f"{heads.kind}: {heads.group_size:,} query heads share one key/value head"


def title(heads: Heads) -> str:
    """A column's title: `GQA  hkv 8`."""
    return f"{heads.kind}  hkv {heads.n_kv_heads:,}"


def _table(page: Page, shown: HeadsShown, short: bool = False) -> list[Line]:
    """The variants as columns, with `short` titles if need be; nothing if they don't fit."""
    rows = [
        [f"{n:,}", *(format_bytes(answer.budgets[i].bytes_total) for answer in shown.answers)]
        for i, n in enumerate(shown.tokens)
    ]
    sections = [len(rows) - 1]
    name = "/ token" if short else "per token"
    rows.append([name, *(format_bytes(answer.main.bytes_per_token) for answer in shown.answers)])
    variants = range(len(shown.variants))
    rows.append(["vs MHA", *(percent(shown, i) if short else ratio(shown, i, page.unicode) for i in variants)])
    if shown.fits:
        sections.append(len(rows) - 1)
        rows += fit_rows(shown.fits)
    batch = shown.answer.settings.batch
    first = "context" if batch == 1 else f"{batch:,} × context"
    headers = [first, *(f"{heads.kind} {heads.n_kv_heads:,}" if short else title(heads) for heads in shown.variants)]
    return page.table(headers, rows, sections=sections, bold=shown.chosen + 1)


def fit_rows(fits: Sequence[Fit]) -> list[list[str]]:
    """What fits into the budget, a row for each question."""
    return [
        ["max tokens", *(number(fit.max_tokens) for fit in fits)],
        ["max batch", *(number(fit.max_batch) for fit in fits)],
    ]


def number(value: int | None) -> str:
    """A count, or that nothing bounds it."""
    return "no limit" if value is None else f"{value:,}"


def ratio(shown: HeadsShown, i: int, unicode: bool) -> str:
    """How a variant compares with MHA: a bar and per cent."""
    eighths = max(1, 64 * shown.answers[i].main.bytes_total // shown.answers[0].main.bytes_total)
    bar = BARS[8] * (eighths // 8) + BARS[eighths % 8].strip()
    if not unicode:
        bar = "#" * max(1, eighths // 8)
    return f"{bar} {percent(shown, i):>6}"


def percent(shown: HeadsShown, i: int) -> str:
    """How much of MHA's cache a variant needs, with a decimal where it isn't whole."""
    part, whole = shown.answers[i].main.bytes_total * 100, shown.answers[0].main.bytes_total
    return f"{decimal(part, whole, 0 if part % whole == 0 else 1)} %"


def _stacked(page: Page, shown: HeadsShown) -> list[Line]:
    """The variants one below the other, for a narrow terminal."""
    blocks = []
    for i, (heads, answer) in enumerate(zip(shown.variants, shown.answers, strict=True)):
        sizes = [(f"{n:,}", answer.budgets[j].bytes_total) for j, n in enumerate(shown.tokens)]
        sizes.append(("per token", answer.main.bytes_per_token))
        rows = [(name, format_bytes(size)) for name, size in sizes]
        rows.append(("vs MHA", percent(shown, i)))
        rows += [(row[0], row[i + 1]) for row in fit_rows(shown.fits)] if shown.fits else []
        block = page.say(title(heads), style="bold" if i == shown.chosen else "")
        blocks.append([*block, *(line for name, value in rows for line in page.flow(f"{name:>11}  ", [value]))])
    return spaced(*blocks)


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


def _ours(page: Page, budget: Budget) -> list[Line]:
    """The model that comes with glass, for scale."""
    layout, tokens = budget.request.layout, budget.request.tokens
    pieces = [f"glass-1m: {layout.n_heads} query heads, {layout.n_layers} × {budget.lines[0].part.shape},"]
    pieces += [f"{budget.k_dtype}: {short_bytes(budget.bytes_per_token)} a token,"]
    return page.flow(label("shipped model"), [*pieces, f"{short_bytes(budget.bytes_total)} at {tokens:,}"], gap=1)
