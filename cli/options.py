"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from glasscli.cli.console import Color

ModelDir = Annotated[
    Path | None,
    typer.Option(
        "-m",
        "--model",
        envvar="GLASS_MODEL",
        metavar="DIR",
        help="A Llama folder in Hugging Face layout [default: the shipped model].",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No footer, no notes, no hints.")]
ColorOption = Annotated[Color, typer.Option("--color", help="When to colour.")]
