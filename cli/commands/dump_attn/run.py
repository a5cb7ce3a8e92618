"""What `dump-attn` does once its options are checked: load, run, show or write."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from glasscli.cache.choice import FULL, CacheChoice
from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.ablated import ablated, without_words
from glasscli.cli.cache_option import check_fits
from glasscli.cli.commands.dump_attn.deliver import deliver
from glasscli.cli.commands.dump_attn.figures import DOT
from glasscli.cli.commands.dump_attn.options import Options
from glasscli.cli.commands.dump_attn.pick import pick_heads, pick_layers, pick_rows
from glasscli.cli.console import note, write_json
from glasscli.cli.models import load
from glasscli.cli.output_file import spare_files
from glasscli.cli.prompt_notes import prompt_notes
from glasscli.cli.prompt_text import given_text, is_typed
from glasscli.errors import CheckpointError, UsageError
from glasscli.export import check_export, export_dump
from glasscli.export.document import check_json_size, document
from glasscli.generation.prompts import ContextError, Overflow, read_prompt
from glasscli.inspect.cache_change import beside
from glasscli.inspect.dump import Dump, SizeError, dump_attention, dump_decode, take_rows
from glasscli.inspect.steps import check_step, find_step, steps_of
from glasscli.inspect.stream_steps import OUTSIDE
from glasscli.quality.merged import with_merged_heads

NUMBERS = re.compile(r"\s*(\d+([,:]\d+)*|last)\s*")  # what selectors look like
DEMO = "The cat saw the dog. The cat"  # a repeat, so that dup and induct have something to measure


def run_dump(options: Options) -> None:
    """Do what was asked."""
    if options.output is not None:
        check_export(options.output, options.names)
    for step in options.steps:
        if step != "jacobian":
            find_step(step)
    loaded = load(options.model, quiet=options.quiet, any_numbers=True)  # a layer that is sound can be looked at
    check_fits(loaded, options.choice)
    for step in options.steps:
        if step != "jacobian":
            check_step(step, loaded.config)
    if options.output is not None:
        spare_files(options.output, loaded.checkpoint.files(), "a part of the model")
    text = given_text(options.prompt, options.file, DEMO)
    ids = read(options, loaded, text)
    loaded = ablated(loaded, options.ablate, lambda: ids)
    if options.heads:
        show_census(options, loaded, text, ids)
        return
    if options.overview:
        from glasscli.cli.commands.dump_attn.overview_screen import show_overview

        show_overview(options, loaded, text, ids)
        return
    if options.jacobian and options.rows is None and not options.decode:
        options = replace(options, rows="last")
    layers = pick_layers(options.layer, options.every_layer, loaded.config)
    steps = tuple(step for step in options.steps if step != "jacobian")
    for wanted in steps or (None,):
        pick_heads(options.head, wanted, loaded.config)
    new_ids = write_on(options, loaded, ids)
    try:
        if options.as_json and options.view in (None, "--cache"):
            rows = pick_rows(options.rows, len(ids) - 1 if options.decode else 0, len(ids))
            every = (steps or tuple(steps_of(loaded.config))) * (1 if options.cache is None else 2)
            check_json_size(loaded.config, rows[1] - rows[0], rows[1], len(layers), every)
        dump = make_dump(options, loaded, text, ids, layers, new_ids)
        finish(options, loaded, dump, steps)
    except SizeError as error:
        raise UsageError(f"{error}.\n{way_out(options)}") from None


def read(options: Options, loaded: LoadedModel, text: str) -> list[int]:
    """The prompt's tokens. Says what the folder and the prompt's length call for, on stderr."""
    try:
        prompt = read_prompt(loaded, text, Overflow(options.overflow.value), options.special)
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest tokens") from None
    if not options.quiet:
        typed = is_typed(options.prompt)
        for remark in [*loaded.notes, *prompt_notes(loaded.tokenizer, [text], special=options.special, typed=typed)]:
            note(remark)
        if typed and NUMBERS.fullmatch(text):
            note(f"the text that is read is {text.strip()}. To pick a head or a layer: --head, --layer")
        if prompt.n_dropped:
            note(f"the oldest {prompt.n_dropped:,} tokens of the prompt were cut, {len(prompt.token_ids):,} are left")
    return list(prompt.token_ids)


def write_on(options: Options, loaded: LoadedModel, ids: Sequence[int]) -> list[int]:
    """The tokens that `--new` asks for: greedy, or drawn with a seed as `generate` draws them."""
    if not options.n_new:
        return []
    from glasscli.generation.loop import generate
    from glasscli.generation.sampling import SamplingParams

    params = SamplingParams(temperature=0.0) if options.seed is None else SamplingParams.of(loaded.defaults)
    written = generate(loaded, ids, params=params, max_new_tokens=options.n_new, seed=options.seed or 0)
    new_ids = [step.token_id for step in written]
    if not new_ids:
        raise UsageError("there is no room for a new token: the prompt fills the context.")
    if len(new_ids) < options.n_new and not options.quiet:
        note(f"the text ended after {len(new_ids)} of {options.n_new} tokens ({written.finish_reason})")
    return new_ids


def make_dump(
    options: Options, loaded: LoadedModel, text: str, ids: Sequence[int], layers: Sequence[int], new_ids: Sequence[int]
) -> Dump:
    """Run the prompt, its last step, or the steps of new tokens; with another cache too, if one is asked for."""
    outside = [step for step in options.steps if step in OUTSIDE]

    def run(model: LoadedModel, choice: CacheChoice) -> Dump:
        if not (options.decode or new_ids):
            rows = pick_rows(options.rows, 0, len(ids))
            return dump_attention(model, ids, layers, rows=rows, choice=choice, outside=outside)
        dump = dump_decode(model, ids, layers, new_ids, choice=choice, outside=outside)
        if options.rows is None:
            return dump
        return take_rows(dump, *pick_rows(options.rows, dump.start, len(dump.tokens)))

    dump = run(loaded, FULL)
    if options.cache is not None:
        dump = beside(run(with_merged_heads(loaded, options.choice), options.choice), dump, options.choice)
    return replace(dump, prompt=text)


def finish(options: Options, loaded: LoadedModel, dump: Dump, steps: Sequence[str]) -> None:
    """Print JSON, write the file, or show the screens."""
    if options.view not in (None, "--cache") and (options.as_json or options.output is not None):
        from glasscli.cli.commands.dump_attn.documents import view_document

        deliver(options, view_document(options, with_hash(loaded, dump)))
    elif options.as_json:
        every = steps or tuple(steps_of(loaded.config))
        write_json(document(with_hash(loaded, dump), every, options.names), indent=None)
    elif options.output is not None:
        if options.as_page:
            dump = read_as_far(options, loaded, dump)
        size = export_dump(with_hash(loaded, dump), options.output, steps=steps or None, names=options.names)
        if not options.quiet:
            note(wrote(options.output, size, dump))
    else:
        from glasscli.cli.commands.dump_attn.show import show

        show(options, loaded, dump, steps)


def read_as_far(options: Options, loaded: LoadedModel, dump: Dump) -> Dump:
    """The dump with what its layers would say; as it is where the model's weights allow no prediction."""
    from glasscli.inspect.reading import with_reading

    try:
        return with_reading(loaded, dump)
    except CheckpointError as error:
        if not options.quiet:
            note(f"the page holds attention only: {error}")
        return dump


def show_census(options: Options, loaded: LoadedModel, text: str, ids: Sequence[int]) -> None:
    """All heads, as a table or as JSON."""
    from glasscli.inspect.head_roles import head_census

    try:
        census = head_census(loaded, ids)
    except SizeError as error:
        raise UsageError(f"{error}.\nGive a shorter text.") from None
    if options.as_json or options.output is not None:
        from glasscli.cli.commands.dump_attn.documents import census_document
        from glasscli.export.arrays import describe_model

        hashed = loaded.checkpoint.weights_hash()
        model = describe_model(loaded.checkpoint.name, loaded.config, hashed, loaded.removed)
        deliver(options, census_document(census, model, text))
        return
    from glasscli.cli.commands.dump_attn.heads_screen import heads_screen
    from glasscli.cli.commands.dump_attn.layer_screen import text_lines
    from glasscli.cli.page.page import Page

    page = Page.of_stdout(options.color, DOT)
    lines = text_lines(page, text, len(ids), options.demo)
    lines += page.say(without_words(loaded.removed)) if loaded.removed else []
    page.show([*lines, *heads_screen(page, census)])


def with_hash(loaded: LoadedModel, dump: Dump) -> Dump:
    """The dump, with what identifies the weights it came from."""
    return replace(dump, weights_hash=loaded.checkpoint.weights_hash())


def wrote(path: Path, size: int, dump: Dump) -> str:
    """What to say of a file that was written."""
    from glasscli.units import format_bytes

    layers = ", ".join(str(trace.layer) for trace in dump.layers)
    return (
        f"wrote {path}: {format_bytes(size)}, layer{'s' * (len(dump.layers) > 1)} {layers}, {len(dump.tokens)} tokens"
    )


def way_out(options: Options) -> str:
    """What to do about a dump that is too large, in options."""
    json_of_steps = options.as_json and options.view is None
    fewer = {
        "--rows last": options.rows is None,
        "one --layer": options.every_layer,
        "one --step": not options.steps and (json_of_steps or options.output is not None),
        "an earlier row with --rows": options.jacobian,
    }
    as_text = json_of_steps or (options.output is not None and options.output.suffix in (".json", ".csv"))
    ways = [*(["-o FILE.npz"] if as_text else []), *(way for way, helps in fewer.items() if helps)]
    return f"Try {', or '.join(ways)}." if ways else "Give a shorter text."
