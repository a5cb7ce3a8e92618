"""`glass compare`: two prompts side by side, and what makes the difference."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NoReturn

from glasscli.cli.ablated import ablated, without_words
from glasscli.cli.blas import pin_threads
from glasscli.cli.console import Color, note, write_csv, write_json
from glasscli.cli.options import (
    Ablate,
    ColorOption,
    Csv,
    Group,
    Json,
    ModelDir,
    Quiet,
    Special,
    Verbose,
    argument,
    option,
    whole,
)
from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.cli.commands.compare.found import Found

EPILOG = """\
Change of a head: half the sum of |a - b| over a row of its pattern, the share of its weight that lies elsewhere. KL:
the bits lost by believing B's next token where A's is true. Stream: the length of the difference of the residual
streams behind the last layer, and the same in runs in which attention writes nothing. --patch runs B, but takes a part
from A; healed is how much of KL(A, B) is gone then. All but the next token needs prompts of as many tokens.

\b
Examples:
  glass compare "A girl named Lily. One day," "A girl named Anna. One day,"
  glass compare "The cat ran." "The dog ran." --patch all
  glass compare "The cat ran." "The dog ran." --patch 3.1,mlp0 --token He
  glass compare "The cat ran." "The dog ran." --patch stream
  glass compare "The cat ran." "The dog ran far." --json
"""
PATCH = "Run B with parts from A: 3.2,mlp1, or all, one at a time; stream: the residual stream, place by place."


@dataclass(frozen=True)
class Options:
    """Read two prompts: which predictions differ, which heads look elsewhere, and what carries the difference."""

    a: Annotated[str | None, argument("A", "The first prompt; - reads stdin.")] = None
    b: Annotated[str | None, argument("B", "The second prompt.")] = None
    patch: Annotated[str | None, option("--patch", PATCH, Group.view, metavar="PARTS")] = None
    at: Annotated[
        int | None,
        option(
            "--at",
            "Patch this position alone; -1 is the last [default: all].",
            Group.view,
            metavar="POSITION",
            parser=whole(),
        ),
    ] = None
    token: Annotated[
        str | None,
        option(
            "--token", "With --patch: the next token to watch [default: A's likeliest].", Group.view, metavar="TOKEN"
        ),
    ] = None
    top: Annotated[
        int, option("--top", "Heads or patches on the screen, largest first; 0: all.", Group.view, metavar="N", min=0)
    ] = 20
    special: Special = False
    as_json: Json = False
    as_csv: Csv = False
    model: ModelDir = None
    ablate: Ablate = None
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    def check(self) -> None:
        """Refuse options that contradict each other, before anything is loaded.

        Raises:
            UsageError: names them.
        """
        if self.a is None or self.b is None:
            raise UsageError('two prompts are compared. Give both: glass compare "The cat ran." "The dog ran."')
        if self.a == self.b == "-":
            raise UsageError("both prompts can't be stdin. Give one of them.")
        if self.as_json and self.as_csv:
            raise UsageError("--json and --csv are two formats: choose one")
        for name, given in (("--at", self.at is not None), ("--token", self.token is not None)):
            if given and self.patch is None:
                raise UsageError(f"{name} is about patches: add --patch all")


def run(options: Options) -> int:
    """Compare; the exit code."""
    options.check()
    pin_threads(options.model, options.quiet)
    from glasscli.cli.commands.compare import documents
    from glasscli.cli.models import load

    loaded = load(options.model, quiet=options.quiet)
    loaded = ablated(loaded, options.ablate, _no_mean)
    for remark in () if options.quiet else loaded.notes:
        note(remark)
    if loaded.removed and not options.quiet:
        note(without_words(loaded.removed))
    found = find(options, loaded)
    if options.as_json:
        write_json(documents.document(loaded, found))
    elif options.as_csv:
        write_csv(documents.COLUMNS, documents.rows(found))
    else:
        from glasscli.cli.commands.compare.screen import compare_screen
        from glasscli.cli.page.page import Page

        page = Page.of_stdout(options.color)
        page.show(compare_screen(page, found, options.top, options.patch is None and not options.quiet))
    return 0


def _no_mean() -> NoReturn:
    raise UsageError("a mean is one over one text, and two are compared")


def find(options: Options, loaded: "LoadedModel") -> "Found":
    """All that is asked of the two prompts."""
    from glasscli.cli.commands.compare.found import Found, patching
    from glasscli.cli.prompt_notes import prompt_notes
    from glasscli.cli.prompt_text import prompt_text
    from glasscli.generation.prompts import read_prompt
    from glasscli.inspect.comparison import compare, movement

    texts = prompt_text(options.a), prompt_text(options.b)
    for remark in () if options.quiet else prompt_notes(loaded.tokenizer, texts, special=options.special):
        note(remark)
    a, b = (read_prompt(loaded, text, parse_special=options.special).token_ids for text in texts)
    patched = (
        None
        if options.patch is None
        else patching(loaded, a, b, options.patch, options.at, options.token, options.quiet)
    )
    compared = compare(loaded, a, b)
    return Found(texts, compared, movement(loaded, a, b) if compared.same_length else None, patched)
