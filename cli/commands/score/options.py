"""The options of `glass score`, and which of them go together."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from glasscli.cli.console import Color
from glasscli.cli.options import Ablate, ColorOption, Csv, Group, Json, ModelDir, Quiet, Verbose, argument, option
from glasscli.errors import UsageError

RUNNERS_UP = 4  # the token itself and three others


class Show(StrEnum):
    """What to show: a row a token, the text tinted by surprise, or where and how a long text is surprising."""

    probs = "probs"
    colour = "colour"
    color = "color"
    sums = "sums"


SHOW = "probs: a row a token. colour: tint the text by surprise. sums: the whole [default: probs up to 64 tokens]."


@dataclass(frozen=True)
class Options:
    """Show how likely each token of a given text is, and how well the whole is predicted."""

    text: Annotated[str | None, argument("[TEXT]", "The text; - or a pipe reads stdin.")] = None
    file: Annotated[str | None, option("--text --file", "Score a file instead.", Group.text, metavar="FILE")] = None
    split: Annotated[
        bool | None,
        option(
            "--split/--no-split",
            "Score each story of the text alone, between two end-of-text marks [default: where one is written].",
            Group.text,
        ),
    ] = None
    context: Annotated[
        int | None,
        option("--ctx", "Tokens that a window reads [default: the model's context].", Group.size, metavar="N", min=2),
    ] = None
    stride: Annotated[
        int | None, option("--stride", "How far a window moves on [default: half].", Group.size, metavar="N", min=1)
    ] = None
    show: Annotated[Show | None, option("--show", SHOW, Group.view)] = None
    logprobs: Annotated[
        int | None, option("--logprobs", "Tell the N likeliest tokens in each place.", Group.view, metavar="N", min=0)
    ] = None
    as_json: Json = False
    as_csv: Csv = False
    model: ModelDir = None
    ablate: Ablate = None
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            UsageError: names the two options.
        """
        given = (("--show", self.show), ("--json", self.as_json), ("--csv", self.as_csv))
        formats = [name for name, value in given if value]
        if len(formats) > 1:
            raise UsageError(f"{formats[0]} and {formats[1]} are two formats: choose one")
        if self.logprobs is not None and not (self.for_machines or self.show is Show.probs):
            raise UsageError("--logprobs has nothing to go into: add --json, --csv or --show probs")
        if self.text is not None and self.file is not None:
            raise UsageError("a text and --text are two sources: choose one")

    @property
    def for_machines(self) -> bool:
        """Whether stdout gets data."""
        return self.as_json or self.as_csv

    @property
    def tinted(self) -> bool:
        """Whether the text is to be coloured by surprise."""
        return self.show in (Show.colour, Show.color)

    @property
    def n_top(self) -> int:
        """How many of the likeliest tokens to tell in each place."""
        if self.logprobs is not None:
            return self.logprobs
        return 0 if self.for_machines or self.tinted else RUNNERS_UP
