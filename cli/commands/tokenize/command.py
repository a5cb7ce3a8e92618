"""`glass tokenize`: how a text becomes tokens."""

import sys
from typing import Annotated

import typer

from glasscli.cli.console import Color, is_terminal, write_json
from glasscli.cli.options import ColorOption, Json, ModelDir, Quiet
from glasscli.errors import UsageError

EPILOG = """\
A row a token: its number, its id, the piece, its bytes in hexadecimal. A piece like <0xE2> is a byte that is no
character by itself; the row says which character it belongs to. What the tokenizer puts in front is shown too.

\b
Examples:
  glass tokenize "The cat sat." --merges
  glass tokenize "日本 🙂" --json
  echo "Lily had a red ball" | glass tokenize
  glass tokenize "The end<|endoftext|>" --special
"""


def command(
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The text; - or a pipe reads stdin.")] = None,
    model: ModelDir = None,
    merges: Annotated[bool, typer.Option("--merges", help="Show every merge that built a token.")] = False,
    special: Annotated[bool, typer.Option("--special", help="Take <|endoftext|> and the like for tokens.")] = False,
    as_json: Json = False,
    color: ColorOption = Color.auto,
    quiet: Quiet = False,
) -> None:
    """Show the tokens of a text: ids, pieces, bytes, and which tokens hold only a part of a character."""
    from glasscli.checkpoint.checkpoint import open_checkpoint
    from glasscli.checkpoint.load import shipped_folder
    from glasscli.cli.prompt_text import prompt_text
    from glasscli.tokenizer.merges import merges as merged_words
    from glasscli.tokenizer.tokenized import tokenize

    if text is None and (sys.stdin is None or is_terminal(sys.stdin)):
        raise UsageError('no text. Give one: glass tokenize "Once upon a time", or pipe one in.')
    text = prompt_text(text)
    tokenizer = open_checkpoint(model or shipped_folder()).tokenizer()
    tokens = tokenize(tokenizer, text, parse_special=special)
    words = merged_words(tokenizer, text, parse_special=special) if merges else None
    if as_json:
        from glasscli.cli.commands.tokenize.document import document

        write_json(document(tokenizer, text, tokens, words), indent=None if len(tokens) > 10_000 else 2)
    else:
        from glasscli.cli.commands.tokenize.screen import tokens_screen
        from glasscli.cli.page.page import Page

        page = Page.of_stdout(color)
        page.show(tokens_screen(page, tokenizer, text, tokens, words, quiet))
