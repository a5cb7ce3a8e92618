"""Which screen of `dump-attn` shows a dump, and what to try next."""

from collections.abc import Sequence

from glasscli.cache.choice import FULL
from glasscli.checkpoint.load import LoadedModel
from glasscli.cli.commands.dump_attn.cache_screen import cache_screen
from glasscli.cli.commands.dump_attn.cell_screen import cell_screen
from glasscli.cli.commands.dump_attn.decode_screen import chosen_table, decode_screen
from glasscli.cli.commands.dump_attn.figures import DOT
from glasscli.cli.commands.dump_attn.heads_screen import explain_screen
from glasscli.cli.commands.dump_attn.layer_screen import head_screen, header, layer_maps, layer_screen, prompt_lines
from glasscli.cli.commands.dump_attn.mask_screen import mask_numbers
from glasscli.cli.commands.dump_attn.numbers import step_numbers
from glasscli.cli.commands.dump_attn.options import Options
from glasscli.cli.commands.dump_attn.outside_screen import show_outside
from glasscli.cli.commands.dump_attn.pick import pick_cell, pick_heads, pick_jacobian_heads
from glasscli.cli.commands.dump_attn.weighted_screen import weighted_screen
from glasscli.cli.commands.dump_attn.whatif_screen import blocked_screen, jacobian_screen, what_if_screen
from glasscli.cli.page.cells import join_fitting
from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.style import DIM
from glasscli.inspect.cache_change import held_bytes
from glasscli.inspect.dump import Dump, SizeError, check_size, dump_attention
from glasscli.inspect.stream_steps import OUTSIDE
from glasscli.inspect.trace import LayerTrace


def show(options: Options, loaded: LoadedModel, dump: Dump, steps: Sequence[str]) -> None:
    """Print the screen that was asked for, one layer after another."""
    page = Page.of_stdout(options.color, DOT)
    demo = options.demo
    if options.blocked:
        page.show([*prompt_lines(page, dump, demo), *blocked_screen(page, dump, dump.layers)])
        return
    inside = [name for name in steps if name not in OUTSIDE]
    if len(inside) < len(steps) and options.view is None:
        show_outside(page, dump, loaded, demo)
        if not inside:
            return
        steps = inside
        page.show([[]])
    prefill = (
        _prefill(loaded, dump) if dump.mode == "decode" and options.view in (None, "--explain") and not steps else {}
    )
    for i, trace in enumerate(dump.layers):
        lines: list[Line] = [[]] if i else []
        lines += _layer(page, options, loaded, dump, trace, steps, prefill.get(trace.layer))
        page.show([*lines, *(explain_screen(page, dump, trace) if options.explain else [])])
    if page.terminal and not options.quiet:
        page.show([[], [(hint(page, options, dump), DIM)]])


def _layer(
    page: Page,
    options: Options,
    loaded: LoadedModel,
    dump: Dump,
    trace: LayerTrace,
    steps: Sequence[str],
    prefill: LayerTrace | None,
) -> list[Line]:
    config, demo = dump.config, options.demo
    lines: list[Line] = []
    if steps and options.view is None:
        for name in steps:
            heads = pick_heads(options.head, name, config)
            lines += [[]] if lines else [*header(page, dump, trace, (), demo), []]
            if name == "mask":
                lines += mask_numbers(page, dump, trace, heads)
            else:
                lines += step_numbers(page, dump, trace, name, heads)
        return lines
    heads = pick_heads(options.head, None, config)
    if options.jacobian:
        lines = prompt_lines(page, dump, demo)
        for i, head in enumerate(pick_jacobian_heads(options.head, config)):
            lines += [*([[]] if i else []), *jacobian_screen(page, dump, trace, head)]
        return lines
    if options.what_if:
        top = header(page, dump, trace, heads, demo, f"what if: {options.what_if}")
        return [*top, [], *what_if_screen(page, dump, trace, options.what_if, heads, options.log)]
    if options.weighted:
        return weighted_screen(page, dump, trace, heads, log=options.log, demo=demo)
    if options.cell is not None:
        screens = (cell_screen(page, dump, trace, head, pick_cell(options.cell), demo) for head in heads)
        return [line for i, lines in enumerate(screens) for line in ([[], *lines] if i else lines)]
    if options.cache is not None:
        full_bytes = held_bytes(loaded.config, FULL, len(dump.tokens))
        return cache_screen(page, dump, trace, heads, full_bytes=full_bytes, log=options.log, demo=demo)
    if dump.n_queries == 1 and (dump.mode == "decode" or options.rows is not None):
        return decode_screen(page, dump, trace, heads, prefill, demo)
    if dump.chosen:
        top = header(page, dump, trace, heads, demo)
        maps = layer_maps(page, dump, trace, heads, options.log)
        return [*top, [], *maps, [], *chosen_table(page, dump, trace, heads)]
    if len(heads) == 1 and config.n_heads > 1:
        return head_screen(page, dump, trace, heads[0], options.log, demo)
    return layer_screen(page, dump, trace, heads, log=options.log, demo=demo)


def _prefill(loaded: LoadedModel, dump: Dump) -> dict[int, LayerTrace]:
    """The same layers from one prefill of all tokens, or nothing where that would be too large."""
    n_tokens = len(dump.tokens)
    try:
        check_size(loaded.config, n_tokens, n_tokens, len(dump.layers))
    except SizeError:
        return {}
    whole = dump_attention(loaded, dump.token_ids, [trace.layer for trace in dump.layers])
    return {trace.layer: trace for trace in whole.layers}


def hint(page: Page, options: Options, dump: Dump) -> str:
    """One line of what to try next: things not asked for this time, as many as fit."""
    ideas = [
        ("--head 1 (numbers)", options.head is None),
        ("--step scores", not options.steps),
        ("--weighted", not options.weighted),
        ("--decode (from the cache)", dump.mode == "prefill"),
        ("-o page.html (all layers)", True),
        ("--explain", not options.explain),
        ("--heads", True),
    ]
    return join_fitting(" try", (text for text, fits in ideas if fits), page.width)
