"""`glass ablate --feeds`: which head needs which, on random repeats."""

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.ablate.options import Options
from glasscli.cli.commands.ablate.screen import signed, three
from glasscli.cli.console import write_csv, write_json
from glasscli.cli.models import working
from glasscli.cli.page.page import Line, Page, Span, spaced
from glasscli.cli.page.stack import table_or_stack
from glasscli.cli.page.style import ACCENT, DIM, HEAD
from glasscli.inspect.circuits import Feed, Feeds, find_feeds
from glasscli.inspect.probes import PROBE_SEED, repeat_probes

ROLES = {
    "induct": "weight on what followed this token before",
    "dup": "on this token's earlier places",
    "prev": "on the token before",
}


def run_feeds(options: Options, loaded: LoadedModel) -> None:
    """Take each head out and measure what later heads do."""
    from glasscli.cli.commands.ablate import documents

    with working(options.quiet) as bar:
        found = find_feeds(loaded, progress=bar)
    if options.as_json:
        write_json(documents.feeds_document(loaded, found))
    elif options.as_csv:
        write_csv(documents.FEED_COLUMNS, documents.feed_rows(found))
    else:
        page = Page.of_stdout(options.color)
        n_repeated = len(repeat_probes(loaded, 1)[0])
        page.show(feeds_screen(page, options, found, n_repeated))


def feeds_screen(page: Page, options: Options, found: Feeds, n_tokens: int) -> list[Line]:
    """Pairs of heads, the largest change of a role first."""
    pairs = found.pairs[: options.top or None]
    title = page.listed(("which head needs which", "each head set to zero, one at a time"), "  ", HEAD)
    behind = ", behind the opening mark" if n_tokens % 2 else ""
    probe = f"{n_tokens // 2} random tokens, twice{behind}; mean ± sd of {found.n_draws} draws (seed {PROBE_SEED})"
    title += page.wrap(f"probe   {probe}", "        ", DIM, first="")
    names = ("without", "head", "role", "with it", "without it", "change")
    rows: list[list[Span]] = [
        [
            (feed.writer.label, ACCENT),
            (feed.reader.label, ACCENT),
            (feed.role, ""),
            (f"{three(feed.before)} ± {three(feed.before_sd)}", ""),
            (f"{three(feed.after)} ± {three(feed.after_sd)}", ""),
            (f"{signed(feed.change)} ± {three(feed.change_sd)}", ""),
        ]
        for feed in pairs
    ]
    table = table_or_stack(page, names, rows, (False, False, False, True, True, True), titles=3)
    left = len(found.pairs) - len(pairs)
    more = page.wrap(f"… {left:,} more with smaller changes (--top 0 shows all)", " ", DIM) if left else []
    legend = page.listed([f"{role}: {meaning}" for role, meaning in ROLES.items()], " ", DIM, between="; ", first=" ")
    return spaced(title, table, [*more, *legend], _summary(page, found))


def _summary(page: Page, found: Feeds) -> list[Line]:
    """The strongest need in a sentence, beside what any other head does to the same reader."""
    lost = next((feed for feed in found.pairs if feed.change < 0), None)
    if lost is None:
        return []
    others = [abs(feed.change) for feed in found.pairs if _same_role(feed, lost)]
    text = (
        f"{lost.reader.label} needs {lost.writer.label}: without it {lost.role} falls from {three(lost.before)} to "
        f"{three(lost.after)}."
    )
    if others:
        text += f" No other head moves it by more than {three(max(others))}."
    return page.wrap(text, " ")


def _same_role(feed: Feed, other: Feed) -> bool:
    return (feed.reader, feed.role) == (other.reader, other.role) and feed.writer != other.writer
