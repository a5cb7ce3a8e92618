"""The options of `glass ablate`, and which of them go together."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from glasscli.cli.console import Color
from glasscli.cli.options import (
    ColorOption,
    Csv,
    Group,
    Json,
    ModelDir,
    Quiet,
    Special,
    TextFile,
    Verbose,
    argument,
    option,
)
from glasscli.cli.prompt_text import check_sources
from glasscli.errors import UsageError


class To(StrEnum):
    """What a part is set to."""

    zero = "zero"
    mean = "mean"


@dataclass(frozen=True)
class Options:
    """Set each head and MLP to zero, or to its mean, one at a time, and see what changes: the next token, the loss
    of a whole text, or what other heads do."""

    prompt: Annotated[str | None, argument("[TEXT]", "The text to read [default: a demo text]; - reads stdin.")] = None
    file: TextFile = None
    token: Annotated[
        str | None,
        option(
            "--token",
            "The next token to watch: Lily, or #485, an id [default: the likeliest].",
            Group.view,
            metavar="TOKEN",
        ),
    ] = None
    loss: Annotated[
        bool, option("--loss", "The loss over the whole text, and on what it repeats, in nats a token.", Group.view)
    ] = False
    feeds: Annotated[
        bool, option("--feeds", "Which head, taken out, changes what a later head does, on random repeats.", Group.view)
    ] = False
    to: Annotated[To, option("--to", "Set parts to zero, or to their mean over the text.", Group.view)] = To.zero
    parts: Annotated[
        str | None, option("--parts", "Only these: 3.2 is a head, mlp1 an MLP.", Group.view, metavar="3.2,mlp1")
    ] = None
    top: Annotated[
        int, option("--top", "Rows on the screen, largest change first; 0: all.", Group.view, metavar="N", min=0)
    ] = 20
    special: Special = False
    as_json: Json = False
    as_csv: Csv = False
    model: ModelDir = None
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    def check(self) -> None:
        """Refuse options that contradict each other, before anything is loaded.

        Raises:
            UsageError: names the two options.
        """
        if self.as_json and self.as_csv:
            raise UsageError("--json and --csv are two formats: choose one")
        check_sources(self.prompt, self.file)
        if self.feeds and self.loss:
            raise UsageError("--feeds and --loss are different screens. Give one of them.")
        needless = {
            "a text": self.feeds and self.prompt is not None,
            "--file": self.feeds and self.file is not None,
            "--to mean": self.feeds and self.to is To.mean,
            "--parts": self.feeds and self.parts is not None,
            "--special": self.feeds and self.special,
            "--token": (self.feeds or self.loss) and self.token is not None,
        }
        for name, given in needless.items():
            if given:
                raise UsageError(f"{name} has no effect with {'--feeds' if self.feeds else '--loss'}.")
