"""`glass tokenize`: its options, and what it does."""

import sys
from dataclasses import dataclass
from typing import Annotated

from glasscli.cli.console import Color, is_terminal, write, write_json
from glasscli.cli.options import ColorOption, Group, Json, ModelDir, Quiet, TextFile, Verbose, argument, option
from glasscli.errors import UsageError

EPILOG = """\
A row a token: its number, its id, the piece, its bytes in hexadecimal. A piece like <0xE2> is a byte that is no
character by itself; the row says which character it belongs to. What the tokenizer puts in front is shown too.

\b
Examples:
  glass tokenize "The cat sat." --merges
  glass tokenize "日本 🙂" --json
  echo "Lily had a red ball" | glass tokenize --ids
  glass tokenize "The end<|endoftext|>" --special
"""


@dataclass(frozen=True)
class Options:
    """Show the tokens of a text: ids, pieces, bytes, and which tokens hold only a part of a character."""

    text: Annotated[str | None, argument("[TEXT]", "The text; - or a pipe reads stdin.")] = None
    file: TextFile = None
    model: ModelDir = None
    merges: Annotated[bool, option("--merges", "Show every merge that built a token.", Group.view)] = False
    special: Annotated[bool, option("--special", "Take <|endoftext|> and the like for tokens.", Group.text)] = False
    count: Annotated[bool, option("--count", "Print how many there are, and nothing else.", Group.output)] = False
    ids: Annotated[bool, option("--ids", "Print the ids on one line, and nothing else.", Group.output)] = False
    as_json: Json = False
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: names the two options.
        """
        given = {"--count": self.count, "--ids": self.ids, "--merges": self.merges}
        chosen = [name for name, wanted in given.items() if wanted]
        if len(chosen) > 1 and not self.as_json:  # the document holds all of them
            raise UsageError(f"{chosen[0]} prints nothing else: leave out {chosen[1]}, or add --json")


def run(options: Options) -> int:
    """Show the tokens of a text; the exit code."""
    from glasscli.checkpoint.checkpoint import open_checkpoint
    from glasscli.cli.models import model_path
    from glasscli.cli.prompt_text import given_text
    from glasscli.locate.need import Need
    from glasscli.tokenizer.merges import merges
    from glasscli.tokenizer.tokenized import tokenize

    options.check()
    if options.text is None and options.file is None and (sys.stdin is None or is_terminal(sys.stdin)):
        raise UsageError('no text. Give one: glass tokenize "Once upon a time", -f FILE, or pipe one in.')
    text = given_text(options.text, options.file)
    tokenizer = open_checkpoint(model_path(options.model, Need.tokenizer, quiet=options.quiet)).tokenizer()
    if (options.count or options.ids) and not options.as_json:
        found = tokenizer.encode(text, parse_special=options.special)
        write(str(len(found)) if options.count else " ".join(map(str, found)))
        return 0
    tokens = tokenize(tokenizer, text, parse_special=options.special)
    words = merges(tokenizer, text, parse_special=options.special) if options.merges else None
    if options.as_json:
        from glasscli.cli.commands.tokenize.document import document

        write_json(document(tokenizer, text, tokens, words), indent=None if len(tokens) > 10_000 else 2)
    else:
        from glasscli.cli.commands.tokenize.screen import tokens_screen
        from glasscli.cli.page.page import Page

        page = Page.of_stdout(options.color)
        page.show(tokens_screen(page, tokenizer, text, tokens, words, options.quiet))
    return 0
