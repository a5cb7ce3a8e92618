"""Chapter 9: query heads that share keys and values."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from glasscli.budget.cache_size import cache_size
from glasscli.budget.models import find
from glasscli.config.families import layout
from glasscli.inspect.runs import watch
from glasscli.inspect.scoring import TextScore, score_text
from glasscli.lesson.parts import Ask, Claim, Formula, Part, Say, Table, Try
from glasscli.lesson.room import Room
from glasscli.quality.merged import merged_model
from glasscli.quality.trained_heads import trained_heads
from glasscli.specs.cache_spec import FullAttention
from glasscli.units import format_bytes

FAMOUS = ("gpt-3-175b", "llama-7b", "falcon-7b", "palm-540b", "llama-2-70b", "mistral-7b-v0.3", "llama-3.1-8b")
CONTEXT = 8192


def tell(room: Room) -> Iterator[Part]:
    """The chapter."""
    config = room.config
    group = config.group_size
    yield Say(
        f"This model has {config.n_heads} query heads and {config.n_kv_heads} head"
        f"{'s' * (config.n_kv_heads != 1)} for keys and values. Query head h reads key/value head ⌊h / {group}⌋. Only "
        "keys and values are kept while a text grows, so sharing them is what makes the cache small; queries cost "
        "nothing to keep."
    )
    yield Formula("MHA  as many key/value heads as query heads\nGQA  fewer, shared by groups\nMQA  one, shared by all")
    yield from _who_reads_whom(room)
    yield Say(f"What that is worth: the cache at {CONTEXT:,} tokens, and what it is of one with a head for each query.")
    yield Table(("model", "heads, KV", "kind", "cache", "of MHA"), tuple(_famous()), left=(0, 2))
    yield from _cost(room)
    yield from _learnt()
    yield Ask("32 query heads, 8 for keys and values. Four times as long a text is to fit the same memory. How?")
    one, quarter = (_cache_bytes(32, 2, 4 * CONTEXT), _cache_bytes(32, 8, CONTEXT))
    yield Say(
        f"Keep 2 instead of 8. With 32 layers of heads 128 wide, in bf16: {format_bytes(quarter)} at {CONTEXT:,} "
        f"tokens with 8, {format_bytes(one)} at {4 * CONTEXT:,} with 2."
    )
    yield Claim("A quarter of the heads pays for four times the text, to the byte", one == quarter)
    yield Try(("glass kv-budget --hq 32 --hkv 8", "glass kv-budget --compare llama-3.1-8b,falcon-7b"))


def _who_reads_whom(room: Room) -> Iterator[Part]:
    """Silence one key/value head after the other, and see whose pattern changes."""
    config = room.config
    last = "k_norm" if config.architecture.qk_norm else "k"  # before keys are turned
    plain = watch(room.loaded, room.ids, ("softmax",), last_only=True).kept[0, "softmax"]
    rows, right = [], True
    for kv_head in range(min(config.n_kv_heads, 8)):

        def silence(layer: int | None, place: str, array: np.ndarray, kv_head: int = kv_head) -> np.ndarray:
            if layer != 0 or place != last:
                return array
            array = array.copy()
            array[kv_head] = 0
            return array

        changed = watch(room.loaded, room.ids, ("softmax",), silence, last_only=True).kept[0, "softmax"]
        moved = np.abs(changed - plain).max(axis=(1, 2)) > 1e-6
        right &= {int(h) for h in np.flatnonzero(moved)} <= {
            h for h in range(config.n_heads) if h // config.group_size == kv_head
        }
        seen = ["moves" if m else "stays" for m in moved[:8]] + ["…"] * (len(moved) > 8)
        rows.append((f"KV {kv_head}", " ".join(seen)))
    yield Say("Set the keys of one key/value head to 0, in layer 0. Which query heads look elsewhere?")
    yield Table(("silenced", "query heads 0, 1, …"), tuple(rows), left=(0, 1))
    yield Claim("Those that read it, and no others", right)


def _famous() -> Iterator[tuple[str, ...]]:
    for name in FAMOUS:
        found = layout(find(name).config)
        spec, n_heads = found.layers[0], found.n_heads or 0
        assert isinstance(spec, FullAttention)
        size = cache_size(name, CONTEXT).bytes_total
        heads, share = f"{n_heads}, {spec.n_kv_heads}", 100 * spec.n_kv_heads / n_heads
        yield name, heads, _kind(n_heads, spec.n_kv_heads), format_bytes(size), f"{share:.3g} %"


def _kind(n_heads: int, n_kv_heads: int) -> str:
    if n_kv_heads == n_heads:
        return "MHA"
    return "MQA" if n_kv_heads == 1 else "GQA"


def _cache_bytes(n_heads: int, n_kv_heads: int, tokens: int) -> int:
    config = {
        "model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": n_heads, "hidden_size": 4096,
        "num_key_value_heads": n_kv_heads, "head_dim": 128, "max_position_embeddings": 131072,
    }  # fmt: skip
    return cache_size(config, tokens).bytes_total


def _cost(room: Room) -> Iterator[Part]:
    config = room.config
    if config.n_kv_heads == 1:
        yield Say("This model has one for all already: there is nothing left to merge.")
        return
    if config.architecture.heads_differ:
        yield Say("Its keys are normed with weights of their own for each head, so that no two heads can be merged.")
        return
    whole = score_text(room.loaded, room.ids)
    counts = [n for n in range(1, config.n_kv_heads) if config.n_kv_heads % n == 0][::-1][:3]
    rows = [(str(config.n_kv_heads), f"{whole.nats_per_token:.2f}", f"{whole.perplexity:.1f}")]
    for n in counts:
        merged = _scored(room, n)
        rows.append((str(n), f"{merged.nats_per_token:.2f}", f"{merged.perplexity:.1f}"))
    yield Say(
        "What is lost by it? Share more heads in this model as it is: neighbouring key/value heads are averaged, and "
        "nothing is trained again. How well the text is foreseen then:"
    )
    yield Table(("KV heads", "nats a token", "perplexity"), tuple(rows), left=())


def _learnt() -> Iterator[Part]:
    """The same where models learnt with it: trained before, told from what was measured then."""
    rows = trained_heads()
    yield Say(
        f"A model that learns with few heads makes do with them. Three of the size of glass-1m, with four query heads, "
        f"trained alike on {rows[0].tokens / 1e6:.0f} million tokens of stories, each with so many key/value heads "
        "from its first step:"
    )
    cells = tuple(
        (f"{row.n_kv_heads}", _kind(4, row.n_kv_heads), f"{row.bits_per_byte:.4f}", f"{row.cache_bytes_per_token:,} B")
        for row in rows
    )
    yield Table(("KV heads", "kind", "bits a byte, held out", "cache of a token"), cells, left=(1,))


def _scored(room: Room, n_kv_heads: int) -> TextScore:
    model = merged_model(room.loaded, n_kv_heads)
    return score_text(replace(room.loaded, model=model, config=model.config), room.ids)
