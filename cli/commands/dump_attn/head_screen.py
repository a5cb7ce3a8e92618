"""One head, large: its map, its weights as numbers where they fit, and its measures."""

from glasscli.cli.commands.dump_attn.figures import bits, percent, share
from glasscli.cli.commands.dump_attn.layer_screen import header, layer_maps
from glasscli.cli.commands.dump_attn.measures import measure_table
from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.page import Line, Page
from glasscli.inspect.dump import Dump
from glasscli.inspect.trace import LayerTrace

MAX_NUMBERS = 24  # rows and columns of weights that are still read, not scrolled past


def head_screen(page: Page, dump: Dump, trace: LayerTrace, head: int, log: bool, demo: bool) -> list[Line]:
    """The screen of one head."""
    lines = header(page, dump, trace, [head], demo)
    lines += [[], *layer_maps(page, dump, trace, [head], log)]
    n_queries, n_keys = trace.mask_TS.shape
    if max(n_queries, n_keys) <= MAX_NUMBERS and 20 + 5 * n_keys <= page.width:
        labels = [page.label(token.raw) for token in dump.tokens]
        rows = [(dump.start + i, labels[dump.start + i]) for i in range(n_queries)]
        lines += [[], *matrix(page, rows, trace.pattern_HTS[head], labels, ~trace.mask_TS)]
    m, uniform = dump.measures(trace)[head], dump.uniform()
    if page.width >= 60:
        return [*lines, [], *measure_table(page, dump, [m], uniform)]
    lines += [
        [],
        *page.wrap(f"entropy {bits(m.entropy_bits)} ({percent(m.entropy_share)} of max)"),
    ]
    for name, value in m.as_dict().items():
        if name.startswith("entropy") or name == "reach":
            continue
        base = uniform.as_dict()[name]
        lines += page.wrap(f"{name:<7} {share(value):>4}  (uniform {share(base)})")
    return lines
