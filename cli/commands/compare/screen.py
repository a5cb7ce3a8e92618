"""Two prompts compared, as a page."""

from collections.abc import Sequence

from glasscli.cli.commands.ablate.screen import three
from glasscli.cli.commands.compare.found import Found
from glasscli.cli.commands.compare.patch_screen import patch_lines
from glasscli.cli.commands.dump_attn.layer_screen import one_line
from glasscli.cli.page.cells import crop, join_fitting
from glasscli.cli.page.figures import count, probability
from glasscli.cli.page.page import Line, Page, Span, spaced
from glasscli.cli.page.stack import table_or_stack
from glasscli.cli.page.style import ACCENT, BAD, DIM, HEAD
from glasscli.inspect.comparison import Comparison, Movement
from glasscli.inspect.dump import Token
from glasscli.inspect.predictions import Guess
from glasscli.likeness import enumerated

MAX_LABEL = 16


def compare_screen(page: Page, found: Found, top: int, hints: bool) -> list[Line]:
    """The whole page."""
    compared = found.compared
    blocks = [_prompts(page, found), _next(page, compared)]
    if found.patched is not None:
        blocks.append(patch_lines(page, found.patched, top))
    else:
        blocks += [_positions(page, compared, found.moved), _reach(page, found.moved), _heads(page, compared, top)]
    ideas = ["--patch all (which part carries it)", "--patch stream", "--json"]
    hint: list[Line] = [[(join_fitting(" try", ideas, page.width), DIM)]] if page.terminal and hints else []
    return spaced(*blocks, hint)


def _prompts(page: Page, found: Found) -> list[Line]:
    compared = found.compared
    lines: list[Line] = []
    for name, text, tokens in zip("AB", found.texts, (compared.a, compared.b), strict=True):
        length = f"   {count(len(tokens), 'token')}"
        room = max(8, page.width - 3 - len(length))
        lines.append([(f"{name}  ", HEAD), (crop(one_line(page, text), room), ""), (length, DIM)])
    ends = [f"up to position {compared.n_first - 1}"] * (compared.n_first > 0)
    ends += [f"in the last {compared.n_last:,}"] * (compared.n_last > 0)
    parts = [f"the same {' and '.join(ends)}" if ends else "no token in common at either end"]
    if not compared.same_length:
        parts.append("of different lengths: positions can't be compared one by one")
    return [*lines, *page.listed(parts, "   ", DIM, between=", ", first="   ")]


def _next(page: Page, compared: Comparison) -> list[Line]:
    title = f"what comes next   KL(A‖B) {compared.last_kl_bits:.3f} b"
    lines = page.wrap(title, "  ", HEAD, first="")
    for name, top in (("A", compared.top_a), ("B", compared.top_b)):
        lines += page.flow(f" {name}  ", [guess_words(page, guess) for guess in top], gap=3)
    return lines


def guess_words(page: Page, guess: Guess) -> str:
    """A token and how likely it is."""
    return f"{page.label(guess.token.raw)} {probability(guess.p)}"


def _positions(page: Page, compared: Comparison, moved: Movement | None) -> list[Line]:
    """A row for each position that may differ: after the first token that does."""
    if moved is None:
        return _last_tokens(page, compared)
    rows = []
    for i in range(compared.n_first, len(compared.a)):
        same = compared.a[i].id == compared.b[i].id
        other: Span = ("same", DIM) if same else (_label(page, compared.b[i]), ACCENT)
        stream, alone = moved.whole[-1][i], moved.without_attention[-1][i]
        row = [*_at(page, i, compared.a[i]), other, (f"{compared.kl_bits[i]:.3f} b", "")]
        rows.append([*row, (f"{stream:.2f}", ""), (f"{alone:.2f}" if alone else "0", "" if alone else DIM)])
    names = ("at", "A", "B", "KL of the next", "stream moved", "without attention")
    return table_or_stack(page, names, rows, (True, False, False, True, True, True), titles=3) if rows else []


def _last_tokens(page: Page, compared: Comparison) -> list[Line]:
    """Of prompts of different lengths: the tokens both end with."""
    shift, first = len(compared.b) - len(compared.a), len(compared.a) - compared.n_last
    rows: list[list[Span]] = [
        [*_at(page, first + i, compared.a[first + i]), (str(first + i + shift), ""), (f"{bits:.3f} b", "")]
        for i, bits in enumerate(compared.kl_bits[compared.n_first :])
    ]
    names = ("at", "the last tokens", "in B at", "KL of the next")
    return table_or_stack(page, names, rows, (True, False, True, True), titles=2) if rows else []


def _at(page: Page, position: int, token: Token) -> list[Span]:
    return [(str(position), DIM), (_label(page, token), "")]


def _label(page: Page, token: Token) -> str:
    return crop(page.label(token.raw), MAX_LABEL)


def _reach(page: Page, moved: Movement | None) -> list[Line]:
    """Whether attention alone carried the difference to other positions."""
    if moved is None or not moved.changed:
        return []
    last, alone = moved.whole[-1], moved.without_attention[-1]
    reached = [i for i, gap in enumerate(last) if gap]
    stayed = tuple(i for i, gap in enumerate(alone) if gap)
    changed = _listed(moved.changed)
    with_it = f"With attention the change reaches {len(reached):,} positions, from {reached[0]} on." if reached else ""
    if stayed == moved.changed:
        return page.wrap(
            f"Only attention mixes tokens: without it the streams differ at {changed} alone, where the tokens do. "
            f"{with_it}",
            " ",
        )
    return page.wrap(f"Without attention the streams differ at {_listed(stayed)}, the tokens at {changed}.", " ", BAD)


def _listed(numbers: Sequence[int]) -> str:
    if len(numbers) > 8:
        return f"{len(numbers):,} positions"
    words = [str(number) for number in numbers]
    return f"position{'s' * (len(words) > 1)} {enumerated(words, 'and')}"


def _heads(page: Page, compared: Comparison, top: int) -> list[Line]:
    if not compared.heads:
        return []
    heads = compared.heads[: top or None]
    rows: list[list[Span]] = []
    for head in heads:
        at = max(range(len(head.by_position)), key=head.by_position.__getitem__)
        most = f"{three(head.by_position[at])} at {at} {_label(page, compared.a[at])}"
        rows.append([(head.part.label, ACCENT), (three(head.mean), ""), (three(head.last), ""), (most, "")])
    names = ("head", "change", "last row", "most")
    lines = page.wrap("how differently heads look: share of weight that lies elsewhere", " ", HEAD, first="")
    left = len(compared.heads) - len(heads)
    more = page.wrap(f"… {left:,} more with smaller changes (--top 0 shows all)", " ", DIM) if left else []
    return [*lines, *table_or_stack(page, names, rows, (False, True, True, False)), *more]
