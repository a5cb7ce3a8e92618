"""The tokens of a text as a page: a row a token, and the merges that built them."""

from collections import Counter
from collections.abc import Sequence

from glasscli.cli.page.cells import cells, pad
from glasscli.cli.page.page import Line, Page, spaced
from glasscli.tokenizer.merges import Word
from glasscli.tokenizer.pieces import label_of
from glasscli.tokenizer.tokenized import Part, Token, distinct
from glasscli.tokenizer.tokenizer import Tokenizer

LABEL_CELLS = 24  # a longer token pushes its bytes to the right, it is not cut
KINDS = {
    "special": "special: stands for no text",
    "added": "added to the vocabulary",
    "unknown": "unknown: this piece of the text is lost",
}


def tokens_screen(
    page: Page,
    tokenizer: Tokenizer,
    text: str,
    tokens: Sequence[Token],
    words: Sequence[Word] | None,
    quiet: bool = False,
) -> list[Line]:
    """The whole page, no line wider than the terminal and nothing left out."""
    totals = page.flow("", _totals(text, tokens), gap=3)
    if not quiet:
        totals += _legend(page, tokenizer, tokens, words is None)
    return spaced(_table(page, tokens), [] if words is None else _merges(page, words), totals)


def part_words(part: Part, ascii_only: bool = False) -> str:
    """Which bytes of which character: `byte 1 of 3 of 日`."""
    shown = label_of(part.char.encode(), ascii_only)
    code = "" if "<" in shown else f" U+{ord(part.char):04X}"
    first, last = part.start + 1, part.stop
    which = f"byte {first}" if first == last else f"bytes {first}–{last}"
    return f"{which} of {part.n_bytes} of {shown}{code}"


def _table(page: Page, tokens: Sequence[Token]) -> list[Line]:
    """A row a token. What doesn't fit beside it goes under it, indented."""
    kinds = distinct(tokens)
    labels = [page.label(token.data) for token in kinds]
    n_width = len(str(max(0, len(tokens) - 1)))
    id_width = max([2, *(len(str(token.token_id)) for token in kinds)])
    label_width = min(LABEL_CELLS, page.width // 3, max([5, *map(cells, labels)]))
    lines: list[Line] = []
    if tokens:
        heads = [f"{'token':<{label_width}}", "bytes"]
        lines += page.flow(f"{'#':>{n_width}}  {'id':>{id_width}}  ", heads, style="dim")
    rows = {}  # those of one token differ in their number alone
    for token, label in zip(kinds, labels, strict=True):
        start = f"{'0' * n_width}  {token.token_id:>{id_width}}  "
        ((shown, style), *rest), *below = _row(page, start, token, label, label_width)
        rows[id(token)] = (shown[n_width:], style, rest, below)
    for i, token in enumerate(tokens):
        shown, style, rest, below = rows[id(token)]
        lines.append([(f"{i:>{n_width}}{shown}", style), *rest])
        if below:
            lines += below
    return lines


def _row(page: Page, start: str, token: Token, label: str, label_width: int) -> list[Line]:
    """The lines of one token behind `start`."""
    remarks = [KINDS[token.kind]] if token.kind in KINDS else [part_words(p, not page.unicode) for p in token.parts]
    data = "" if token.kind == "special" else token.data.hex(" ")
    padded = pad(label, max(label_width, cells(label)))
    style = "magenta" if token.parts else "yellow" if remarks else ""
    return page.flow(start, [padded, *filter(None, [data]), *remarks], style=style)


def _merges(page: Page, words: Sequence[Word]) -> list[Line]:
    """Each word that differs, with its chain of symbols; `#5` is the rank of the merge before it."""
    lines = page.say("merges   the pair that was learnt first (lowest #) is joined first", "dim", indent=2)
    times = Counter(word.token_ids for word in words)
    whole = []
    for word in {word.token_ids: word for word in words}.values():
        states = [" ".join(map(page.label, symbols)) for symbols in word.chain()]
        if not word.merges:
            whole.append(states[0])
            continue
        steps = [states[0]] + [f"→ {s} #{m.rank}" for s, m in zip(states[1:], word.merges, strict=True)]
        if n := times[word.token_ids] - 1:
            steps.append(f"(and {n} time{'s' * (n > 1)} more)")
        lines += page.flow("  ", steps, gap=2, indent=4)
    return [*lines, *(page.flow("  nothing to join  ", whole, gap=3) if whole else [])]


def _totals(text: str, tokens: Sequence[Token]) -> list[str]:
    """How much text became how many tokens."""
    n_bytes, own = len(text.encode()), [len(token.data) for token in tokens if token.kind == "text"]
    items = [_count(len(text), "character"), _count(n_bytes, "byte"), f"→ {_count(len(tokens), 'token')}"]
    if own:
        items.append(f"{sum(own) / len(own):.2f} bytes a token of text")
    if n_special := sum(token.kind == "special" for token in tokens):
        items.append(f"{n_special:,} special")
    if n_unknown := sum(token.kind == "unknown" for token in tokens):
        items.append(f"{n_unknown:,} unknown")
    return items


def _legend(page: Page, tokenizer: Tokenizer, tokens: Sequence[Token], hint: bool) -> list[Line]:
    marks = {" ": "· space", "\n": "⏎ newline", "\t": "⇥ tab"}
    if not page.unicode:
        marks = {" ": "_ space", "\n": "\\n newline", "\t": "\\t tab"}
    kinds = distinct(tokens)
    used = [mark for c, mark in marks.items() if any(c.encode() in token.data for token in kinds)]
    used += ["<0x..> a byte that is no character by itself"] * any(token.text is None for token in kinds)
    lines = page.flow("", [*used, f"{tokenizer.kind}, {tokenizer.vocab_size:,} tokens"], style="dim", gap=3)
    if hint and page.terminal:
        tries = ["--merges (how each token was built)", "--special", "--json"]
        lines += page.flow("try  ", tries, style="dim", gap=3)
    return lines


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"
