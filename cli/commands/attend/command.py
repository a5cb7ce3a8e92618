"""`glass attend`: attention over numbers that somebody brings, every step side by side."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from glasscli.cli.console import Color, write_csv, write_json
from glasscli.cli.options import ColorOption, Csv, Group, Json, Quiet, Verbose, option
from glasscli.errors import UsageError

if TYPE_CHECKING:
    from glasscli.arrays import Array
    from glasscli.inspect.worked import Worked

EPILOG = """\
Numbers are typed as rows: '1 0; 1 1; 0 1'. A comma may stand between numbers, | parts heads. Fewer key/value heads
than query heads are shared: query head h reads key/value head h / (H/K), rounded down. A file is .npy, .csv (a line a
row), .npz or .json; of several arrays, FILE:NAME names one, such as layer.npz:L2.rope_q of dump-attn -o layer.npz.
All is computed in float64, by the code that the models run.

\b
Examples:
  glass attend --q "1 0; 1 1; 0 1" --v "2 0; 0 2; 2 2" --digits 6
  glass attend --scores "2.1 .8 -.4; .9 2.5 1.1; .2 1.8 2" --labels I,am,it
  glass attend --q "1 0; 0 1 | 2 0; 0 2" --k "1 0; 1 1" --v "1 2; 3 4"
  glass attend --q "3 1" --k "1 0; 1 1; 0 1" --v "2 0; 0 2; 2 2" --json
"""
SOURCE = "rows such as '1 0; 1 1', or a file"


@dataclass(frozen=True)
class Options:
    """Take your own queries, keys and values, or scores, through attention: raw, masked, softmax, mixed, side by
    side."""

    q: Annotated[str | None, option("--q", f"Queries: {SOURCE}.", Group.text, metavar="Q")] = None
    k: Annotated[str | None, option("--k", "Keys [default: the queries].", Group.text, metavar="K")] = None
    v: Annotated[str | None, option("--v", "Values, a row a key.", Group.text, metavar="V")] = None
    scores: Annotated[
        str | None, option("--scores", "Scaled scores instead of queries and keys.", Group.text, metavar="S")
    ] = None
    file: Annotated[
        str | None, option("--from", "An .npz or .json with q, k and v, or scores.", Group.text, metavar="FILE")
    ] = None
    labels: Annotated[str | None, option("--labels", "Names of the tokens.", Group.view, metavar="The,cat,…")] = None
    start: Annotated[
        int | None,
        option(
            "--start", "Position of the first query [default: the queries come last].", Group.engine, metavar="N", min=0
        ),
    ] = None
    no_mask: Annotated[bool, option("--no-mask", "Every query sees every key.", Group.engine)] = False
    scale: Annotated[
        float | None, option("--scale", "Factor of q·k [default: 1/√width].", Group.engine, metavar="X")
    ] = None
    digits: Annotated[int, option("--digits", "Digits after the point.", Group.view, metavar="N", min=0)] = 4
    as_json: Json = False
    as_csv: Csv = False
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: names them.
        """
        if self.as_json and self.as_csv:
            raise UsageError("--json and --csv are two formats: choose one")
        if self.file is not None and (self.q or self.k or self.v or self.scores):
            raise UsageError("--from holds all arrays by name; leave --q, --k, --v and --scores out")
        if self.scores is not None and (self.q or self.k):
            raise UsageError("--scores come from queries and keys: give one or the other")
        if self.scores is None and self.q is None and self.file is None:
            raise UsageError('no numbers. Give --q "1 0; 1 1" (and --k, --v), or --scores, or --from FILE.')
        if self.scale is not None and self.scores is not None:
            raise UsageError("--scale is a factor of q·k; --scores are scaled already")
        if self.digits > 15:
            raise UsageError(f"--digits {self.digits}: a float64 has 15")


def run(options: Options) -> int:
    """Work it out and show it; the exit code."""
    options.check()
    found = worked(options)
    labels = [] if options.labels is None else [label.strip() for label in options.labels.split(",")]
    n_keys = found.mask_TS.shape[1]
    if labels and len(labels) != n_keys:
        raise UsageError(f"--labels names {len(labels)} tokens; there are {n_keys} keys")
    from glasscli.cli.commands.attend import documents

    if options.as_json:
        write_json(documents.document(found, labels), indent=None)
    elif options.as_csv:
        write_csv(documents.COLUMNS, documents.rows(found, labels))
    else:
        from glasscli.cli.commands.attend.screen import worked_screen
        from glasscli.cli.page.page import Page

        page = Page.of_stdout(options.color, dot=".")
        page.show(
            worked_screen(page, found, labels, options.digits, k_is_q=options.k is None and options.q is not None)
        )
    return 0


def worked(options: Options) -> "Worked":
    """The steps of what was given."""
    from glasscli.inspect.worked import work, work_scores

    given = arrays(options)
    if "scores" in given:
        return work_scores(given["scores"], given.get("v"), causal=not options.no_mask, start=options.start)
    q = given["q"]
    k, v = given.get("k", q), given.get("v")
    return work(q, k, v, causal=not options.no_mask, start=options.start, scale=options.scale)


def arrays(options: Options) -> "dict[str, Array]":
    """What was given, by name.

    Raises:
        UsageError: it can't be read, or a file has too few or too many of them.
    """
    from glasscli.inspect.number_files import names_in, read_numbers

    if options.file is not None:
        there = [name for name in ("q", "k", "v", "scores") if name in names_in(options.file)]
        if "q" not in there and "scores" not in there:
            raise UsageError(f"--from {options.file}: holds no q and no scores")
        if "q" in there and "scores" in there:
            raise UsageError(f"--from {options.file}: holds q and scores. Name one: --q {options.file}:q")
        return {name: read_numbers(f"{options.file}:{name}") for name in there}
    named = {"q": options.q, "k": options.k, "v": options.v, "scores": options.scores}
    found = {}
    for name, source in named.items():
        if source is not None:
            try:
                found[name] = read_numbers(source)
            except UsageError as error:
                raise UsageError(f"--{name}: {error}") from None
    return found
