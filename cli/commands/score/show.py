"""A score for people: a row a token, the text tinted, or the sums of a long text."""

import math
from collections.abc import Sequence

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.ablated import without_words
from glasscli.cli.commands.score.options import Options, Show
from glasscli.cli.commands.score.sums import sums_lines
from glasscli.cli.commands.score.table import table
from glasscli.cli.commands.score.tinted import show_tinted
from glasscli.cli.page.cells import join_fitting
from glasscli.cli.page.figures import count
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.cli.page.style import DIM, HEAD
from glasscli.inspect.scoring import TextScore

MAX_ROWS = 64  # tokens that are still read, not scrolled past


def show(loaded: LoadedModel, score: TextScore, source: str, options: Options) -> None:
    """Print what was asked for, and what the whole comes to."""
    how = [source] if source else []
    how += [without_words(loaded.removed)] if loaded.removed else []
    page = Page.of_stdout(options.color)
    rows = options.show is Show.probs or (options.show is None and len(score.tokens) <= MAX_ROWS)
    if options.tinted:
        show_tinted(page, score, loaded.tokenizer.special_ids, options.quiet)
        lines = [[], *totals(page, score), *about(page, score, how)]
    elif rows:
        lines = spaced(table(page, score), [*totals(page, score), *about(page, score, how)])
    else:
        lines = spaced([*about(page, score, how), *totals(page, score)], sums_lines(page, score))
    page.show(lines)
    if page.terminal and not options.quiet:
        page.show([[], [(hint(page, options, rows), DIM)]])


def about(page: Page, score: TextScore, how: Sequence[str]) -> list[Line]:
    """What was scored, and how it was read."""
    n_windows = len({(token.text, token.window) for token in score.tokens})
    mark = page.label(score.opening[0].raw)
    parts = [*how]
    if score.n_texts > 1:
        parts.append(f"{score.n_texts:,} stories, each alone between two {mark}")
    else:
        parts.append(f"after {mark}, which nothing predicts")
    if n_windows > score.n_texts:
        parts.append(f"{n_windows:,} windows of {score.context:,}, each moved on by {score.stride:,}")
    return page.listed(parts, "  ", DIM, first=" ")


def totals(page: Page, score: TextScore) -> list[Line]:
    """What the whole comes to."""
    items = [f"{count(len(score.tokens), 'token')}, {count(score.n_bytes, 'byte')}"]
    items += [f"{score.nats_per_token:.4f} nats a token", f"perplexity {large(score.perplexity)}"]
    if score.bits_per_byte is not None:
        items.append(f"{score.bits_per_byte:.4f} bits a byte")
    items.append(f"{100 * score.top1_share:.0f} % of rank 1")
    return page.flow(" ", items, HEAD, gap=2)


def large(value: float) -> str:
    """A number that may be huge, in four digits or more."""
    if value >= 1e6:
        return "∞" if value == math.inf else f"{value:.3e}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}"


def hint(page: Page, options: Options, rows: bool) -> str:
    """One line of what to try next."""
    ideas = [
        ("--show colour", not options.tinted),
        ("--show probs (a row a token)", not rows),
        ("--show sums", rows),
        ("--text FILE", options.file is None),
        ("--json --logprobs 5", True),
    ]
    return join_fitting(" try", (text for text, fits in ideas if fits), page.width)
