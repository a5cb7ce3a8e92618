"""`glass generate --prompts FILE`: several prompts, decoded together, told in order."""

import sys
from typing import NoReturn

from glasscli.cli.ablated import ablated, without_words
from glasscli.cli.cache_option import for_cache
from glasscli.cli.commands.generate.asked import Asked, asked, asked_notes, system_turn
from glasscli.cli.commands.generate.batch_view import BatchJsonlView, BatchJsonView, BatchTextView
from glasscli.cli.commands.generate.cut import cut_words
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.commands.generate.prompts_line import PromptsLine
from glasscli.cli.console import is_terminal, note
from glasscli.cli.interrupts import watch_interrupts
from glasscli.cli.models import load
from glasscli.cli.prompt_text import prompt_lines
from glasscli.errors import UsageError
from glasscli.generation.batch import Batch, generate_batch
from glasscli.generation.prompts import ContextError


def run_batch(options: Options, path: str) -> int:
    """Continue every line of the file at `path`; the exit code."""
    if options.no_cache:
        raise UsageError("--no-cache is for one prompt: a batch is decoded through one cache")
    lines = prompt_lines(path)
    loaded = for_cache(load(options.model, quiet=options.quiet), options.choice)
    loaded = ablated(loaded, options.ablate, _no_mean)
    before = system_turn(options)
    made = [asked(options, loaded.checkpoint, loaded.tokenizer, line, before) for line in lines]
    try:
        batch = generate_batch(
            loaded,
            [one.prompt for one in made],
            params=options.params(loaded.defaults),
            seed=options.seed,
            max_new_tokens=options.max_new_tokens,
            stop=options.stop or (),
            ignore_eos=options.ignore_eos,
            overflow=options.overflow,
            cache=options.choice,
            parse_special=options.special,
            n_top=options.n_top,
        )
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest") from None
    if not options.quiet:
        for text in notes(batch, made, options):
            note(text)
    code = write(batch, view_of(batch, made, options), PromptsLine(batch, options.quiet))
    if not (options.quiet or options.for_machines):
        if is_terminal(sys.stderr):
            from glasscli.cli.commands.generate.footer import show_batch_footer

            show_batch_footer(batch, options.color)
        elif options.seed is None and not options.params(loaded.defaults).greedy:
            note(f"seed {batch.runs[0].seed}, and one more for each line")
        if cut := cut_words(batch.runs, options.max_new_tokens is None):
            note(cut)
    return code


def _no_mean() -> NoReturn:
    raise UsageError("a mean is one over the prompt, and --prompts has several")


def write(batch: Batch, view: BatchTextView | BatchJsonView | BatchJsonlView, line: PromptsLine) -> int:
    """Run all to their end or to Ctrl-C; each text is shown once it and all before it are done. The exit code."""
    shown = 0
    with watch_interrupts() as interrupt:
        try:
            for number, step in batch:
                interrupt.patient = True
                view.step(number, step)
                line.step()
                while shown < len(batch.runs) and batch.runs[shown].finish_reason is not None:
                    line.clear()
                    view.result(shown)
                    shown += 1
                if interrupt.requested:
                    break
        except KeyboardInterrupt:
            interrupt.requested = True
        interrupt.patient = True
        line.clear()
        batch.interrupt()
        for number in range(shown, len(batch.runs)):
            view.result(number)
        view.end()
    return 130 if interrupt.requested else 0


def notes(batch: Batch, made: list[Asked], options: Options) -> list[str]:
    """What should be known before the texts."""
    cut = [(i + 1, run.prompt.n_dropped) for i, run in enumerate(batch.runs) if run.prompt.n_dropped]
    said = [f"prompt {number}: its oldest {dropped:,} tokens were cut" for number, dropped in cut]
    removed = [without_words(batch.loaded.removed)] if batch.loaded.removed else []
    return [*batch.loaded.notes, *removed, *asked_notes(options, batch.loaded, made), *said]


def view_of(batch: Batch, made: list[Asked], options: Options) -> BatchTextView | BatchJsonView | BatchJsonlView:
    """What shows the texts."""
    if options.for_machines:
        return (BatchJsonView if options.as_json else BatchJsonlView)(batch, made, options)
    return BatchTextView(batch, made, options.color, options.echo is not False)
