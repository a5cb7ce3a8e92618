"""`glass generate --prompts FILE`: several prompts, decoded together, told in order."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glasscli.cli.console import is_terminal, note
from glasscli.cli.interrupts import watch_interrupts
from glasscli.cli.prompt_text import prompt_lines
from glasscli.errors import UsageError
from glasscli.generation.prompts import ContextError

if TYPE_CHECKING:
    from glasscli.cli.commands.generate.batch_view import BatchJsonlView, BatchJsonView, BatchTextView
    from glasscli.cli.commands.generate.single import Look
    from glasscli.generation.batch import Batch


def run_batch(folder: Path | None, path: str, options: dict[str, Any], look: "Look") -> int:
    """Continue every line of a file; the exit code."""
    settings = {key: value for key, value in options.items() if key != "use_cache"}
    if not options["use_cache"]:
        raise UsageError("--no-cache is for one prompt: a batch is decoded through one cache")
    prompts = prompt_lines(path)
    from glasscli.checkpoint.load import load_model
    from glasscli.generation.batch import generate_batch

    loaded = load_model(folder)
    try:
        batch = generate_batch(loaded, prompts, **settings)
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest") from None
    if not look.quiet:
        for text in notes(batch):
            note(text)
    code = write(batch, _view(batch, prompts, settings, look))
    if not (look.quiet or look.for_machines):
        if is_terminal(sys.stderr):
            from glasscli.cli.commands.generate.footer import show_batch_footer

            show_batch_footer(batch, look.color)
        elif settings["seed"] is None and not settings["params"].greedy:
            note(f"seed {batch.runs[0].seed}, and one more for each line")
    return code


def write(batch: "Batch", view: "BatchTextView | BatchJsonView | BatchJsonlView") -> int:
    """Run all to their end or to Ctrl-C; each text is shown once it and all before it are done. The exit code."""
    shown = 0
    with watch_interrupts() as interrupt:
        try:
            for number, step in batch:
                interrupt.patient = True
                view.step(number, step)
                while shown < len(batch.runs) and batch.runs[shown].finish_reason is not None:
                    view.result(shown)
                    shown += 1
                if interrupt.requested:
                    break
        except KeyboardInterrupt:
            interrupt.requested = True
        interrupt.patient = True
        batch.interrupt()
        for number in range(shown, len(batch.runs)):
            view.result(number)
        view.end()
    return 130 if interrupt.requested else 0


def notes(batch: "Batch") -> list[str]:
    """What should be known before the texts."""
    cut = [(i + 1, run.prompt.n_dropped) for i, run in enumerate(batch.runs) if run.prompt.n_dropped]
    said = [f"prompt {number}: its oldest {dropped:,} tokens were cut" for number, dropped in cut]
    return [*batch.loaded.notes, *said]


def _view(
    batch: "Batch", prompts: list[str], settings: dict[str, Any], look: "Look"
) -> "BatchTextView | BatchJsonView | BatchJsonlView":
    from glasscli.cli.commands.generate.batch_view import BatchJsonlView, BatchJsonView, BatchTextView

    if look.for_machines:
        return (BatchJsonView if look.as_json else BatchJsonlView)(batch, prompts, settings)
    return BatchTextView(batch, prompts, look.color, look.echo is not False)
