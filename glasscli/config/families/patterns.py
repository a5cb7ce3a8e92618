"""Which layer is of which type, where the config does not list it: one small function for each habit.

A pattern takes the fields and the number of layers and gives one word for each. The words are those of
`layer_types`; what a word means for a family is `table`'s business.
"""

from collections.abc import Callable

from glasscli.config.families.fields import Fields, shown

Pattern = Callable[[Fields, int], list[str]]

FULL, SLIDING, CHUNKED, INDEXED = "full_attention", "sliding_attention", "chunked_attention", "indexed_attention"
LINEAR, HYBRID, HYBRID_SLIDING = "linear_attention", "hybrid", "hybrid_sliding"

# What other releases call them.
LEGACY = {
    "attention": FULL,
    "mamba": LINEAR,
    "deepseek_sparse_attention": INDEXED,
    "qwen_sparse_attention": INDEXED,
}


def uniform(read: Fields, n: int) -> list[str]:
    """All alike: sliding where a window is given (and not switched off), else chunked, else full.

    Some configs name a window that their class has no use for: every layer of those is full.
    """
    if read.defaults.get("windowless"):
        if read.get("sliding_window") is not None:
            read.note("sliding_window is given, but this type of model has none: all layers are full")
        return [FULL] * n
    if read.get("sliding_window") is not None and read.flag("use_sliding_window", True):
        return [SLIDING] * n
    return [CHUNKED if read.get("attention_chunk_size") is not None else FULL] * n


def always(word: str) -> Pattern:
    """The same word for every layer."""
    return lambda read, n: [word] * n


def every(period: int | str, word: str = FULL, rest: str = SLIDING, fallback: int | None = None) -> Pattern:
    """`word` on layers period − 1, 2·period − 1, …: `period` is a number or the field that holds it."""

    def pattern(read: Fields, n: int) -> list[str]:
        step = period
        if isinstance(step, str):
            step = int(read.integer(step, default=fallback))
        return [word if (i + 1) % step == 0 else rest for i in range(n)]

    return pattern


def from_first(period: int | str, fallback: int = 4) -> Pattern:
    """Full on layers 0, period, 2·period, …; sliding elsewhere."""

    def pattern(read: Fields, n: int) -> list[str]:
        step = int(read.integer(period, default=fallback)) if isinstance(period, str) else period
        return [SLIDING if i % step else FULL for i in range(n)]

    return pattern


def last_is_full(inner: Pattern) -> Pattern:
    """`inner`, but full attention on the last layer."""
    return lambda read, n: [*inner(read, n)[:-1], FULL]


def after_max_window_layers(read: Fields, n: int) -> list[str]:
    """Qwen2: layers from max_window_layers on slide, and only where use_sliding_window says so."""
    if not read.flag("use_sliding_window") or read.get("sliding_window") is None:
        return [FULL] * n
    first: int = read.integer("max_window_layers", least=0)
    return [SLIDING if i >= first else FULL for i in range(n)]


def even_below_max_window_layers(read: Fields, n: int) -> list[str]:
    """Qwen2-MoE: every other layer below max_window_layers slides."""
    if not read.flag("use_sliding_window"):
        return [FULL] * n
    below: int = read.integer("max_window_layers", least=0)
    return [SLIDING if (i + 1) % 2 and i < below else FULL for i in range(n)]


def listed(field: str, word: str, rest: str, one_based: bool = False) -> Pattern:
    """`word` on the layers whose numbers `field` lists."""

    def pattern(read: Fields, n: int) -> list[str]:
        chosen = read.numbers(field)
        if chosen is None:
            read.refuse(field, "is missing: expected the numbers of the attention layers")
        types = [rest] * n
        for number in chosen:
            if number - one_based not in range(n):
                read.refuse(field, f"holds {number}: the model has {n} layers")
            types[number - one_based] = word
        return types

    return pattern


def letters(field: str, meaning: dict[str, str]) -> Pattern:
    """One letter a layer, in a string."""

    def pattern(read: Fields, n: int) -> list[str]:
        text = read.get(field)
        if not isinstance(text, str):
            read.refuse(field, f"is {shown(text)}: expected a word of letters")
        for letter in text:
            if letter not in meaning:
                read.refuse(field, f'holds the letter "{letter}": expected one of {" ".join(meaning)}')
        return [meaning[letter] for letter in text]

    return pattern


def from_last(period: int) -> Pattern:
    """Full on the last layer and every `period`-th before it; sliding elsewhere (Muse)."""
    return lambda read, n: [FULL if (n - 1 - i) % period == 0 else SLIDING for i in range(n)]


def cycle(*words: str) -> Pattern:
    """`words`, over and over."""
    return lambda read, n: [words[i % len(words)] for i in range(n)]
