"""Where the damage is: a cache taken apart, and each part tried alone in an otherwise full cache.

    kv      keys packed, values packed; tokens dropped; keys merged, values merged
    layer   the cache in one layer
    head    tokens dropped in one key/value head of one layer
    depth   no further run: the scored positions in stretches, shallow to deep

Divergences of parts do not add up to that of the whole: what one layer loses, the next sees.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from glasscli.cache.choice import RESIDUAL, CacheChoice
from glasscli.cache.formats.names import KIVI, ROTATED
from glasscli.quality.by import By, check_parts
from glasscli.quality.divergence import Divergence
from glasscli.quality.trial import Result, Trial

STRETCHES = 4


@dataclass(frozen=True)
class Part:
    """One part of a cache, tried alone.

    Attributes:
        name: what it is, in words.
        kld: mean KL divergence from the full cache.
        delta_nats: what a token costs more; None where it was not looked at.
        layer, kv_head: where, for a part that is a place.
    """

    name: str
    kld: float
    delta_nats: float | None
    layer: int | None = None
    kv_head: int | None = None


def n_parts(trial: Trial, choice: CacheChoice, by: By) -> int:
    """How many further runs it takes."""
    config = trial.loaded.config
    runs = {By.kv: len(_by_kv(trial, choice)), By.layer: config.n_layers, By.head: config.n_layers * config.n_kv_heads}
    return runs.get(by, 0)


def parts_of(trial: Trial, result: Result, by: By) -> Iterator[Part]:
    """The parts of a cache, one after the other as they are run.

    Raises:
        UsageError: see `check_parts`.
    """
    choice, config = result.choice, trial.loaded.config
    check_parts(choice, by)
    if by is By.depth:
        yield from _by_depth(trial, result)
    elif by is By.kv:
        for name, run in _by_kv(trial, choice):
            found = run()
            yield Part(name, found.kld, found.delta_nats)
    elif by is By.layer:
        for layer in range(config.n_layers):
            found = trial.run_layer(choice, layer)
            yield Part(f"layer {layer}", found.kld, found.delta_nats, layer)
    else:
        for layer in range(config.n_layers):
            for head in range(config.n_kv_heads):
                found = trial.run_head(replace(choice, kv_heads=None), layer, head)
                yield Part(f"layer {layer} KV head {head}", found.kld, found.delta_nats, layer, head)


def _by_kv(trial: Trial, choice: CacheChoice) -> list[tuple[str, Callable[[], Divergence]]]:
    """What keys, values and the tokens kept cost, each alone: their names and the runs that tell."""
    packed = [("K", CacheChoice(k=choice.k, **_how(choice, choice.k))), ("V", _of_values(choice))]
    runs = [(name, one) for name, one in packed if not one.is_full]
    if choice.keeps != "all":
        runs.append(("tokens", replace(choice, k="f32", v="f32", rotated=True, kv_heads=None)))
    found: list[tuple[str, Callable[[], Divergence]]] = [(name, partial(trial.run_apart, one)) for name, one in runs]
    if choice.kv_heads is not None:
        found += [(f"{role.upper()} merged", partial(trial.run_heads, choice, role)) for role in "kv"]
    return found


def _of_values(choice: CacheChoice) -> CacheChoice:
    return CacheChoice(v=choice.v, **_how(choice, choice.v))


def _how(choice: CacheChoice, name: str) -> dict[str, Any]:
    """What the choice says of how the format `name` packs."""
    return {
        "rotated": choice.rotated or name not in ROTATED,
        "residual": choice.residual if name in KIVI else RESIDUAL,
    }


def _by_depth(trial: Trial, result: Result) -> Iterator[Part]:
    first = trial.context // 2
    for size, kld in result.divergence.by_depth(STRETCHES):
        yield Part(f"{first:,}–{first + size - 1:,}", kld, None)
        first += size
