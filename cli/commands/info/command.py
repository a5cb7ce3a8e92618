"""`glass info`: its options, and what it does."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from glasscli.cli.console import Color, note, write_json
from glasscli.cli.options import ColorOption, Group, Json, ModelDir, Quiet, Verbose, option

if TYPE_CHECKING:
    from glasscli.checkpoint.outline import Outline

EPILOG = """\
Reads the headers of the weight files, not the numbers: a large model takes no longer than a small one, and numbers
that are damaged are found by generate and dump-attn, not here.

\b
Examples:
  glass info
  glass info --tensors
  glass info -m path/to/llama --json
"""


@dataclass(frozen=True)
class Options:
    """Show what a model folder holds: settings, parameters, tensors, cache bytes per token, tokenizer, files."""

    model: ModelDir = None
    every: Annotated[bool, option("--tensors", "List every tensor, layer by layer.", Group.view)] = False
    as_json: Json = False
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False


def run(options: Options) -> int:
    """Show what a folder holds; the exit code."""
    from glasscli.checkpoint.facts import read_facts
    from glasscli.checkpoint.outline import read_outline
    from glasscli.cli.models import model_path
    from glasscli.errors import NotRunError, TensorTypeError

    folder = model_path(options.model, quiet=options.quiet, check=bool)
    try:
        facts = read_facts(folder)
    except (NotRunError, TensorTypeError) as refusal:
        _show_outline(read_outline(folder, refusal), options)
        return 0
    if options.as_json:
        from glasscli.cli.commands.info.document import document

        write_json(document(facts))
        return 0
    from glasscli.cli.commands.info.screen import folder_screen
    from glasscli.cli.page.page import Page

    page = Page.of_stdout(options.color)
    page.show(folder_screen(page, facts, options.every, options.quiet))
    for text in () if options.quiet else facts.notes:
        note(text)
    return 0


def _show_outline(outline: "Outline", options: Options) -> None:
    """What could be told of a model that glass does not run; on stderr, why it does not."""
    if options.as_json:
        from glasscli.cli.commands.info.document import outline_document

        write_json(outline_document(outline))
        return
    from glasscli.cli.commands.info.outline import outline_screen
    from glasscli.cli.page.page import Page

    page = Page.of_stdout(options.color)
    page.show(outline_screen(page, outline, options.every))
    for text in () if options.quiet else (f"glass does not run this model: {outline.reason}", *outline.notes):
        note(text)
