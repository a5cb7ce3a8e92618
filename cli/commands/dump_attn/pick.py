"""What the selectors of `dump-attn` mean for a model and a prompt: layers, heads, rows."""

from collections.abc import Sequence

from glasscli.config.model_config import ModelConfig
from glasscli.errors import UsageError
from glasscli.inspect.steps import find_step


def pick_layers(text: str | None, everything: bool, config: ModelConfig) -> list[int]:
    """`2`, `0,2`, `1:3` or `last`; the middle layer when nothing is said."""
    if everything:
        return list(range(config.n_layers))
    if text is None:
        return [config.n_layers // 2]
    return _numbers("--layer", text, config.n_layers, f"this model has layers {_span(config.n_layers)}")


def pick_heads(text: str | None, step: str | None, config: ModelConfig) -> list[int]:
    """Query heads, or key/value heads where the step has those. All when nothing is said.

    Raises:
        UsageError: there is no such head; where a key/value head is meant, it says which one a query head reads.
    """
    axes = ("head",) if step in (None, "mask") else find_step(step).axes  # the mask is shown with each head's scores
    if "head" not in axes and "kv_head" not in axes:
        if text is not None:
            raise UsageError(f"--head {text}: step {step} is the same for all heads.")
        return []
    if "head" in axes:
        n_heads = config.n_heads
        return _chosen(text, n_heads, f"this model has query heads {_span(n_heads)}")
    n_heads = config.n_kv_heads
    found = f"step {step} has {n_heads} KV head{'s' if n_heads > 1 else ''} ({_span(n_heads)})"
    wanted = text.strip() if text else ""
    if wanted.isdecimal() and n_heads <= int(wanted) < config.n_heads:
        reads = int(wanted) // config.group_size
        raise UsageError(f"--head {wanted}: {found}. Query head {wanted} reads KV head {reads}: --head {reads}.")
    return _chosen(text, n_heads, found)


def pick_jacobian_heads(text: str | None, config: ModelConfig) -> list[int]:
    """The query heads whose softmax Jacobians are shown: those asked for, else the first."""
    heads = pick_heads(text, None, config)
    return heads if text is not None else heads[:1]


def pick_cell(text: str) -> tuple[int, int]:
    """`8,5`: the positions of a query and a key.

    Raises:
        UsageError: it is something else.
    """
    query, comma, key = (part.strip() for part in text.partition(","))
    if not (comma and query.isdecimal() and key.isdecimal() and len(query + key) < 20):
        raise UsageError(f"--cell {text}: expected the positions of a query and a key, such as 8,5.")
    return int(query), int(key)


def pick_rows(text: str | None, first: int, n_tokens: int) -> tuple[int, int]:
    """`last`, a position, or `a:b` (b left out, as in Python), among positions `first` to `n_tokens − 1`.

    Returns:
        the first position and the one after the last.
    """
    if text is None:
        return first, n_tokens
    where = f"there are positions {first}–{n_tokens - 1}" if n_tokens - first > 1 else f"there is position {first} only"
    if text == "last":
        return n_tokens - 1, n_tokens
    try:
        if ":" in text:
            a, b = text.split(":")
            start, stop = int(a) if a else first, int(b) if b else n_tokens
        else:
            start = int(text)
            stop = start + 1
    except ValueError:
        raise UsageError(f"--rows {text}: expected last, a position, or a range a:b; {where}.") from None
    if not first <= start < stop <= n_tokens:
        raise UsageError(f"--rows {text}: {where}.")
    return start, stop


def _chosen(text: str | None, n_heads: int, found: str) -> list[int]:
    return list(range(n_heads)) if text is None else _numbers("--head", text, n_heads, found)


def _numbers(option: str, text: str, n: int, found: str) -> list[int]:
    """The numbers that `text` lists, each once, in order."""
    chosen: list[int] = []
    for part in text.split(","):
        part = part.strip()
        try:
            if part == "last":
                chosen.append(n - 1)
            elif ":" in part:
                a, b = part.split(":")
                first, stop = int(a) if a else 0, int(b) if b else n
                if not 0 <= first < stop <= n:
                    raise UsageError(f"{option} {text}: {found}.")
                chosen += range(first, stop)
            else:
                chosen.append(int(part))
        except ValueError:
            raise UsageError(f"{option} {text}: expected numbers such as 2, 0,2 or 0:2; {found}.") from None
    if not _all_in(chosen, n):
        raise UsageError(f"{option} {text}: {found}.")
    return sorted(set(chosen))


def _all_in(numbers: Sequence[int], n: int) -> bool:
    return bool(numbers) and min(numbers) >= 0 and max(numbers) < n


def _span(n: int) -> str:
    return f"0–{n - 1}" if n > 1 else "0 only"
