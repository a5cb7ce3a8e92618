"""What to say of texts that did not come to their own end."""

from collections.abc import Sequence

from glasscli.generation.loop import Generation


def cut_words(runs: Sequence[Generation], by_default: bool) -> str:
    """Which were cut, and what to do about it; nothing if none was.

    Args:
        by_default: nobody asked for a length, so that one that was reached is told, too.
    """
    full = [run for run in runs if run.finish_reason == "context"]
    long = [run for run in runs if run.finish_reason == "length"] if by_default else []
    said = []
    if long:
        n = len(long[0].token_ids)
        said.append(f"{_which(long, runs)} cut after {n:,} tokens: -n {4 * n} allows more")
    if full:
        context = full[0].loaded.config.max_seq_len
        said.append(f"{_which(full, runs)} cut where the context of {context:,} tokens is full")
    return "\n".join(said)


def _which(some: Sequence[Generation], of: Sequence[Generation]) -> str:
    if len(of) == 1:
        return "the text was"
    return f"{len(some):,} of {len(of):,} texts {'was' if len(some) == 1 else 'were'}"
