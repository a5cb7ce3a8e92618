"""Which heads of the shipped model do what, by the probes: tests that show its circuit hold for other weights, too."""

from functools import cache

from glasscli.checkpoint.load import load_model
from glasscli.inspect.ablation import Part
from glasscli.inspect.probes import probe_heads, repeat_probes


@cache
def previous_head() -> Part:
    """The head that looks most at the token before."""
    return _best("prev")


@cache
def copying_head() -> Part:
    """The head that looks most at what followed last time."""
    return _best("induct")


def _best(measure: str) -> Part:
    loaded = load_model()
    probed = probe_heads(loaded, repeat_probes(loaded))
    found = {Part(i, h): getattr(one.mean, measure) for i, row in enumerate(probed) for h, one in enumerate(row)}
    return max(found, key=lambda head: found[head])
