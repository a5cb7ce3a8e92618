"""`glass generate`: continue a text, token by token."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from glasscli.cli.blas import pin_threads
from glasscli.cli.commands.generate import options as o
from glasscli.cli.console import Color, is_terminal, note, use_color
from glasscli.cli.interrupts import watch_interrupts
from glasscli.cli.options import ColorOption, Json, ModelDir, Quiet
from glasscli.cli.prompt_text import prompt_text
from glasscli.errors import UsageError
from glasscli.generation.prompts import ContextError, Overflow

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.generation.continuation import Step
    from glasscli.generation.loop import Generation

RUNNERS_UP = 4  # the token itself and three others


class View(Protocol):
    """What shows a run: a text, a table, or JSON."""

    def start(self, run: "Generation") -> None:
        """Before the first step."""

    def step(self, step: "Step") -> None:
        """One token more."""

    def rest(self, text: str) -> None:
        """Text that was held back when the run was interrupted."""

    def end(self, run: "Generation") -> None:
        """After the last step."""


EPILOG = """\
Without --show, --json or --jsonl, stdout gets the text and nothing else; a terminal also shows the prompt and,
on stderr, a line of numbers. --show probs, --json and --jsonl tell how likely each token was: to the raw model
(p, logprob, rank, entropy) and after the sampler (p_sampled), whose order is penalty, temperature, top-k, top-p,
min-p. Prompt and text together never exceed the context, except with --overflow slide.

\b
Examples:
  glass generate "Once upon a time" -n 60 --seed 1
  glass generate "Once upon a time" -n 12 --temperature 0 --show probs
  echo "Lily had a red" | glass generate --json --logprobs 3
  glass generate "The dog ran" --stop "." --top-k 40
"""


def command(
    prompt: o.Prompt = None,
    max_new_tokens: o.Tokens = 64,
    temperature: o.Temperature = 0.8,
    top_k: o.TopK = 0,
    top_p: o.TopP = 0.95,
    min_p: o.MinP = 0.0,
    repetition_penalty: o.Penalty = 1.0,
    seed: o.Seed = None,
    stop: o.Stop = None,
    ignore_eos: o.IgnoreEos = False,
    overflow: o.OverflowOption = Overflow.error,
    no_cache: o.NoCache = False,
    special: o.Special = False,
    echo: o.Echo = None,
    show: o.ShowOption = None,
    logprobs: o.Logprobs = None,
    as_json: Json = False,
    as_jsonl: o.Jsonl = False,
    prompts: o.Prompts = None,
    model: ModelDir = None,
    color: ColorOption = Color.auto,
    quiet: Quiet = False,
) -> int:
    """Continue a text, token by token, each shown as soon as it is chosen."""
    check_formats(show, logprobs, as_json, as_jsonl, prompts, prompt)
    pin_threads(model)
    from glasscli.generation.sampling import SamplingParams

    options: dict[str, Any] = {
        "params": SamplingParams(temperature, top_k, top_p, min_p, repetition_penalty),
        "seed": seed,
        "max_new_tokens": max_new_tokens,
        "stop": tuple(stop or ()),
        "ignore_eos": ignore_eos,
        "overflow": overflow.value,
        "use_cache": not no_cache,
        "parse_special": special,
        "n_top": logprobs if logprobs is not None else RUNNERS_UP if show is o.Show.probs else 0,
    }
    look = Look(show, as_json, as_jsonl, color, echo, quiet)
    if prompts is not None:
        from glasscli.cli.commands.generate.batch import run_batch

        return run_batch(model, prompts, options, look)
    return run_one(model, prompt_text(prompt), options, look)


@dataclass(frozen=True)
class Look:
    """How to show a run."""

    show: o.Show | None
    as_json: bool
    as_jsonl: bool
    color: Color
    echo: bool | None
    quiet: bool

    @property
    def for_machines(self) -> bool:
        """Whether stdout gets JSON."""
        return self.as_json or self.as_jsonl

    @property
    def tinted(self) -> bool:
        """Whether tokens are coloured by surprise."""
        return self.show in (o.Show.colour, o.Show.color)


def run_one(folder: Path | None, prompt: str, options: dict[str, Any], look: Look) -> int:
    """Write one text; the exit code."""
    from glasscli.checkpoint.load import load_model
    from glasscli.generation.loop import generate

    loaded = load_model(folder)
    try:
        run = generate(loaded, prompt, **options)
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest, --overflow slide reads all of it") from None
    if not look.quiet:
        for text in notes(run, look):
            note(text)
    view = view_of(loaded, prompt, options, look)
    code = write(run, view)
    if not (look.quiet or look.for_machines):
        tell_numbers(run, look)
    return code


def write(run: "Generation", view: "View") -> int:
    """Run it to its end or to Ctrl-C, showing each step; the exit code."""
    view.start(run)
    with watch_interrupts() as interrupt:
        try:
            for step in run:
                interrupt.patient = True
                view.step(step)
                if interrupt.requested:
                    break
        except KeyboardInterrupt:
            interrupt.requested = True
        interrupt.patient = True
        if run.finish_reason is None:
            view.rest(run.interrupt())
        view.end(run)
    return 130 if interrupt.requested else 0


def view_of(loaded: "LoadedModel", prompt: str, options: dict[str, Any], look: Look) -> "View":
    """What shows the steps."""
    if look.for_machines:
        from glasscli.cli.commands.generate.json_view import JsonlView, JsonView, settings_fields

        kind = JsonView if look.as_json else JsonlView
        return kind(loaded.tokenizer, prompt, settings_fields(options), bool(options["n_top"]))
    if look.show is o.Show.probs:
        from glasscli.cli.commands.generate.probs_view import ProbsView

        return ProbsView(loaded.tokenizer, look.color, options["n_top"] - 1)
    from glasscli.cli.commands.generate.text_view import TextView

    return TextView(prompt, look.color, look.echo, look.tinted)


def notes(run: "Generation", look: Look) -> list[str]:
    """What should be known before the text."""
    dropped = run.prompt.n_dropped
    said = list(run.loaded.notes)
    if dropped:
        kept, context = len(run.prompt.token_ids), run.loaded.config.max_seq_len
        said.append(
            f"the oldest {dropped:,} tokens of the prompt were cut: {kept:,} are left of a context of {context:,}"
        )
    if look.tinted and not use_color(look.color):
        said.append("no colour here: --color always forces it, --show probs has the numbers")
    return said


def tell_numbers(run: "Generation", look: Look) -> None:
    """The footer, if stderr is a terminal; else just a seed that nobody chose, which replays the text."""
    if is_terminal(sys.stderr):
        from glasscli.cli.commands.generate.footer import hints, show_footer

        try_next = hints(run, look.show is o.Show.probs) if is_terminal() else []
        show_footer(run, look.color, tinted=look.tinted and use_color(look.color), try_next=try_next)
    elif not run.seed_given and not run.written.params.greedy:
        note(f"seed {run.seed}")


def check_formats(
    show: o.Show | None, logprobs: int | None, as_json: bool, as_jsonl: bool, prompts: str | None, prompt: str | None
) -> None:
    """Refuse options that contradict each other."""
    formats = [name for name, given in (("--show", show), ("--json", as_json), ("--jsonl", as_jsonl)) if given]
    if len(formats) > 1:
        raise UsageError(f"{formats[0]} and {formats[1]} are two formats: choose one")
    if logprobs is not None and (not formats or show in (o.Show.colour, o.Show.color)):
        raise UsageError("--logprobs has nothing to go into: add --json, --jsonl or --show probs")
    if prompts is not None and prompt is not None:
        raise UsageError("a prompt and --prompts are two sources: choose one")
    if prompts is not None and show:
        raise UsageError("--show is for one prompt; with --prompts use --json or --jsonl")
