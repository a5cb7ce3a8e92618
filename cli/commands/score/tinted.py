"""A scored text, each token tinted by its surprise."""

import codecs
from collections.abc import Container, Iterator

from glasscli.cli.page.page import Page
from glasscli.cli.page.scale import SURPRISE, surprise_legend
from glasscli.cli.page.text import write_text
from glasscli.inspect.scoring import TextScore


def show_tinted(page: Page, score: TextScore, marks: Container[int], quiet: bool) -> None:
    """Write the text, and below it what the tints mean. A page without colour gets the text alone."""
    ends_line = True
    for text, bits in pieces(score, marks):
        write_text(text, SURPRISE.style(bits) if page.colored else "", page.terminal)
        ends_line = text.endswith("\n")
    if not ends_line:
        write_text("\n")
    if page.colored and not quiet:
        page.show([[]])
        page.write(surprise_legend(page.unicode, page.width))


def pieces(score: TextScore, marks: Container[int]) -> Iterator[tuple[str, float]]:
    """The text in pieces that end between characters, each with its surprise.

    Tokens that hold parts of one character make one piece, their surprises added: that of the character. A story's
    last token, which closes it, is followed by a line's end. A first token that is one of `marks` is no text.
    """
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    openings = iter(score.opening)
    bits = 0.0
    for i, scored in enumerate(score.tokens):
        if scored.position == 1:
            opening = next(openings)
            yield ("" if opening.id in marks else decode(opening.raw)), 0.0
        bits += scored.bits
        ends = i + 1 == len(score.tokens) or score.tokens[i + 1].position == 1
        if text := decode(scored.token.raw, ends):
            yield text, bits
            bits = 0.0
        if ends and i + 1 < len(score.tokens):
            yield "\n", 0.0
