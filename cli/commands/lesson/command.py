"""`glass lesson`: its options, and what it does."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from glasscli.cli.blas import pin_threads
from glasscli.cli.console import Color, write_json
from glasscli.cli.options import ColorOption, Group, Json, ModelDir, Quiet, TextFile, Verbose, argument, option

if TYPE_CHECKING:
    from glasscli.cli.page.page import Page

EPILOG = """\
In a terminal a chapter comes page by page: Enter goes on, b back, a number to that chapter, q leaves. Each ends with a
question; Enter shows the answer, computed. `glass lesson` alone goes on where you left. A pipe gets plain text.

\b
Examples:
  glass lesson
  glass lesson --list
  glass lesson 4 "Lily had a red ball. Lily"
  glass lesson softmax -m path/to/model
  glass lesson | less
"""


@dataclass(frozen=True)
class Options:
    """Teach how attention works, step by step, on the numbers of the model and a text of yours."""

    chapter: Annotated[str | None, argument("[CHAPTER]", "Its number or name [default: where you left].")] = None
    text: Annotated[str | None, argument("[TEXT]", "Your text; - reads stdin [default: the chapter's].")] = None
    file: TextFile = None
    model: ModelDir = None
    only_list: Annotated[bool, option("--list", "List the chapters.", Group.view)] = False
    as_json: Json = False
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False


def run(options: Options) -> int:
    """Teach; the exit code."""
    pin_threads(options.model, options.quiet)
    from glasscli.cli.commands.lesson import read, screen
    from glasscli.cli.models import load
    from glasscli.cli.page.page import Page
    from glasscli.cli.prompt_text import given_text
    from glasscli.lesson.chapters import CHAPTERS, find_chapter

    page = Page.of_stdout(options.color, dot="_")
    if options.only_list:
        _list(page, options.as_json)
        return 0
    first = None if options.chapter is None else find_chapter(options.chapter)
    text = None if options.text is None and options.file is None else given_text(options.text, options.file)
    loaded = load(options.model, quiet=options.quiet)
    if not options.as_json and read.is_a_dialogue():
        return read.read(page, loaded, first, text, options.model)
    chosen = CHAPTERS if first is None else CHAPTERS[first : first + 1]
    if options.as_json:
        from glasscli.cli.commands.lesson.document import document

        write_json(document(loaded, chosen, text))
        return 0
    for number, chapter in enumerate(chosen):
        page.show([[]] if number else [])
        for lines in screen.told(page, loaded, chapter, text, options.quiet, options.model):
            page.show(lines)
    return 0


def _list(page: "Page", as_json: bool) -> None:
    from glasscli.lesson.chapters import CHAPTERS

    if as_json:
        write_json([{"number": i, "name": c.name, "title": c.title} for i, c in enumerate(CHAPTERS, 1)])
        return
    widest = max(len(chapter.name) for chapter in CHAPTERS)
    page.show(
        line
        for i, chapter in enumerate(CHAPTERS, 1)
        for line in page.flow(f"{i:>2}  {chapter.name:<{widest}}  ", [chapter.title])
    )
