"""The line of numbers below a text, on stderr: how much, why it ended, how fast, how surprising."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from glasscli.cache.choice import CacheChoice
from glasscli.cli.commands.generate.options import Options
from glasscli.cli.console import Color, printable
from glasscli.cli.page.cells import cells, join_fitting
from glasscli.cli.page.page import Page
from glasscli.cli.page.scale import surprise_legend
from glasscli.cli.page.style import DIM, paint
from glasscli.cli.page.wrap import fill
from glasscli.generation.loop import Generation

if TYPE_CHECKING:
    from glasscli.generation.batch import Batch
    from glasscli.generation.sampling import SamplingParams

DOT = "|"  # what stands for a middle dot without Unicode: here it parts items


def footer_lines(items: list[str], width: int) -> list[str]:
    """`items` in as many lines of `width` columns as they need; a single one is ruled to its end."""
    lines = fill(_pieces(items, width - 3), width, "── ", "   ", whole=True)
    used = cells(lines[0])
    if len(lines) == 1 and used + 2 < width:
        lines[0] += " " + "─" * (width - used - 1)
    return lines


def _pieces(items: list[str], room: int) -> Iterator[tuple[str, str]]:
    """The items, those wider than a line in parts where they have commas, with what joins each."""
    for item in items:
        parts = item.split(", ") if cells(item) > room else [item]
        for i, part in enumerate(parts):
            yield " " if i else " · ", part + "," * (i < len(parts) - 1)


def footer_items(run: Generation) -> list[str]:
    """What there is to say of `run`, most wanted first."""
    written, n = run.written, len(run.token_ids)
    items = [f"{n:,} token{'s' * (n != 1)}", reason(run), f"seed {run.seed}", sampler_words(run.written.params)]
    if run.prefill_s:
        items.append(f"prompt {len(run.prompt.token_ids):,} tok {1000 * run.prefill_s:,.1f} ms")
    if run.decode_s:
        items.append(f"{(n - 1) / run.decode_s:,.0f} tok/s")
    if run.cache is not None:
        items.append(f"KV {_kind(run.choice)}{sizes(run.cache.used_bytes, run.cache.nbytes)}")
    if run.n_slid:
        items.append(f"{run.n_slid:,} tok slid out")
    if written.perplexity is not None:
        items.append(f"perplexity {written.perplexity:.1f}")
    return items


def sampler_words(params: "SamplingParams") -> str:
    """The sampler's settings that do something, in the order in which they do it."""
    said = biases(params)
    said += [] if params.repetition_penalty == 1 else [f"repeat {params.repetition_penalty:g}"]
    said += counted(params)
    if params.greedy:
        return ", ".join([*said, "greedy"])
    said.append(f"temp {params.temperature:g}")
    said += [f"top-k {params.top_k}"] if params.top_k else []
    said += [f"top-p {params.top_p:g}"] if params.top_p < 1 else []
    said += [f"min-p {params.min_p:g}"] if params.min_p else []
    return ", ".join(said)


def biases(params: "SamplingParams") -> list[str]:
    """How many tokens have a bias, if any has."""
    n = len(params.logit_bias)
    return [f"{n} bias{'es' * (n > 1)}"] if n else []


def counted(params: "SamplingParams") -> list[str]:
    """The penalties by count that are on."""
    said = [f"frequency {params.frequency_penalty:g}"] if params.frequency_penalty else []
    return [*said, *([f"presence {params.presence_penalty:g}"] if params.presence_penalty else [])]


def reason(run: Generation) -> str:
    """Why the text ended, in words."""
    n = len(run.token_ids)
    if run.written.stop_token is not None:
        return f"stopped at {printable(run.loaded.tokenizer.label(run.written.stop_token))}"
    if run.finish_reason == "stop":
        return f"stopped before {printable(run.written.stop_string or '')!r}"
    words = {
        "eos": "end of text",
        "length": f"stopped at -n {n}",
        "context": f"context of {run.loaded.config.max_seq_len:,} full",
        "interrupted": "interrupted",
    }
    return words.get(run.finish_reason or "", "unfinished")


def hints(run: Generation, shows_probs: bool) -> list[str]:
    """What to try next."""
    probs = [] if shows_probs else ["--show probs (every choice)"]
    if run.finish_reason == "context":
        return ["--overflow slide (write on past the context)", *probs]
    if run.finish_reason == "length":
        again = "--temperature 0.8 (draw)" if run.written.params.greedy else "--temperature 0"
        return [f"-n {max(1, 4 * len(run.token_ids))}", *probs, again]
    again = "--temperature 0.8 (draw)" if run.written.params.greedy else f"--seed {run.seed + 1}"
    return [again, *probs, "--json"]


def show_footer(run: Generation, color: Color, *, tinted: bool, try_next: Sequence[str] = ()) -> None:
    """Write the footer to stderr, and a line of hints."""
    page = Page.of_stderr(color, DOT)
    lines = footer_lines(footer_items(run), page.width)
    if try_next:
        lines.append(join_fitting("   try", try_next, page.width))
    if tinted and page.colored:
        page.write(paint(surprise_legend(page.unicode, page.width), DIM))
    page.show([(line, DIM)] for line in lines)


def show_batch_footer(batch: "Batch", options: Options) -> None:
    """The same for several prompts, or samples of one."""
    n = sum(len(run.token_ids) for run in batch.runs)
    first, last = batch.runs[0], batch.runs[-1]
    items = [f"{len(batch.runs):,} {'prompts' if options.samples is None else 'samples'}", f"{n:,} tokens"]
    items.append(f"seed {first.seed}" if first is last else f"seeds {first.seed} to {last.seed}")
    items.append(sampler_words(first.written.params))
    items.append(f"{'prompts' if options.samples is None else 'prompt'} {1000 * batch.prefill_s:,.1f} ms")
    if batch.decode_s:
        items.append(f"{batch.n_decoded / batch.decode_s:,.0f} tok/s together")
    items.append(f"KV {_kind(batch.choice)}{sizes(batch.kv_bytes)}")
    page = Page.of_stderr(options.color, DOT)
    page.show([(line, DIM)] for line in footer_lines(items, page.width))


def _kind(choice: CacheChoice) -> str:
    return "" if choice.is_full else f"{choice.text} "


def sizes(*n_bytes: int) -> str:
    """Bytes for people, all in the binary unit that fits the last: `18 of 404 KiB`."""
    units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
    unit, name = next(((unit, name) for unit, name in units if n_bytes[-1] >= 2 * unit), (1, "B"))
    return f"{' of '.join(_short(n / unit) for n in n_bytes)} {name}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
