"""The options of `glass generate`."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from glasscli.cache.choice import CacheChoice
from glasscli.cli.cache_option import CacheOption, choice_of
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
    whole,
)
from glasscli.generation.prompts import Overflow

RUNNERS_UP = 4  # the token itself and three others


class Show(StrEnum):
    """What to show of each choice: its numbers, what was looked at for it, or a tint by surprise."""

    probs = "probs"
    attn = "attn"
    colour = "colour"
    color = "color"


OVERFLOW = (
    "Prompt and text too long? error: refuse such a prompt. left: cut its oldest tokens down to 3/4 of the context. "
    "slide: go on for ever, with the first 4 tokens and the newest."
)


def model_or(value: float) -> str:
    """How the help says that a default is the model's own, and `value` for a model that says none."""
    return f"[default: the model's, else {value:g}]"


@dataclass(frozen=True)
class Options:
    """Continue a text, token by token, each shown as soon as it is chosen."""

    prompt: Annotated[str | None, argument("[PROMPT]", "The text to continue; - reads stdin.")] = None
    file: TextFile = None
    max_new_tokens: Annotated[
        int | None,
        option("-n --max-new-tokens", f"Tokens to write at most {model_or(256)}.", Group.sampling, metavar="N", min=0),
    ] = None
    temperature: Annotated[
        float | None,
        option(
            "-t --temperature", f"Flattens (>1) or sharpens; 0 is greedy {model_or(0.8)}.", Group.sampling, metavar="T"
        ),
    ] = None
    top_k: Annotated[
        int | None,
        option(
            "--top-k",
            f"Draw from the K likeliest tokens; 0 is off {model_or(0)}.",
            Group.sampling,
            metavar="K",
            parser=whole(),
        ),
    ] = None
    top_p: Annotated[
        float | None,
        option(
            "--top-p", f"Draw from the fewest tokens of mass P; 1 is off {model_or(0.95)}.", Group.sampling, metavar="P"
        ),
    ] = None
    min_p: Annotated[
        float | None,
        option("--min-p", f"Drop tokens below P × the likeliest; 0 is off {model_or(0)}.", Group.sampling, metavar="P"),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        option(
            "--repetition-penalty",
            f"Above 1: tokens seen get less likely {model_or(1)}.",
            Group.sampling,
            metavar="R",
        ),
    ] = None
    frequency_penalty: Annotated[
        float,
        option("--frequency-penalty", "Lowers a token's logit each time it was written.", Group.sampling, metavar="F"),
    ] = 0.0
    presence_penalty: Annotated[
        float,
        option("--presence-penalty", "Lowers a token's logit once it was written.", Group.sampling, metavar="F"),
    ] = 0.0
    logit_bias: Annotated[
        list[str] | None,
        option(
            "--logit-bias",
            "Add X to the logit of a word or #ID, -inf to ban it; may be given several times.",
            Group.sampling,
            metavar="TOKEN=±X",
        ),
    ] = None
    seed: Annotated[
        int | None, option("--seed", "Replays a text [default: random].", Group.sampling, metavar="S", min=0)
    ] = None
    stop: Annotated[
        list[str] | None,
        option("--stop", "End before this text; may be given several times.", Group.sampling, metavar="TEXT"),
    ] = None
    stop_token: Annotated[
        list[str] | None,
        option(
            "--stop-token",
            "End at this token too, a word or #ID; may be given several times.",
            Group.sampling,
            metavar="TOKEN",
        ),
    ] = None
    ignore_eos: Annotated[bool, option("--ignore-eos", "Never choose the end-of-text token.", Group.sampling)] = False
    overflow: Annotated[Overflow, option("--overflow", OVERFLOW, Group.text)] = Overflow.error
    no_cache: Annotated[
        bool, option("--no-cache", "Compute everything anew each token: same text, slowly.", Group.engine)
    ] = False
    cache: CacheOption = None
    special: Special = False
    chat: Annotated[
        bool, option("--chat", "Read the prompt as a user's turn, in the model's chat template.", Group.text)
    ] = False
    system: Annotated[
        str | None, option("--system", "With --chat: what the model is told first.", Group.text, metavar="TEXT")
    ] = None
    messages: Annotated[
        str | None,
        option(
            "--messages",
            "The turns so far, a JSON list of messages with role and content; the prompt is one more.",
            Group.text,
            metavar="FILE",
        ),
    ] = None
    show_prompt: Annotated[
        bool, option("--show-prompt", "Print what the model would read, and write nothing.", Group.output)
    ] = False
    echo: Annotated[
        bool | None, option("--echo/--no-echo", "Print the prompt first [default: on a terminal].", Group.output)
    ] = None
    show: Annotated[
        Show | None,
        option(
            "--show",
            "probs: a table of every choice. attn: the words looked at for it. colour: tint the text by surprise.",
            Group.view,
        ),
    ] = None
    layer: Annotated[
        str | None,
        option("--layer", "With --show attn: which layers [default: all].", Group.view, metavar="N"),
    ] = None
    head: Annotated[
        str | None,
        option("--head", "With --show attn: which heads of them [default: all].", Group.view, metavar="N"),
    ] = None
    logprobs: Annotated[
        int | None, option("--logprobs", "Tell the N likeliest tokens at each step.", Group.view, metavar="N", min=0)
    ] = None
    as_json: Json = False
    as_jsonl: Annotated[bool, option("--jsonl", "One JSON line a token, at once.", Group.output)] = False
    as_csv: Annotated[
        bool, option("--csv", "One CSV table, a line for each likely token of each step.", Group.output)
    ] = False
    output: Annotated[
        Path | None,
        option(
            "-o --output",
            "Write what a pipe would get to a file; .json, .jsonl and .csv say the format.",
            Group.output,
            metavar="FILE",
        ),
    ] = None
    no_wrap: Annotated[bool, option("--no-wrap", "On a terminal, don't break lines between words.", Group.output)] = (
        False
    )
    samples: Annotated[
        int | None,
        option("--samples", "Write N texts, together; text i has seed S + i - 1.", Group.text, metavar="N", min=1),
    ] = None
    prompts: Annotated[
        str | None,
        option(
            "--prompts",
            "Continue each line of FILE, together; prompt i has seed S + i - 1.",
            Group.text,
            metavar="FILE",
        ),
    ] = None
    model: ModelDir = None
    ablate: Ablate = None
    color: ColorOption = Color.auto
    quiet: Quiet = False
    verbose: Verbose = False

    @property
    def in_chat(self) -> bool:
        """Whether the model's chat template is to be used."""
        return self.chat or self.messages is not None

    @property
    def several(self) -> str | None:
        """The option that asks for several texts, if one does."""
        return "--prompts" if self.prompts is not None else "--samples" if self.samples is not None else None

    @property
    def for_machines(self) -> bool:
        """Whether JSON or CSV is written."""
        return self.as_json or self.as_jsonl or self.as_csv

    @property
    def tinted(self) -> bool:
        """Whether tokens are to be coloured by surprise."""
        return self.show in (Show.colour, Show.color)

    @property
    def watches(self) -> bool:
        """Whether each step is to tell what it looked at."""
        return self.show is Show.attn

    @property
    def n_top(self) -> int:
        """How many of the likeliest tokens to tell at each step."""
        if self.logprobs is not None:
            return self.logprobs
        return RUNNERS_UP if self.show is Show.probs or self.as_csv else 0

    @property
    def choice(self) -> CacheChoice:
        """How keys and values are kept. Raises UsageError as `choice_of`."""
        return choice_of(self.cache)
