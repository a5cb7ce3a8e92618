"""`glass score`: check what was asked, score the text, show it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.cli.ablated import ablated
from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.score.options import Options
from glasscli.cli.console import is_terminal, note, use_color, write_json
from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.inspect.scoring import TextScore

EPILOG = """\
p, rank and surprise (−log2 p, in bits) are the raw model's, for each token but the first. Perplexity is e to the
nats a token; bits a byte compares models whose tokenizers differ. A text longer than a window is read in windows
that share what --stride leaves; each token is scored once, by the first that reaches it. Where the model's
end-of-text mark is written in the text it parts stories: each is scored alone, between two marks, the closing one
included, and line ends around a mark don't count.

\b
Examples:
  glass score "There was a girl named Lily. One day, Lily"
  glass score --text story.txt --show colour
  glass score --text stories.txt --ctx 512 --stride 256
  glass score --text notes.txt --json --logprobs 3
  glass score --text notes.txt --ablate 2.2
"""


def run(options: Options) -> int:
    """Score a text and show it; the exit code."""
    options.check()
    pin_threads(options.model, options.quiet)
    from glasscli.cli.models import load

    source, text = read_text(options)
    loaded = load(options.model, quiet=options.quiet)
    loaded, score = score_of(loaded, text, options)
    if not options.quiet:
        for remark in notes(loaded, options):
            note(remark)
    if options.as_json:
        from glasscli.cli.commands.score.document import document

        write_json(document(loaded, score, source, options), indent=None if len(score.tokens) > 10_000 else 2)
    elif options.as_csv:
        from glasscli.cli.commands.score.document import write_csv

        write_csv(score, options.n_top)
    else:
        from glasscli.cli.commands.score.show import show

        show(loaded, score, source, options)
    return 0


def read_text(options: Options) -> tuple[str, str]:
    """Where the text came from (a file's name, or nothing), and the text."""
    from glasscli.cli.prompt_text import STDIN, file_text, prompt_text

    if options.file is not None:
        return ("stdin" if options.file == STDIN else Path(options.file).name), file_text(options.file)
    if options.text is None and (sys.stdin is None or is_terminal(sys.stdin)):
        raise UsageError('no text. Give one: glass score "Once upon a time", --text FILE, or pipe one in.')
    return "", prompt_text(options.text)


def score_of(loaded: "LoadedModel", text: str, options: Options) -> "tuple[LoadedModel, TextScore]":
    """The model that was asked for, and the text as one or story by story."""
    from glasscli.cli.models import Bar
    from glasscli.inspect.scoring import has_stories, score_stories, score_text

    split = has_stories(loaded, text) if options.split is None else options.split
    loaded = ablated(loaded, options.ablate, lambda: loaded.encode(text, parse_special=split))
    score = score_stories if split else score_text
    found = score(
        loaded,
        text,
        context=options.context,
        stride=options.stride,
        n_top=options.n_top,
        progress=Bar(options.quiet),
    )
    return loaded, found


def notes(loaded: "LoadedModel", options: Options) -> list[str]:
    """What should be known beside the answer."""
    said = list(loaded.notes)
    if options.text is not None and is_file(options.text):
        said.append(f"{options.text!r} was scored as a text; there is a file of that name: --text {options.text}")
    if options.tinted and not use_color(options.color):
        said.append("no colour here: --color always forces it, --show probs has the numbers")
    return said


def is_file(text: str) -> bool:
    """Whether a file has this name."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
