"""Run a prompt and keep every number of some attention layers, of the prompt or of single decode steps.

It runs the model's blocks (`model.block`) with a `Trace`, a decode step over the very cache that generation would
read. Without a trace a single step takes a faster form (`model.decode`), which tests hold to this one. What it costs
is worked out before anything runs (`trace_size`), and a number that is not finite is named (`finite`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glasscli.arrays import Array
from glasscli.cache.choice import FULL, CacheChoice
from glasscli.cache.kv_cache import KVCache
from glasscli.config.model_config import ModelConfig
from glasscli.errors import CheckpointError
from glasscli.generation.prompts import read_prompt
from glasscli.inspect.finite import first_not_finite
from glasscli.inspect.measures import HeadMeasures, measure_heads, uniform_measures
from glasscli.inspect.outside import outside_arrays
from glasscli.inspect.tokens import Token, token_of
from glasscli.inspect.trace import LayerTrace, Trace, join_steps, row_fields
from glasscli.inspect.trace_size import MAX_TRACE_BYTES, SizeError, check_size, trace_bytes
from glasscli.model.places import MODEL_PLACES

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel
    from glasscli.inspect.reading import Reading

__all__ = [
    "MAX_TRACE_BYTES",
    "Dump",
    "SizeError",
    "Token",
    "check_size",
    "dump_attention",
    "dump_decode",
    "first_not_finite",
    "outside_arrays",
    "take_rows",
    "token_of",
    "trace_bytes",
]

SQUARE = ("scores_HTS", "softcap_HTS", "pattern_HTS")


@dataclass(frozen=True)
class Dump:
    """Layers of one run, with all that is needed to read them.

    Attributes:
        n_prompt: tokens of the prompt, also where fewer were read or more were written.
        tokens: what the keys stand for, S of them.
        mode: `prefill` (queries computed together) or `decode` (one at a time, from the cache).
        start: position of the first query.
        layers: in ascending order.
        chosen: with generated text, the token that each query's step chose.
        weights_hash: SHA-256 of the weight files, where asked for.
        cache: how keys and values were kept, see `cache.choice_text`.
        full: the same layers of the same tokens with the full cache, where they are to be compared.
        removed: parts that were taken out, see `LoadedModel.removed`.
        outside: numbers of the model around its layers, by the names of `stream_steps.OUTSIDE`, where asked for: a
            row a query; of "grad" a row for each query whose next token is known.
        reading: what the layers would say and what heads are called, where asked for (`with_reading`).
    """

    model: str
    config: ModelConfig
    prompt: str | None
    n_prompt: int
    tokens: tuple[Token, ...]
    mode: str
    start: int
    layers: tuple[LayerTrace, ...]
    chosen: tuple[Token, ...] = ()
    weights_hash: str = ""
    cache: str = FULL.text
    full: tuple[LayerTrace, ...] = ()
    removed: tuple[str, ...] = ()
    outside: Mapping[str, Array] = field(default_factory=dict)
    reading: "Reading | None" = None

    @property
    def title(self) -> str:
        """The model's name, and what was taken out of it."""
        return f"{self.model} without {', '.join(self.removed)}" if self.removed else self.model

    @property
    def token_ids(self) -> list[int]:
        """Ids of all keys' tokens."""
        return [token.id for token in self.tokens]

    @property
    def n_queries(self) -> int:
        """Rows of every pattern."""
        return self.layers[0].pattern_HTS.shape[1]

    def measures(self, trace: LayerTrace) -> list[HeadMeasures]:
        """The measures of each head of one of the layers."""
        return measure_heads(trace.pattern_HTS, self.start, self.token_ids, self.config.n_kv_heads)

    def uniform(self) -> HeadMeasures:
        """The same for a head that ignores content."""
        return uniform_measures(self.start, self.n_queries, self.token_ids)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page that `export_dump` writes."""
        from glasscli.export.notebook import framed

        return framed(self)


def dump_attention(
    loaded: "LoadedModel",
    prompt: str | Sequence[int],
    layers: Iterable[int],
    *,
    rows: tuple[int, int] | None = None,
    choice: CacheChoice = FULL,
    outside: Sequence[str] = (),
) -> Dump:
    """Prefill `prompt` and keep `layers`.

    Args:
        prompt: a text, or token ids.
        rows: only the queries at positions `rows[0]` to `rows[1] − 1`; the tokens before them are read first,
            untraced, and those after them not at all.
        choice: how keys and values are kept. A cache that goes by attention is read a token at a time.
        outside: steps of the model around its layers to keep, see `Dump.outside`.

    Raises:
        UsageError: nothing to read, more tokens than the model holds, or a trace larger than 2 GiB.
        CheckpointError: the run produced a number that is not finite; names the first step that did.
    """
    ids = list(read_prompt(loaded, prompt).token_ids)
    first, stop = rows or (0, len(ids))
    wanted = sorted(set(layers))
    check_size(loaded.config, stop - first, stop, len(wanted))
    cache = loaded.model.chosen_cache(choice, stop)
    if first:
        _read_before(loaded, ids[:first], cache)
    alone = any(store.by_attention for store in cache.stores)
    parts = [[token_id] for token_id in ids[first:stop]] if alone else [ids[first:stop]]
    steps = [_traced(loaded, part, cache, wanted, outside) for part in parts]
    dump = _dump(loaded, prompt, ids[:stop], "prefill", first, _joined(steps, wanted))
    return replace(dump, n_prompt=len(ids), outside=outside_arrays(outside, steps, ids[first + 1 :]))


def dump_decode(
    loaded: "LoadedModel",
    prompt: str | Sequence[int],
    layers: Iterable[int],
    new_ids: Sequence[int] = (),
    *,
    choice: CacheChoice = FULL,
    outside: Sequence[str] = (),
) -> Dump:
    """Read the last tokens one at a time from the cache, as generation does, and keep `layers`.

    Without `new_ids` the one step is that of the prompt's last token. With them, there is a step for each: the
    step whose prediction it was chosen from. The last new token is therefore never read itself.

    Raises:
        UsageError, CheckpointError: as `dump_attention`.
    """
    ids = list(read_prompt(loaded, prompt).token_ids)
    start = len(ids) - 1
    ids = [*ids, *new_ids[:-1]]
    wanted = sorted(set(layers))
    check_size(loaded.config, len(ids) - start, len(ids), len(wanted))
    cache = loaded.model.chosen_cache(choice, len(ids))
    if start:
        _read_before(loaded, ids[:start], cache)
    steps = [_traced(loaded, [token_id], cache, wanted, outside) for token_id in ids[start:]]
    dump = _dump(loaded, prompt, ids, "decode", start, _joined(steps, wanted))
    chosen = tuple(token_of(loaded.tokenizer, token_id) for token_id in new_ids)
    return replace(dump, n_prompt=start + 1, chosen=chosen, outside=outside_arrays(outside, steps, new_ids))


def take_rows(dump: Dump, first: int, stop: int) -> Dump:
    """The queries at positions `first` to `stop − 1` of a dump, and the keys that were there by then."""
    rows = slice(first - dump.start, stop - dump.start)
    layers = []
    for trace in dump.layers:
        parts: dict[str, Any] = {name: getattr(trace, name)[..., rows, :] for name in row_fields(trace)}
        square = ("scores_HTS", "pattern_HTS") if trace.softcap_HTS is None else SQUARE
        parts |= {name: getattr(trace, name)[:, rows, :stop] for name in square}
        parts |= {name: getattr(trace, name)[:, :stop] for name in ("cache_k_KSE", "cache_v_KSE")}
        if trace.seen_KTS is not None:
            parts["seen_KTS"] = trace.seen_KTS[:, rows, :stop]
        layers.append(replace(trace, start=first, mask_TS=trace.mask_TS[rows, :stop], **parts))
    outside = {name: array[rows] for name, array in dump.outside.items()}
    return replace(
        dump, start=first, tokens=dump.tokens[:stop], chosen=dump.chosen[rows], layers=tuple(layers), outside=outside,
        reading=None,
    )  # fmt: skip


def _read_before(loaded: "LoadedModel", ids: Sequence[int], cache: KVCache) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # as below
        loaded.model(ids, cache, last_only=True)


def _joined(steps: Sequence[Trace], layers: Sequence[int]) -> list[LayerTrace]:
    """Each layer of all steps, one behind the other."""
    return [join_steps([step.layers[layer] for step in steps]) for layer in layers]


def _traced(
    loaded: "LoadedModel", ids: Sequence[int], cache: KVCache, layers: Sequence[int], outside: Sequence[str] = ()
) -> Trace:
    places = {name if name in MODEL_PLACES else "logits" for name in outside}
    trace = Trace(layers, places=places)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is named afterwards, in `_dump`
        loaded.model(ids, cache, last_only=not places - {"embedding"}, trace=trace)
    return trace


def _dump(
    loaded: "LoadedModel",
    prompt: str | Sequence[int],
    ids: Sequence[int],
    mode: str,
    start: int,
    layers: Sequence[LayerTrace],
) -> Dump:
    for trace in layers:
        if name := first_not_finite(trace):
            raise CheckpointError(f"layer {trace.layer}: {name} is the first step with NaN or infinity in it")
    return Dump(
        model=loaded.checkpoint.name,
        config=loaded.config,
        prompt=prompt if isinstance(prompt, str) else None,
        n_prompt=len(ids),
        tokens=tuple(token_of(loaded.tokenizer, token_id) for token_id in ids),
        mode=mode,
        start=start,
        layers=tuple(layers),
        removed=loaded.removed,
    )
