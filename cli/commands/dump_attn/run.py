"""What `dump-attn` does once its options are checked: load, run, show or write."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from glasscli.checkpoint.load import LoadedModel, load_model
from glasscli.cli.commands.dump_attn.figures import DOT
from glasscli.cli.commands.dump_attn.options import Ask
from glasscli.cli.commands.dump_attn.pick import pick_heads, pick_layers, pick_rows
from glasscli.cli.console import note, write_json
from glasscli.cli.prompt_text import prompt_text
from glasscli.errors import UsageError
from glasscli.export import check_export, export_dump
from glasscli.export.document import check_json_size, document
from glasscli.generation.prompts import ContextError, Overflow, read_prompt
from glasscli.inspect.dump import Dump, SizeError, dump_attention, dump_decode, take_rows
from glasscli.inspect.steps import check_step, find_step, steps_of

DEMO = "The cat saw the dog. The cat"  # a repeat, so that dup and induct have something to measure


def run(ask: Ask) -> None:
    """Do what was asked."""
    if ask.output is not None:
        check_export(ask.output, ask.names)
    for step in ask.steps:
        if step != "jacobian":
            find_step(step)
    loaded = load_model(ask.model)
    for step in ask.steps:
        if step != "jacobian":
            check_step(step, loaded.config)
    if ask.output is not None:
        spare_model(ask.output, loaded.folder)
    text = DEMO if ask.prompt is None else prompt_text(ask.prompt)
    ids = read(ask, loaded, text)
    if ask.heads:
        show_census(ask, loaded, text, ids)
        return
    if ask.jacobian and ask.rows is None and not ask.decode:
        ask = replace(ask, rows="last")
    layers = pick_layers(ask.layer, ask.all_layers, loaded.config)
    steps = tuple(step for step in ask.steps if step != "jacobian")
    for wanted in steps or (None,):
        pick_heads(ask.head, wanted, loaded.config)
    new_ids = write_on(ask, loaded, ids)
    try:
        if ask.as_json and ask.view is None:
            rows = pick_rows(ask.rows, len(ids) - 1 if ask.decode else 0, len(ids))
            every = steps or tuple(steps_of(loaded.config))
            check_json_size(loaded.config, rows[1] - rows[0], rows[1], len(layers), every)
        dump = make_dump(ask, loaded, text, ids, layers, new_ids)
        finish(ask, loaded, dump, steps)
    except SizeError as error:
        raise UsageError(f"{error}.\n{way_out(ask)}") from None


def spare_model(output: Path, folder: Path) -> None:
    """Refuse to replace a file of the model that is being looked into."""
    from glasscli.checkpoint.checkpoint import open_checkpoint

    if output.exists() and any(output.samefile(file) for file in open_checkpoint(folder).files()):
        raise UsageError(f"-o {output}: this file is a part of the model. Name another.")


def read(ask: Ask, loaded: LoadedModel, text: str) -> list[int]:
    """The prompt's tokens. Says what the folder and the prompt's length call for, on stderr."""
    try:
        prompt = read_prompt(loaded, text, Overflow(ask.overflow), ask.special)
    except ContextError as error:
        raise UsageError(f"{error}.\n--overflow left cuts the oldest tokens") from None
    if not ask.quiet:
        for remark in loaded.notes:
            note(remark)
        if prompt.n_dropped:
            note(f"the oldest {prompt.n_dropped:,} tokens of the prompt were cut, {len(prompt.token_ids):,} are left")
    return list(prompt.token_ids)


def write_on(ask: Ask, loaded: LoadedModel, ids: Sequence[int]) -> list[int]:
    """The tokens that `--new` asks for: greedy, or drawn with a seed as `generate` draws them."""
    if not ask.n_new:
        return []
    from glasscli.generation.loop import generate
    from glasscli.generation.sampling import SamplingParams

    params = SamplingParams(temperature=0.0) if ask.seed is None else SamplingParams()
    written = generate(loaded, ids, params=params, max_new_tokens=ask.n_new, seed=ask.seed or 0)
    new_ids = [step.token_id for step in written]
    if not new_ids:
        raise UsageError("there is no room for a new token: the prompt fills the context.")
    if len(new_ids) < ask.n_new and not ask.quiet:
        note(f"the text ended after {len(new_ids)} of {ask.n_new} tokens ({written.finish_reason})")
    return new_ids


def make_dump(
    ask: Ask, loaded: LoadedModel, text: str, ids: Sequence[int], layers: Sequence[int], new_ids: Sequence[int]
) -> Dump:
    """Run the prompt, its last step, or the steps of new tokens."""
    if ask.decode or new_ids:
        dump = dump_decode(loaded, ids, layers, new_ids)
        if ask.rows is not None:
            dump = take_rows(dump, *pick_rows(ask.rows, dump.start, len(dump.tokens)))
    else:
        dump = dump_attention(loaded, ids, layers, rows=pick_rows(ask.rows, 0, len(ids)))
    return replace(dump, prompt=text)


def finish(ask: Ask, loaded: LoadedModel, dump: Dump, steps: Sequence[str]) -> None:
    """Print JSON, write the file, or show the screens."""
    if ask.view is not None and ask.as_json:
        from glasscli.cli.commands.dump_attn.documents import view_document

        write_json(view_document(ask, with_hash(loaded, dump)), indent=None)
    elif ask.as_json:
        write_json(document(with_hash(loaded, dump), steps or tuple(steps_of(loaded.config)), ask.names), indent=None)
    elif ask.output is not None:
        size = export_dump(with_hash(loaded, dump), ask.output, steps=steps or None, names=ask.names)
        if not ask.quiet:
            note(wrote(ask.output, size, dump))
    else:
        from glasscli.cli.commands.dump_attn.show import show

        show(ask, loaded, dump, steps)


def show_census(ask: Ask, loaded: LoadedModel, text: str, ids: Sequence[int]) -> None:
    """All heads, as a table or as JSON."""
    from glasscli.inspect.head_roles import head_census

    try:
        census = head_census(loaded, ids)
    except SizeError as error:
        raise UsageError(f"{error}.\nGive a shorter text.") from None
    if ask.as_json:
        from glasscli.cli.commands.dump_attn.documents import census_document
        from glasscli.export.arrays import describe_model

        model = describe_model(loaded.checkpoint.name, loaded.config, loaded.checkpoint.weights_hash())
        write_json(census_document(census, model, text), indent=None)
        return
    from glasscli.cli.commands.dump_attn.heads_screen import heads_screen
    from glasscli.cli.commands.dump_attn.layer_screen import text_lines
    from glasscli.cli.page.page import Page

    page = Page.of_stdout(ask.color, DOT)
    page.show([*text_lines(page, text, len(ids), ask.prompt is None), *heads_screen(page, census)])


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


def way_out(ask: Ask) -> str:
    """What to do about a dump that is too large, in options."""
    fewer: list[Any] = ["--rows last" if ask.rows is None else None, "one --layer" if ask.all_layers else None]
    fewer.append("one --step" if not ask.steps and (ask.as_json or ask.output) and ask.view is None else None)
    fewer.append("an earlier row with --rows" if ask.jacobian else None)
    binary = (ask.as_json and ask.view is None) or (ask.output is not None and ask.output.suffix in (".json", ".csv"))
    ways = (["-o FILE.npz"] if binary else []) + [way for way in fewer if way]
    return f"Try {', or '.join(ways)}." if ways else "Give a shorter text."
