"""The mask as what is added to scores, and the sums that softmax reads: M, and S + M of each head."""

from collections.abc import Sequence

import numpy as np

from glasscli.cli.commands.dump_attn.numbers import matrix
from glasscli.cli.page.page import Line, Page
from glasscli.cli.page.style import DIM, HEAD, tint
from glasscli.inspect.dump import Dump
from glasscli.inspect.steps import layer_steps
from glasscli.inspect.trace import LayerTrace

LEGEND = (
    "0: may look, the score stays as it is. −∞: hidden, and softmax makes a weight of 0 of it. Files and JSON say true "
    "and false instead."
)


def mask_numbers(page: Page, dump: Dump, trace: LayerTrace, heads: Sequence[int]) -> list[Line]:
    """M with its legend, then S + M of `heads`: nothing but these sums reaches softmax."""
    shape = " × ".join(str(n) for n in trace.mask_TS.shape)
    step = layer_steps(dump.config, trace.layer)["mask"]
    labels = [page.label(token.raw) for token in dump.tokens]
    rows = [(trace.start + i, labels[trace.start + i]) for i in range(len(trace.mask_TS))]
    lines = page.wrap(f"mask = {step.equation(dump.config)} · {shape} (query, key)", "  ", HEAD, first="")
    lines += page.wrap(LEGEND, "  ", DIM, first="")
    added = np.where(trace.mask_TS, np.float32(0), np.float32(-np.inf))
    lines += [[], *matrix(page, rows, added, labels, ~trace.mask_TS, digits=0, blank=False)]
    what = "softcap" if trace.softcap_HTS is not None else "scores"
    lines += [[], *page.wrap(f"S + M: {what} + mask, what softmax reads", "  ", HEAD, first="")]
    for head in heads:
        kv_head, seen = head // dump.config.group_size, trace.seen[head]
        sums = np.where(seen, trace.last_scores[head], np.float32(-np.inf))
        lines += [[], [(page.safe(f"head {head} · kv {kv_head}"), tint(kv_head))]]
        lines += matrix(page, rows, sums, labels, ~seen, blank=False)
    return lines
