"""A row a token: how likely it was, and what else it might have been."""

from collections.abc import Sequence

from glasscli.cli.page.cells import cells, crop
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span, line_width
from glasscli.cli.page.scale import SURPRISE
from glasscli.cli.page.style import DIM
from glasscli.inspect.predictions import Guess
from glasscli.inspect.scoring import ScoredToken, TextScore

HEADS = ("#", "token", "p", "rank", "surprise")
RUNNERS = "runners-up (p)"
LABEL = 16  # cells of a token


def table(page: Page, score: TextScore) -> list[Line]:
    """A row for each scored token; the runners-up as far as the page is wide."""
    rows: list[list[Span]] = [[(name, DIM) for name in HEADS]]
    rows += [row_of(page, token, score.n_texts > 1) for token in score.tokens]
    right = (True, False, True, True, True)
    lines = page.columns(rows, right)
    if not page.fits(lines):
        lines = page.columns(rows, right, gap=1, indent=0)
    room = page.width - max(map(line_width, lines)) - 2
    if not any(token.top for token in score.tokens):
        return [*lines, legend(page)]
    if room < len(RUNNERS):
        return [*lines, legend(page), *page.wrap(f"too narrow for {RUNNERS}", " ", DIM)]
    lines[0].append((f"  {RUNNERS}", DIM))
    for line, token in zip(lines[1:], score.tokens, strict=True):
        line.append(("  " + guesses_text(page, others(token), room), ""))
    return [*lines, legend(page)]


def legend(page: Page) -> Line:
    """What opens a token that begins a word."""
    return [(f" {'·' if page.unicode else '_'} is a leading space", DIM)]


def row_of(page: Page, scored: ScoredToken, of_many: bool) -> list[Span]:
    """A token's row but for the runners-up."""
    where = f"{scored.text + 1}:{scored.position}" if of_many else str(scored.position)
    return [
        (where, DIM),
        (crop(page.label(scored.token.raw), LABEL), SURPRISE.style(scored.bits)),
        (probability(scored.p), ""),
        (f"{scored.rank:,}", ""),
        (f"{scored.bits:.1f} b", ""),
    ]


def others(scored: ScoredToken) -> list[Guess]:
    """What the model held likeliest besides the token itself."""
    found = [guess for guess in scored.top if guess.token.id != scored.token.id]
    return found[: len(scored.top) - 1] if len(scored.top) > 1 else found


def guesses_text(page: Page, guesses: Sequence[Guess], room: int) -> str:
    """The guesses that fit, likeliest first: `·she .48  ·he .13`."""
    text = ""
    for guess in guesses:
        item = f"{crop(page.label(guess.token.raw), LABEL)} {probability(guess.p, 2)}"
        joined = f"{text}  {item}" if text else item
        if cells(joined) > room:
            break
        text = joined
    return text
