"""What options are made of, and the options that several commands share.

What a command can be asked is a frozen dataclass called `Options`: a field an option, with its type, its default, and
what the command line and its help say of it. Typer makes one from what was typed, and that is what travels.

    @dataclass(frozen=True)
    class Options:
        \"\"\"The sentence that heads the command's help.\"\"\"

        text: Annotated[str | None, argument("[TEXT]", "The text; - reads stdin.")] = None
        merges: Annotated[bool, option("--merges", "Show every merge.", Group.view)] = False
        as_json: Json = False
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer
from typer.models import ArgumentInfo, OptionInfo

from glasscli.cli.console import Color
from glasscli.errors import UsageError
from glasscli.units import parse_count

THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(?![\d,])", re.ASCII)
SUFFIXED = re.compile(r"\d[\d,_.]*\s*[km]", re.ASCII | re.IGNORECASE)


class Group(StrEnum):
    """What options are about."""

    model = "Model"
    text = "Text"
    sampling = "Sampling"
    size = "Size"
    engine = "Engine"
    device = "Device"
    view = "View"
    output = "Output"


def option(
    names: str,
    help: str,
    group: Group,
    *,
    metavar: str | None = None,
    min: int | None = None,
    envvar: str | None = None,
    parser: Callable[[str], Any] | None = None,
) -> OptionInfo:
    """An option.

    Args:
        names: as they are typed, with spaces between: `-n --max-new-tokens`, `--echo/--no-echo`.
        help: what it does, and its default if that is not one value.
        metavar: what stands for its value in the help.
        min: the least value of a number.
        envvar: the variable of the environment that it is read from when it is not given.
        parser: makes its value of what was typed.
    """
    if min is not None and parser is None:
        parser = whole(min)
    made: OptionInfo = typer.Option(
        *names.split(), help=help, rich_help_panel=group, metavar=metavar, envvar=envvar, parser=parser
    )
    return made


def whole(least: int | None = None) -> Callable[[str], int]:
    """What reads a whole number, of at least `least`: `8192`, `8,192` as screens print it, or `8k` (k = 1024)."""

    def read(text: str) -> int:
        bare = str(text).strip()
        try:
            value = parse_count(bare) if SUFFIXED.fullmatch(bare) else int(bare.replace(",", ""))
            if "," in bare and not THOUSANDS.match(bare):
                raise ValueError
        except (ValueError, UsageError):
            raise typer.BadParameter(f"{bare[:40]!r} is not a whole number.") from None
        if least is not None and value < least:
            raise typer.BadParameter(f"{bare} is too small: at least {least}.")
        return value

    return read


def argument(metavar: str, help: str) -> ArgumentInfo:
    """What is given without a name."""
    made: ArgumentInfo = typer.Argument(metavar=metavar, help=help, rich_help_panel=Group.text)
    return made


# What `glasscli.locate` takes: a folder, a .gguf, a name.
ModelDir = Annotated[
    str | None,
    option(
        "-m --model",
        "A folder, a .gguf file, or org/name in Hugging Face's cache; hf:org/name downloads [default: glass-1m].",
        Group.model,
        metavar="MODEL",
        envvar="GLASS_MODEL",
    ),
]
Ablate = Annotated[
    str | None,
    option(
        "--ablate",
        "Run without these heads or MLPs: 3.2,mlp1 adds nothing, 3.2=mean its mean over the text.",
        Group.model,
        metavar="PARTS",
    ),
]
TextFile = Annotated[
    str | None, option("-f --file", "Read the text from a file instead; - is stdin.", Group.text, metavar="FILE")
]
Special = Annotated[bool, option("--special", "Read names like <|endoftext|> as special tokens.", Group.text)]
Json = Annotated[bool, option("--json", "Print one JSON document and nothing else.", Group.output)]
Csv = Annotated[bool, option("--csv", "One CSV table and nothing else.", Group.output)]
ColorOption = Annotated[Color, option("--color", "When to colour.", Group.output)]
Quiet = Annotated[bool, option("-q --quiet", "The answer alone: no footer, no notes, no hints.", Group.output)]
Verbose = Annotated[
    bool, option("-v --verbose", "All there is to say, and on stderr how the answer came about.", Group.output)
]
