"""Chapter 10: decoding from a cache."""

from collections.abc import Iterator

import numpy as np

from glasscli.budget.cache_size import cache_size
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room, within
from glasscli.specs.cache_spec import FullAttention
from glasscli.units import format_bytes

BUDGET = 8 * 1024**3


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    config, n = room.config, len(room.ids)
    yield Say(
        "To write the next word the model needs the last word's query, and everybody's keys and values. These never "
        "change: no word sees a later one. So they are computed once and kept, and each new token is one row."
    )
    yield Formula("1 new query × m keys, m = start + 1")
    model, cache = room.loaded.model, room.loaded.model.new_cache(n)
    rows = [model([token_id], cache)[0] for token_id in room.ids]
    whole = model(room.ids)
    gap = float(np.abs(np.stack(rows) - whole).max())
    size = max(1.0, float(np.abs(whole).max()))
    if any(rope is not None and rope.grows for rope in config.ropes):
        yield Say(
            "This model turns by other angles once a text is long; its cache keeps keys as they were turned first."
        )
    else:
        yield Claim(f"One by one from the cache, or all {n} at once: the same {n} predictions, {within(gap / size)}",
                    gap < 1e-3 * size)  # fmt: skip
    yield Say(f"What the cache saves, counted in tokens that go through the layers until {n:,} are written:")
    counts = [(n, n * (n + 1) // 2), (config.max_seq_len, config.max_seq_len * (config.max_seq_len + 1) // 2)]
    yield Table(("text", "with the cache", "without"), tuple((f"{m:,}", f"{m:,}", f"{w:,}") for m, w in counts), ())
    yield from _size(room, cache.nbytes)
    yield Ask(f"{format_bytes(BUDGET)} are left for a cache of Llama 3.1 8B in bf16. How long a text is that?")
    per_token = cache_size("llama-3.1-8b", 1).bytes_total
    fits = BUDGET // per_token
    yield Say(
        f"{format_bytes(BUDGET)} / {per_token:,} bytes a token = {fits:,} tokens, of one text or of all together."
    )
    yield Claim("One more does not fit", cache_size("llama-3.1-8b", fits + 1).bytes_total > BUDGET)
    yield Try(("glass dump-attn TEXT --decode", "glass kv-budget --model llama-3.1-8b --budget 8GiB"))


def _size(room: Room, n_bytes: int) -> Iterator[Part]:
    config, n = room.config, len(room.ids)
    if not all(type(spec) is FullAttention for spec in config.specs):
        yield Say(f"Some layers keep a window only; the cache of this text is {format_bytes(n_bytes)}.")
        return
    yield Formula("bytes = layers · 2 (K and V) · tokens · KV heads · head width · bytes a number")
    by_hand = config.n_layers * 2 * n * config.n_kv_heads * config.head_dim * 4
    sizes = f"{config.n_layers} · 2 · {n} · {config.n_kv_heads} · {config.head_dim} · 4"
    yield Claim(f"{sizes} = {by_hand:,} bytes, and the cache that was just filled has {n_bytes:,}", by_hand == n_bytes)
    yield Say("Of others, at 8,192 tokens and at 131,072, in bf16:")
    rows = [
        (name, *(format_bytes(cache_size(name, tokens).bytes_total) for tokens in (8192, 131072)))
        for name in ("llama-2-7b", "llama-3.1-8b", "llama-3.1-70b")
    ]
    yield Table(("model", "8,192", "131,072"), tuple(rows))
