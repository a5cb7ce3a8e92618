"""The options of `glass lens`, and which of them go together."""

from dataclasses import dataclass
from typing import Annotated

from glasscli.cli.console import Color
from glasscli.cli.options import (
    Ablate,
    ColorOption,
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


@dataclass(frozen=True)
class Options:
    """Show what the model would say if it stopped after each half layer, and who speaks for a token."""

    prompt: Annotated[str | None, argument("[PROMPT]", "The text to read [default: a demo text]; - reads stdin.")] = (
        None
    )
    file: TextFile = None
    rows: Annotated[
        str,
        option("--rows", "After which tokens: last, a position, or a range 4:8.", Group.view, metavar="ROWS"),
    ] = "last"
    token: Annotated[
        str | None,
        option("--token", "A next token to watch, and who writes its logit: Lily, or #485, an id.", Group.view),
    ] = None
    minus: Annotated[
        str | None, option("--not", "With --token: who writes how far it is above this one.", Group.view)
    ] = None
    top: Annotated[
        int, option("--top", "How many of the likeliest tokens to tell.", Group.view, metavar="N", min=1)
    ] = 4
    special: Special = False
    as_json: Json = False
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
        check_sources(self.prompt, self.file)
        if self.minus is not None and self.token is None:
            raise UsageError("--not says what --token is compared with: give --token too")
