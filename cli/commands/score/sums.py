"""The sums of a long text: how much of it surprises how much, whether more context helps, and the worst tokens."""

from collections.abc import Sequence

from glasscli.cli.commands.score.table import others
from glasscli.cli.guesses import LABEL, add_guesses, legend
from glasscli.cli.page.cells import cells, crop
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span, line_width, spaced
from glasscli.cli.page.scale import SURPRISE
from glasscli.cli.page.style import ACCENT, DIM
from glasscli.inspect.scoring import ScoredToken, TextScore
from glasscli.inspect.surprise import Share, by_position, by_surprise, most_surprising

WORST = 8
BEFORE, BEFORE_CELLS = 5, 24  # tokens shown before a surprising one, and the room for them
BAR, SHORTEST_BAR = 30, 8


def sums_lines(page: Page, score: TextScore) -> list[Line]:
    """Three tables."""
    return spaced(surprise_table(page, score), position_table(page, score), worst_table(page, score))


def surprise_table(page: Page, score: TextScore) -> list[Line]:
    """How many tokens are how surprising, and how much of the whole surprise they make."""
    shares = by_surprise(score, SURPRISE.bounds)
    all_bits = sum(share.bits for share in shares) or 1.0
    rows: list[list[Span]] = [[(name, DIM) for name in ("surprise", "tokens", "of all bits")]]
    for share, style in zip(shares, SURPRISE.styles, strict=True):
        rows.append([
            (f"{share.start:g}–{share.stop:g} b" if share.stop else f"{share.start:g}+ b", style),
            (f"{100 * share.n_tokens / len(score.tokens):.1f} %", ""),
            (f"{100 * share.bits / all_bits:.1f} %", ""),
        ])  # fmt: skip
    return with_bars(page, rows, [share.bits / all_bits for share in shares])


def position_table(page: Page, score: TextScore) -> list[Line]:
    """Whether tokens are foreseen better the more stands before them."""
    shares = by_position(score)
    if len(shares) < 2:
        return []
    rows: list[list[Span]] = [[(name, DIM) for name in ("place in the text", "tokens", "nats a token")]]
    means = [share.nats_per_token or 0.0 for share in shares]
    for share, mean in zip(shares, means, strict=True):
        rows.append([(places(share), ""), (f"{share.n_tokens:,}", ""), (f"{mean:.3f}", "")])
    most = max(means) or 1.0
    return with_bars(page, rows, [mean / most for mean in means])


def with_bars(page: Page, rows: Sequence[Sequence[Span]], parts: Sequence[float]) -> list[Line]:
    """Rows of numbers, under their heads, and a bar behind each where the page has room for some."""
    lines = page.columns(rows, [True] * len(rows[0]))
    room = min(BAR, page.width - max(map(line_width, lines)) - 2)
    if room >= SHORTEST_BAR:
        for line, part in zip(lines[1:], parts, strict=True):
            line.append(("  " + "█" * round(room * part), DIM))
    return lines


def places(share: Share) -> str:
    """`8–15`, `512 on`."""
    return f"{share.start:g}–{share.stop - 1:g}" if share.stop else f"{share.start:g} on"


def worst_table(page: Page, score: TextScore) -> list[Line]:
    """The least expected tokens, what stands before them, and what was expected."""
    index = {(token.text, token.position): i for i, token in enumerate(score.tokens)}
    rows: list[list[Span]] = [[(name, DIM) for name in ("surprise", "p", "rank", "where", "", "token")]]
    worst = most_surprising(score, WORST)
    for scored in worst:
        at = index[scored.text, scored.position]
        first = max(at - BEFORE, at - scored.position + 1)
        where = f"{scored.text + 1}:{scored.position}" if score.n_texts > 1 else str(scored.position)
        rows.append([
            (f"{scored.bits:.1f} b", SURPRISE.style(scored.bits)),
            (probability(scored.p), ""),
            (f"{scored.rank:,}", ""),
            (where, DIM),
            (before(page, score.tokens[first:at]), DIM),
            (crop(page.label(scored.token.raw), LABEL), ACCENT),
        ])  # fmt: skip
    right = (True, True, True, True, True, False)
    lines = page.columns(rows, right)
    if not page.fits(lines):
        lines = page.columns([[row[0], row[3], row[5]] for row in rows], (True, True, False))
    add_guesses(page, lines, [*map(others, worst)], "expected (p)")
    return [*lines, legend(page)]


def before(page: Page, tokens: Sequence[ScoredToken]) -> str:
    """What stands before a token, as much as there is room for."""
    labels = [page.label(scored.token.raw) for scored in tokens]
    while len(labels) > 1 and cells("".join(labels)) > BEFORE_CELLS:
        del labels[0]
    return crop("".join(labels), BEFORE_CELLS)
