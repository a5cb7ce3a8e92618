"""The lens as a page: a row a place of the stream, or a table of places and tokens; then who speaks for a token."""

from collections.abc import Sequence

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.ablated import without_words
from glasscli.cli.commands.dump_attn.layer_screen import text_lines
from glasscli.cli.commands.lens.options import Options
from glasscli.cli.commands.lens.parts import parts_lines
from glasscli.cli.guesses import add_guesses, guesses_text, legend
from glasscli.cli.page.cells import crop, join_fitting, pad
from glasscli.cli.page.figures import probability
from glasscli.cli.page.page import Line, Page, Span, spaced
from glasscli.cli.page.scale import WEIGHT
from glasscli.cli.page.style import ACCENT, DIM, HEAD
from glasscli.inspect.attribution import Attribution
from glasscli.inspect.lens import Lens, LensRow

SAYS = "would say (p)"
CELL = 9  # cells of a token in the table of places and tokens
NAMES = {"embedding": "embedding", "resid_mid": "attention", "resid_post": "MLP"}


def show(options: Options, loaded: LoadedModel, text: str, lenses: Sequence[Lens], found: Attribution | None) -> None:
    """Print the page."""
    page = Page.of_stdout(options.color)
    title = ["what each layer would say", f"{loaded.config.n_layers} layers", where(page, lenses)]
    title += [without_words(loaded.removed)] if loaded.removed else []
    head = page.listed(title, "  ", HEAD)
    head += text_lines(page, text, len(lenses[0].tokens), options.prompt is None and options.file is None)
    body = rows_table(page, lenses[0]) if len(lenses) == 1 else grid(page, lenses)
    page.show(spaced(head, [*body, legend(page)], [] if found is None else parts_lines(page, found)))
    if page.terminal and not options.quiet:
        page.show([[], [(hint(page, options, lenses), DIM)]])


def where(page: Page, lenses: Sequence[Lens]) -> str:
    """`after ,[14]`: which tokens the predictions follow."""
    first, last = lenses[0], lenses[-1]
    label = f"{page.label(first.tokens[first.position].raw)}[{first.position}]"
    if len(lenses) == 1:
        return f"after {label}"
    return f"after {label} to {page.label(last.tokens[last.position].raw)}[{last.position}]"


def place(row: LensRow) -> str:
    """`embedding`, `2 attention`, `2 MLP`."""
    return NAMES[row.place] if row.layer is None else f"{row.layer} {NAMES[row.place]}"


def rows_table(page: Page, lens: Lens) -> list[Line]:
    """A row a place: how long the stream's vector is, how sure the prediction, what it is."""
    watched = lens.rows[0].watched
    names = ["after", "norm", "entropy"]
    if watched is not None:
        names += [f"p {crop(page.label(watched.token.raw), CELL)}", "rank"]
    rows: list[list[Span]] = [[(name, DIM) for name in names]]
    for row in lens.rows:
        line = [(place(row), ACCENT), (f"{row.norm:.1f}", ""), (f"{row.entropy_bits:.2f} b", "")]
        if row.watched is not None:
            line += [(probability(row.watched.p), WEIGHT.style(row.watched.p)), (f"{row.rank:,}", "")]
        rows.append(line)
    right = [False, *[True] * (len(names) - 1)]
    lines = page.columns(rows, right)
    if not page.fits(lines):
        lines = page.columns(rows, right, gap=1, indent=0)
    guesses = [row.top for row in lens.rows]
    if add_guesses(page, lines, guesses, SAYS):
        return lines
    stacked = [lines[0]]
    for line, found in zip(lines[1:], guesses, strict=True):
        stacked += [line, [("  " + guesses_text(page, found, page.width - 2), "")]]
    return stacked


def grid(page: Page, lenses: Sequence[Lens]) -> list[Line]:
    """A row a place, a column a token: the likeliest next token with its p, or the watched token's p alone."""
    labels = [place(row) for row in lenses[0].rows]
    wide = max(map(len, labels))
    watched = lenses[0].rows[0].watched is not None
    cell = 5 if watched else CELL + 4
    across = max(1, (page.width - wide - 1) // (cell + 1))
    across = -(-len(lenses) // -(-len(lenses) // across))  # as many in each band
    lines: list[Line] = []
    for first in range(0, len(lenses), across):
        band = lenses[first : first + across]
        lines += [[]] if lines else []
        heads = [(f"{lens.position}", page.label(lens.tokens[lens.position].raw)) for lens in band]
        for i, style in ((0, DIM), (1, HEAD)):
            lines.append([(" " * (wide + 1), ""), *((" " + pad(crop(head[i], cell), cell), style) for head in heads)])
        for i, label in enumerate(labels):
            cells = [grid_cell(page, lens.rows[i], cell) for lens in band]
            lines.append([(f" {label:<{wide}}", ACCENT), *cells])
    return lines


def grid_cell(page: Page, row: LensRow, width: int) -> Span:
    """A cell of the table, coloured by its p."""
    if row.watched is not None:
        return " " + pad(probability(row.watched.p), width), WEIGHT.style(row.watched.p)
    best = row.top[0]
    label = crop(page.label(best.token.raw), CELL)
    return " " + pad(f"{label} {probability(best.p, 2)}", width), WEIGHT.style(best.p)


def hint(page: Page, options: Options, lenses: Sequence[Lens]) -> str:
    """One line of what to try next, with words that the model thinks of here."""
    guesses = [guess.token for guess in lenses[-1].rows[-1].top]
    words = [t.text.strip() for t in guesses if t.text and t.text[:1] == " " and t.text[1:].isalpha()]
    a, b = [*words, "WORD", "WORD"][:2]
    ideas = [
        (f"--token {a} --not {b} (who speaks for it)", options.token is None),
        ("--not WORD", options.token is not None and options.minus is None),
        ("--rows : (after every token)", options.rows == "last" and options.minus is None),
        ("--top 8", True),
        ("--json", True),
    ]
    return join_fitting(" try", (page.safe(text) for text, fits in ideas if fits), page.width)
