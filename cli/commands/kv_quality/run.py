"""What `kv-quality` does once its options are checked: load, try one cache after the other, show what is there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from glasscli.cache.choice import CacheChoice
from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.cache_option import check_fits
from glasscli.cli.commands.kv_quality.command import Options
from glasscli.cli.commands.kv_quality.progress import Tried
from glasscli.cli.console import note, write_json
from glasscli.cli.models import load
from glasscli.cli.prompt_text import STDIN, file_text, prompt_text
from glasscli.errors import GlassError, UsageError
from glasscli.export.target import check_target
from glasscli.quality.by import By
from glasscli.quality.parts import Part, n_parts, parts_of
from glasscli.quality.texts import documents_of, held_out_text, n_chunks, usual_chunks, usual_context
from glasscli.quality.trial import Result, Trial
from glasscli.quality.usual import usual_apart, usual_choices, usual_for_heads, usual_for_layers
from glasscli.quality.verdict import MAX_KLD, Verdict, is_untried, judge, passes

USUAL = {By.layer: usual_for_layers, By.kv: usual_apart, By.head: usual_for_heads}


@dataclass
class Found:
    """All that there is to show; it grows while caches are tried.

    Attributes:
        source: where the text is from, in words.
        n_there: chunks that the text has; those of `trial` were read.
        results: one a cache, in the order they were asked for.
        parts: of each of the first results, if parts were asked for.
        skipped: caches of the usual list that could not be tried, and why.
        interrupted: whether Ctrl-C came before all was done.
    """

    trial: Trial
    source: str
    n_there: int
    by: By | None
    limit: float | None
    results: list[Result] = field(default_factory=list)
    parts: list[list[Part]] = field(default_factory=list)
    skipped: list[tuple[CacheChoice, str]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def max_kld(self) -> float:
        """What a cache may cost."""
        return MAX_KLD if self.limit is None else self.limit

    @property
    def f16_bytes(self) -> int:
        """What a chunk takes in 16-bit floats."""
        return self.trial.chunk_bytes(CacheChoice(k="f16", v="f16"))

    @property
    def verdict(self) -> Verdict:
        """What it says together."""
        return judge(self.results, self.trial.context, self.max_kld)


def run_all(options: Options) -> int:
    """Do what was asked; the exit code."""
    if options.svg is not None:
        check_target(options.svg)
    loaded = load(options.model, quiet=options.quiet)
    if not options.quiet:
        for text in loaded.notes:
            note(text)
    for choice in options.choices or ():
        check_fits(loaded, choice, "--spec")
    with Tried(options.quiet) as progress:
        progress.say("reading the text with the full cache")
        found = open_trial(options, loaded)
        choices = options.choices or usual(options, found.trial)
        for choice in options.choices or ():
            found.trial.check(choice)
        with kept_on_interrupt(found):
            try_all(found, choices, not options.spec, progress)
    if found.results:
        show(options, found)
    if found.interrupted and not options.quiet:
        note(f"interrupted: {len(found.results):,} of {len(choices):,} caches were tried")
    return exit_code(options, found)


def open_trial(options: Options, loaded: LoadedModel) -> Found:
    """The text, cut, and the full cache's predictions of it."""
    text, source = read_text(options)
    documents = documents_of(loaded, text)
    context = options.context or usual_context(loaded, documents)
    there = n_chunks(loaded, documents, context) if context > 1 else 0
    try:
        trial = Trial(loaded, documents, context, options.n_chunks or usual_chunks(loaded, context))
    except UsageError as error:
        raise (error if options.ctx is None else UsageError(f"--ctx {options.ctx}: {error}")) from None
    return Found(trial, source, there, options.by, options.limit)


def read_text(options: Options) -> tuple[str, str]:
    """The text, and where it is from."""
    if options.file is not None:
        return file_text(options.file), "stdin" if options.file == STDIN else options.file
    if options.text is None:
        return held_out_text(), "held-out stories"
    return prompt_text(options.text), "stdin" if options.text == STDIN else "the text given"


def usual(options: Options, trial: Trial) -> list[CacheChoice]:
    """The caches that are tried if none is named."""
    make = usual_choices if options.by is None else USUAL.get(options.by, usual_choices)
    return make(trial.loaded.config, trial.context)


@contextmanager
def kept_on_interrupt(found: Found) -> Iterator[None]:
    """Ctrl-C ends the block; what was found stays."""
    try:
        yield
    except KeyboardInterrupt:
        found.interrupted = True


def try_all(found: Found, choices: Sequence[CacheChoice], usual: bool, progress: Tried) -> None:
    """One cache after the other, and its parts behind it."""
    for number, choice in enumerate(choices, 1):
        said = f"{number} of {len(choices)}  {choice.explicit_text}"
        progress.say(said)
        try:
            result = found.trial.run(choice)
        except GlassError as error:
            if not usual:
                raise
            found.skipped.append((choice, str(error)))
            continue
        found.results.append(result)
        if found.by is None:
            continue
        parts: list[Part] = []
        found.parts.append(parts)
        n = n_parts(found.trial, choice, found.by)
        for part in parts_of(found.trial, result, found.by):
            parts.append(part)
            progress.say(f"{said}  part {len(parts)} of {n}")


def show(options: Options, found: Found) -> None:
    """The page, the document or the table; the picture first, if it was asked for."""
    if options.svg is not None:
        from glasscli.export.quality_svg import write_quality_svg

        write_quality_svg(
            options.svg, found.trial.loaded.checkpoint.name, found.results, found.trial.context, found.max_kld
        )
    if options.as_json:
        from glasscli.cli.commands.kv_quality.data import document

        write_json(document(found))
    elif options.as_csv:
        from glasscli.cli.commands.kv_quality.data import show_csv

        show_csv(found)
    else:
        from glasscli.cli.commands.kv_quality.screen import quality_screen
        from glasscli.cli.page.page import Page

        page = Page.of_stdout(options.color)
        page.show(quality_screen(page, found, options))
    if not options.quiet:
        for choice, why in found.skipped:
            note(f"{choice.explicit_text} was left out: {why}")
        if options.svg is not None:
            note(f"wrote {options.svg}")


def exit_code(options: Options, found: Found) -> int:
    """130 after Ctrl-C; 1 if a limit was given and a named cache costs more, or nothing of the list passes.

    A named cache that chunks are too short for has passed no check.
    """
    if found.interrupted:
        return 130
    if found.limit is None:
        return 0
    context = found.trial.context
    over = [result for result in found.results if not passes(result, found.limit)]
    untried = [result for result in found.results if is_untried(result.choice, context)]
    if not options.spec and len(over) + len(untried) < len(found.results):
        return 0
    if over:
        costs = ", ".join(f"{result.choice.explicit_text} ({result.divergence.kld:.4f})" for result in over)
        note(f"over a KL divergence of {found.limit:g}: {costs}")
    if untried:
        names = ", ".join(result.choice.explicit_text for result in untried)
        note(f"chunks of {context:,} tokens are too short to check {names}")
    return 1 if over or untried else 0
