"""Does it fit: weights, cache and the rest on devices of a kind, and how many requests that leaves room for.

An engine takes a share of each device (`utilization`), loads the weights, sets aside what else it needs, and gives what
is left to the cache. What else it needs is a range, so what is left is one too, unless the asker knows the one or the
other. For a paged engine the answer is in its own words: the size of the cache in tokens and the maximum concurrency.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from glasscli.budget.devices import Device
from glasscli.budget.engines import ENGINES
from glasscli.budget.engines.engine import STATE_ROLES, Capacity, Paged
from glasscli.budget.fit import Fit, fit
from glasscli.budget.overhead import Overhead, overhead
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.budget.weights.files import Files
from glasscli.budget.weights.loaded import loaded_bytes
from glasscli.budget.weights.ranks import TOWERS, Split, layers_of, stage_bytes
from glasscli.budget.weights.stored import Stored
from glasscli.errors import ConfigError, UsageError
from glasscli.specs.cache_spec import CacheSpec


class Load(NamedTuple):
    """What the weights take on one rank of each pipeline stage, rotary tables apart; None: not known.

    `sees`: whether there are towers among them.
    """

    weights: tuple[int, ...]
    rope: int | None
    source: str
    sees: bool = False


@dataclass(frozen=True)
class Room:
    """What `pool` bytes on a device hold. `capacity` is a paged engine's own account, None for others.

    `holds` says whether the request's batch fits, as the engine itself decides. `tokens` are those of a pool that an
    engine logs so, None for others and beside recurrent states, which share it.
    """

    pool: int
    fit: Fit
    capacity: Capacity | None
    holds: bool
    tokens: int | None = None

    @property
    def concurrency(self) -> Fraction | None:
        """Requests of the asked length side by side in one replica, as a paged engine logs it."""
        return self.capacity.concurrency if self.capacity else None


@dataclass(frozen=True)
class DeviceFit:
    """The answer for one kind of device.

    Attributes:
        allowed: the engine's share of one device.
        load: what weights and rotary tables take of it on the fullest device; None where nobody asked.
        overhead: what else is taken, at least and at most; the source says by whose word.
        least, most: what is left for the cache if the overhead is at its most, at its least; both the same, and no
            more than an upper bound, where nobody knows the overhead.
    """

    device: Device | None
    n_devices: int
    utilization: Fraction
    allowed: int
    load: Load | None
    overhead: Overhead | None
    least: Room
    most: Room

    @property
    def fits(self) -> bool | None:
        """True or false where both ends of the range agree; None where it depends on the overhead."""
        if not self.sure:
            return None if self.most.holds else False
        return self.least.holds if self.least.holds == self.most.holds else None

    @property
    def sure(self) -> bool:
        """Whether the overhead is known, if only as a range."""
        return self.overhead is None or self.overhead.known

    @property
    def weight_bytes(self) -> int:
        """Weights and rotary tables of the fullest device; 0 where they were not asked for."""
        return max(self.load.weights) + (self.load.rope or 0) if self.load else 0


def load_of(model: Stored, rope: int | None, request: Request) -> Load:
    """What each stage of a plan loads: in vLLM with what its allocator adds, elsewhere the weights themselves."""
    split = Split(request.tp, request.pp, request.dp, request.ep, request.pp_layers, request.pcp)
    if request.engine == "vllm":
        return Load(
            loaded_bytes(model, split, rope or 0), rope, "counted from the config, as vLLM books it", sees(model)
        )
    return Load(stage_bytes(model, split), None, "counted from the config", sees(model))


def sees(model: Stored) -> bool:
    """Whether a model sees or hears: whether it has towers."""
    return any(tensor.part in TOWERS for tensor in model.weights.tensors)


def load_of_files(files: Files, model: Stored | None, rope: int | None, request: Request) -> Load:
    """What each stage of a plan loads of a model's files, to the byte where one device holds all of it.

    Args:
        model: the weights counted from the config, which tell how ranks share them; None where they can't be.

    Raises ConfigError (field `tp`) where nothing tells how ranks share the weights.
    """
    source = f"the headers of {files.n_files:,} file{'s' * (files.n_files != 1)}"
    if files.gguf:
        if request.tp > 1:
            raise ConfigError(
                "llama.cpp splits a GGUF by layers: by pipeline stages, not by tensor-parallel ranks", "tp"
            )
        split = Split(pp=request.pp, pp_layers=request.pp_layers)
        return Load(files.stages(layers_of(request.layout.n_layers, split)), None, source)
    if model is not None and model.n_bytes == files.n_bytes:
        counted = load_of(model, rope, request)
        return counted._replace(source=f"{source}, {counted.source.partition(', ')[2] or 'to the byte'}")
    if request.n_ranks == 1:
        rope = rope if request.engine == "vllm" else None
        return Load((files.n_bytes,), rope, source, model is not None and sees(model))
    if model is None:
        raise ConfigError("what weights such a model has is not known, so neither is what a rank keeps of them", "tp")
    counted = load_of(model, rope, request)
    shared = tuple(size * files.n_bytes // model.n_bytes for size in counted.weights)
    return Load(shared, counted.rope, f"{source}, shared as the config's weights are", counted.sees)


def fit_on(
    request: Request,
    load: Load | None,
    device: Device,
    n_devices: int | None = None,
    *,
    utilization: Fraction | None = None,
    taken: Overhead | None = None,
    available: int | None = None,
) -> DeviceFit:
    """Whether `request` fits on devices like `device`, and how much more would.

    Args:
        load: what the weights take, from `load_of` or from a folder's files; None only beside `available`.
        n_devices: how many there are; as many as the plan has ranks where it isn't given.
        utilization: the share of a device that the engine may use; its own default, of what the system lends a GPU,
            where it isn't given.
        taken: what else is taken, where it was measured; else the range for the engine.
        available: the bytes that the engine itself says are left for the cache: then nothing else is asked.

    Raises UsageError where the devices are fewer than the ranks or the share is none; as `fit` for the rest.
    """
    sizer = Sizer(request)
    ranks = request.n_ranks
    utilization = min(sizer.engine.share, device.lent) if utilization is None else utilization
    n_devices = ranks if n_devices is None else n_devices
    if n_devices < ranks:
        raise UsageError(f"the plan has {ranks} ranks, but there are {n_devices} devices")
    if not 0 < utilization <= 1:
        raise UsageError(f"a share of {float(utilization):g} is not possible: it is more than 0 and at most 1")
    allowed = int(device.total * utilization)
    if available is not None:
        room = room_in(sizer, [available] * request.pp)
        return DeviceFit(device, n_devices, utilization, allowed, load, None, room, room)
    assert load is not None
    taken = taken or overhead(request.engine, engine_title(request.engine), load.sees)
    left = [allowed - weights - (load.rope or 0) for weights in load.weights]
    ends = (taken.least if taken.most is None else taken.most, taken.least)
    least, most = (room_in(sizer, [pool - used for pool in left]) for used in ends)
    return DeviceFit(device, n_devices, utilization, allowed, load, taken, least, most)


def engine_title(name: str) -> str:
    """How sentences call an engine; mathematics is none."""
    return "an engine" if name == "logical" else ENGINES[name].title


def fit_in(request: Request, available: int) -> DeviceFit:
    """What fits where an engine says that it has `available` bytes for the cache on each device, whatever that is."""
    room = room_in(Sizer(request), [available] * request.pp)
    return DeviceFit(None, request.n_ranks, Fraction(1), available, None, None, room, room)


def room_in(sizer: Sizer, pools: list[int]) -> Room:
    """What the pools of the stages hold; the tightest stage decides."""
    request = sizer.request
    pool = max(0, min(pools))
    found = fit(request, pool)
    if not isinstance(sizer.engine, Paged) or not request.tokens:
        return Room(pool, found, None, found.fits and min(pools) >= 0, tokens_of(sizer, pool))
    own = tightest(sizer, [max(0, size) for size in pools])
    in_replica = -(-request.batch // request.dp)
    return Room(pool, found, own, own.holds(in_replica))


def is_state(part: CacheSpec) -> bool:
    """Whether a part keeps something that does not grow with the tokens, apart from a window."""
    return any(tensor.role in STATE_ROLES for tensor in part.tensors(1, 1))


def tokens_of(sizer: Sizer, pool: int) -> int | None:
    """The tokens of a pool of so many bytes, where the engine logs them: all that one sequence could have."""
    if not sizer.engine.pool_words or any(is_state(part) for part in sizer.shards.values()):
        return None
    return fit(replace(sizer.request, batch=sizer.request.dp, prefix_shared=0), pool).max_tokens


def tightest(sizer: Sizer, pools: list[int]) -> Capacity:
    """A paged engine's account of the stage that has room for the fewest requests.

    Its check is this one, with the groups that it fills up: what a plan's bytes leave out decides whether it starts.
    """
    request, engine = sizer.request, sizer.engine
    assert isinstance(engine, Paged)
    found: list[Capacity] = []
    for counts, pool in zip(sizer.layers, pools, strict=True):
        kept = [(sizer.shards[part], count) for part, count in counts.items() if sizer.hold(part, request.tokens, 1)]
        if kept:
            found.append(engine.capacity(kept, request.tokens, pool))
    return min(found, key=lambda capacity: capacity.concurrency)
