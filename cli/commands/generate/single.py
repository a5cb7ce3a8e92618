"""One text, shown token by token: as text, as a table of choices, or as JSON."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Protocol

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.ablated import ablated, without_words
from glasscli.cli.cache_option import for_cache
from glasscli.cli.commands.generate.asked import Asked, asked, asked_notes, said
from glasscli.cli.commands.generate.cut import cut_words
from glasscli.cli.commands.generate.delivered import delivered
from glasscli.cli.commands.generate.options import Options, Show
from glasscli.cli.commands.generate.settings import settings
from glasscli.cli.commands.generate.waiting_line import WaitingLine
from glasscli.cli.console import Color, is_terminal, note, use_color
from glasscli.cli.interrupts import watch_interrupts
from glasscli.cli.models import load
from glasscli.errors import UsageError
from glasscli.generation.continuation import Step
from glasscli.generation.loop import Generation, generate
from glasscli.generation.prompts import ContextError, read_prompt

if TYPE_CHECKING:
    from glasscli.inspect.looked_at import Watch


class View(Protocol):
    """What shows a run: a text, a table, or JSON."""

    def start(self, run: Generation) -> None:
        """Before the first step."""

    def step(self, step: Step) -> None:
        """One token more."""

    def rest(self, text: str) -> None:
        """Text that was held back when the run was interrupted."""

    def end(self, run: Generation) -> None:
        """After the last step."""


def run_single(options: Options) -> int:
    """Write one text; the exit code."""
    text, before = said(options)
    loaded = for_cache(load(options.model, quiet=options.quiet), options.choice)
    made = asked(options, loaded.checkpoint, loaded.tokenizer, text, before)
    try:
        loaded = ablated(loaded, options.ablate, partial(_ids, options, loaded, made))
        watch = watched(loaded, options) if options.watches else None
        run = generate(
            loaded,
            made.prompt,
            use_cache=not options.no_cache,
            trace=watch.trace if watch else None,
            **settings(options, loaded),
        )
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest, --overflow slide reads all of it") from None
    if not options.quiet:
        for remark in notes(run, made, options):
            note(remark)
    line = WaitingLine([run], "texts", options.output is not None and not options.quiet)
    with delivered(options, loaded, [run]):
        code = write(run, view_of(loaded, made, options, watch), line)
    if not (options.quiet or options.for_machines):
        tell_numbers(run, options)
    return code


def _ids(options: Options, loaded: LoadedModel, made: Asked) -> tuple[int, ...]:
    return read_prompt(loaded, made.prompt, options.overflow, options.special).token_ids


def write(run: Generation, view: View, line: WaitingLine) -> int:
    """Run it to its end or to Ctrl-C, showing each step; the exit code."""
    view.start(run)
    with watch_interrupts() as interrupt:
        try:
            for step in run:
                interrupt.patient = True
                view.step(step)
                line.step()
                if interrupt.requested:
                    break
        except KeyboardInterrupt:
            interrupt.requested = True
        interrupt.patient = True
        line.clear()
        if run.finish_reason is None:
            view.rest(run.interrupt())
        view.end(run)
    return 130 if interrupt.requested else 0


def watched(loaded: LoadedModel, options: Options) -> "Watch":
    """Which heads `--show attn` looks at."""
    from glasscli.cli.commands.dump_attn.pick import pick_heads, pick_layers
    from glasscli.inspect.looked_at import Watch

    layers = pick_layers(options.layer, options.layer is None, loaded.config)
    return Watch.of(layers, pick_heads(options.head, None, loaded.config))


def view_of(loaded: LoadedModel, made: Asked, options: Options, watch: "Watch | None" = None) -> View:
    """What shows the steps."""
    if options.as_csv:
        from glasscli.cli.commands.generate.csv_view import CsvView

        return CsvView(loaded.tokenizer)
    if options.for_machines:
        from glasscli.cli.commands.generate.json_view import JsonlView, JsonView

        return (JsonView if options.as_json else JsonlView)(loaded.tokenizer, made, options, watch)
    if watch is not None:
        from glasscli.cli.commands.generate.attn_view import AttnView

        return AttnView(loaded.tokenizer, options.color, watch)
    if options.show is Show.probs:
        from glasscli.cli.commands.generate.probs_view import ProbsView

        return ProbsView(loaded.tokenizer, options.color, options.n_top - 1)
    from glasscli.cli.commands.generate.text_view import TextView

    return TextView(made.shown, options.color, options.echo, options.tinted, not options.no_wrap)


def notes(run: Generation, made: Asked, options: Options) -> list[str]:
    """What should be known before the text."""
    dropped = run.prompt.n_dropped
    remarks = [*run.loaded.notes, *asked_notes(options, run.loaded, [made])]
    if run.loaded.removed:
        remarks.append(without_words(run.loaded.removed))
    if dropped:
        kept, context = len(run.prompt.token_ids), run.loaded.config.max_seq_len
        remarks.append(
            f"the oldest {dropped:,} tokens of the prompt were cut: {kept:,} are left of a context of {context:,}"
        )
    if options.tinted and not _colours(options):
        remarks.append("no colour here: --color always forces it, --show probs has the numbers")
    return remarks


def _colours(options: Options) -> bool:
    """Whether the text is coloured where it goes: a file is no terminal."""
    return options.color is Color.always if options.output is not None else use_color(options.color)


def tell_numbers(run: Generation, options: Options) -> None:
    """The footer, if stderr is a terminal; else just a seed that nobody chose, which replays the text."""
    if is_terminal(sys.stderr):
        from glasscli.cli.commands.generate.footer import hints, show_footer

        try_next = hints(run, options.show is Show.probs) if is_terminal() else []
        shown = options.tinted and options.output is None and _colours(options)
        show_footer(run, options.color, tinted=shown, try_next=try_next)
        return
    if not run.seed_given and not run.written.params.greedy:
        note(f"seed {run.seed}")
    if cut := cut_words([run], options.max_new_tokens is None):
        note(cut)
