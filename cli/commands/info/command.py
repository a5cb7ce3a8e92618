"""`glass info`: what a model folder holds."""

from typing import TYPE_CHECKING, Annotated

import typer

from glasscli.cli.console import Color, note, write_json
from glasscli.cli.options import ColorOption, Json, ModelDir, Quiet

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


def command(
    model: ModelDir = None,
    every: Annotated[bool, typer.Option("--tensors", help="List every tensor, layer by layer.")] = False,
    as_json: Json = False,
    color: ColorOption = Color.auto,
    quiet: Quiet = False,
) -> None:
    """Show what a model folder holds: settings, parameters, tensors, cache bytes per token, tokenizer, files."""
    from glasscli.checkpoint.facts import read_facts
    from glasscli.checkpoint.load import shipped_folder
    from glasscli.checkpoint.outline import read_outline
    from glasscli.errors import ConfigError

    folder = model or shipped_folder()
    try:
        facts = read_facts(folder)
    except ConfigError as refusal:
        _show_outline(read_outline(folder, refusal), every, as_json, color, quiet)
        return
    if as_json:
        from glasscli.cli.commands.info.document import document

        write_json(document(facts))
    else:
        from glasscli.cli.commands.info.screen import folder_screen
        from glasscli.cli.page.page import Page

        page = Page.of_stdout(color)
        page.show(folder_screen(page, facts, every, quiet))
        for text in () if quiet else facts.notes:
            note(text)


def _show_outline(outline: "Outline", every: bool, as_json: bool, color: Color, quiet: bool) -> None:
    """What could be told of a model that glass does not run; on stderr, why it does not."""
    if as_json:
        from glasscli.cli.commands.info.document import outline_document

        write_json(outline_document(outline))
        return
    from glasscli.cli.commands.info.outline import outline_screen
    from glasscli.cli.page.page import Page

    page = Page.of_stdout(color)
    page.show(outline_screen(page, outline, every))
    for text in () if quiet else (f"glass does not run this model: {outline.reason}", *outline.notes):
        note(text)
