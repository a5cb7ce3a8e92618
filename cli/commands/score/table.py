"""A row a token: how likely it was, and what else it might have been."""

from glasscli.cli.guesses import LABEL, add_guesses, legend
from glasscli.cli.page.cells import crop
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span
from glasscli.cli.page.scale import SURPRISE
from glasscli.cli.page.style import DIM
from glasscli.inspect.predictions import Guess
from glasscli.inspect.scoring import ScoredToken, TextScore

HEADS = ("#", "token", "p", "rank", "surprise")
RUNNERS = "runners-up (p)"


def table(page: Page, score: TextScore) -> list[Line]:
    """A row for each scored token; the runners-up as far as the page is wide."""
    rows: list[list[Span]] = [[(name, DIM) for name in HEADS]]
    rows += [row_of(page, token, score.n_texts > 1) for token in score.tokens]
    right = (True, False, True, True, True)
    lines = page.columns(rows, right)
    if not page.fits(lines):
        lines = page.columns(rows, right, gap=1, indent=0)
    if any(token.top for token in score.tokens) and not add_guesses(page, lines, [*map(others, score.tokens)], RUNNERS):
        return [*lines, legend(page), *page.wrap(f"too narrow for {RUNNERS}", " ", DIM)]
    return [*lines, legend(page)]


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
