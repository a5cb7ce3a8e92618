"""The options of `glass generate`, apart from those that other commands have too."""

from enum import StrEnum
from typing import Annotated

import typer

from glasscli.generation.prompts import Overflow


class Show(StrEnum):
    """What to show of each choice: its numbers, or a tint by surprise."""

    probs = "probs"
    colour = "colour"
    color = "color"


Prompt = Annotated[str | None, typer.Argument(metavar="[PROMPT]", help="The text to continue; - reads stdin.")]
Tokens = Annotated[int, typer.Option("-n", "--max-new-tokens", min=0, metavar="N", help="Tokens to write at most.")]
Temperature = Annotated[
    float, typer.Option("-t", "--temperature", metavar="T", help="Flattens (>1) or sharpens; 0 is greedy.")
]
TopK = Annotated[int, typer.Option("--top-k", metavar="K", help="Draw from the K likeliest tokens; 0 is off.")]
TopP = Annotated[float, typer.Option("--top-p", metavar="P", help="Draw from the fewest tokens of mass P; 1 is off.")]
MinP = Annotated[float, typer.Option("--min-p", metavar="P", help="Drop tokens below P × the likeliest; 0 is off.")]
Penalty = Annotated[
    float, typer.Option("--repetition-penalty", metavar="R", help="Above 1: tokens seen get less likely.")
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, metavar="S", help="Replays a text [default: random].")]
Stop = Annotated[
    list[str] | None, typer.Option("--stop", metavar="TEXT", help="End before this text; may be given several times.")
]
IgnoreEos = Annotated[bool, typer.Option("--ignore-eos", help="Never choose the end-of-text token.")]
OverflowOption = Annotated[
    Overflow,
    typer.Option(
        "--overflow",
        help="Prompt and text too long? error: refuse such a prompt. left: cut its oldest tokens down to 3/4 of the "
        "context. slide: go on for ever, with the first 4 tokens and the newest.",
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Compute everything anew each token: same text, slowly.")]
Special = Annotated[bool, typer.Option("--special", help="Read names like <|endoftext|> as special tokens.")]
Echo = Annotated[bool | None, typer.Option("--echo/--no-echo", help="Print the prompt first [default: on a terminal].")]
ShowOption = Annotated[
    Show | None, typer.Option("--show", help="probs: a table of every choice. colour: tint the text by surprise.")
]
Logprobs = Annotated[
    int | None, typer.Option("--logprobs", min=0, metavar="N", help="Tell the N likeliest tokens at each step.")
]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="One JSON line a token, at once.")]
Prompts = Annotated[
    str | None,
    typer.Option("--prompts", metavar="FILE", help="Continue each line of FILE, together; line i has seed S + i - 1."),
]
