"""`glass generate --prompts FILE` or `--samples N`: several texts, decoded together."""

import sys
from functools import partial

from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.ablated import ablated, without_words
from glasscli.cli.cache_option import for_cache
from glasscli.cli.commands.generate.asked import Asked, asked, asked_notes, said, system_turn
from glasscli.cli.commands.generate.batch_view import (
    BatchCsvView,
    BatchJsonlView,
    BatchJsonView,
    BatchTextView,
    BatchView,
)
from glasscli.cli.commands.generate.cut import cut_words
from glasscli.cli.commands.generate.delivered import delivered
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.commands.generate.settings import settings
from glasscli.cli.commands.generate.waiting_line import WaitingLine
from glasscli.cli.console import is_terminal, note
from glasscli.cli.interrupts import watch_interrupts
from glasscli.cli.models import load
from glasscli.cli.prompt_text import STDIN, prompt_lines
from glasscli.errors import UsageError
from glasscli.generation.batch import Batch, generate_batch
from glasscli.generation.messages import Message
from glasscli.generation.prompts import ContextError, read_prompt


def run_batch(options: Options) -> int:
    """Continue every line of a file, or one prompt several times; the exit code."""
    texts, before = batch_said(options)
    loaded = for_cache(load(options.model, quiet=options.quiet), options.choice)
    made = [asked(options, loaded.checkpoint, loaded.tokenizer, text, before) for text in texts]
    made *= options.samples or 1
    loaded = ablated(loaded, options.ablate, partial(_ids, options, loaded, made))
    try:
        batch = generate_batch(loaded, [one.prompt for one in made], **settings(options, loaded))
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest") from None
    if not options.quiet:
        for text in notes(batch, made, options):
            note(text)
    noun = "prompts" if options.samples is None else "samples"
    with delivered(options, loaded, batch.runs):
        code = write(batch, view_of(batch, made, options), WaitingLine(batch.runs, noun, not options.quiet))
    if not (options.quiet or options.for_machines):
        tell_numbers(batch, options)
    return code


def batch_said(options: Options) -> tuple[list[str | None], list[Message]]:
    """What each text goes on from, and the turns of a chat before it.

    Raises:
        UsageError: what was given can't be read, or holds no prompt.
    """
    if options.prompts is None:
        text, before = said(options)
        return [text], before
    lines, source = prompt_lines(options.prompts), "stdin" if options.prompts == STDIN else options.prompts
    texts: list[str | None] = [line for line in lines if line.strip()]
    if not texts:
        raise UsageError(f"{source}: its {len(lines):,} lines are all blank; expected one prompt a line")
    if len(texts) < len(lines) and not options.quiet:
        n = len(lines) - len(texts)
        note(f"{n:,} blank line{'s' * (n > 1)} of {source} {'is' if n == 1 else 'are'} no prompt: left out")
    return texts, system_turn(options)


def _ids(options: Options, loaded: LoadedModel, made: list[Asked]) -> tuple[int, ...]:
    if options.prompts is not None:
        raise UsageError("a mean is one over the prompt, and --prompts has several")
    return read_prompt(loaded, made[0].prompt, options.overflow, options.special).token_ids


def write(batch: Batch, view: BatchView, line: WaitingLine) -> int:
    """Run all to their end or to Ctrl-C; each text is shown once it is due. The exit code."""
    due = Due(len(batch.runs), view.in_order)
    for number, run in enumerate(batch.runs):
        if run.finish_reason is not None:  # the prompt alone fills its context
            due.ended(number)
    with watch_interrupts() as interrupt:
        try:
            for number, step in batch:
                interrupt.patient = True
                view.step(number, step)
                line.step()
                if batch.runs[number].finish_reason is not None:
                    due.ended(number)
                for ready in due.now():
                    line.clear()
                    view.result(ready)
                if interrupt.requested:
                    break
        except KeyboardInterrupt:
            interrupt.requested = True
        interrupt.patient = True
        line.clear()
        batch.interrupt()
        for number in due.rest():
            view.result(number)
        view.end()
    return 130 if interrupt.requested else 0


class Due:
    """Which results are to be shown next: each as it ends, or in order as far as there is none missing."""

    def __init__(self, n: int, in_order: bool) -> None:
        self._n, self._in_order = n, in_order
        self._next = 0
        self._ended: set[int] = set()
        self._told: set[int] = set()

    def ended(self, number: int) -> None:
        """A text has."""
        self._ended.add(number)

    def now(self) -> list[int]:
        """Those that are due, and are told by this."""
        if self._in_order:
            found = []
            while self._next in self._ended:
                found.append(self._next)
                self._next += 1
        else:
            found = sorted(self._ended)
        self._ended -= set(found)
        self._told |= set(found)
        return found

    def rest(self) -> list[int]:
        """All that were not told yet."""
        return [number for number in range(self._n) if number not in self._told]


def tell_numbers(batch: Batch, options: Options) -> None:
    """The footer, if stderr is a terminal; else seeds that nobody chose, which replay the texts."""
    greedy = batch.runs[0].written.params.greedy
    if is_terminal(sys.stderr):
        from glasscli.cli.commands.generate.footer import show_batch_footer

        show_batch_footer(batch, options)
    elif options.seed is None and not greedy:
        note(f"seed {batch.runs[0].seed}, and one more for each {'line' if options.samples is None else 'text'}")
    if cut := cut_words(batch.runs, options.max_new_tokens is None):
        note(cut)


def notes(batch: Batch, made: list[Asked], options: Options) -> list[str]:
    """What should be known before the texts."""
    one = options.samples is not None
    cut = [(i + 1, run.prompt.n_dropped) for i, run in enumerate(batch.runs[:1] if one else batch.runs)]
    said = [f"prompt{'' if one else f' {i}'}: its oldest {n:,} tokens were cut" for i, n in cut if n]
    if one and len(batch.runs) > 1 and batch.runs[0].written.params.greedy:
        said.append("greedy texts of one prompt are all the same: give a --temperature above 0")
    removed = [without_words(batch.loaded.removed)] if batch.loaded.removed else []
    return [*batch.loaded.notes, *removed, *asked_notes(options, batch.loaded, made[:1] if one else made), *said]


def view_of(batch: Batch, made: list[Asked], options: Options) -> BatchView:
    """What shows the texts."""
    if options.as_csv:
        return BatchCsvView(batch)
    if options.for_machines:
        return (BatchJsonView if options.as_json else BatchJsonlView)(batch, made, options)
    return BatchTextView(batch, made, options)
