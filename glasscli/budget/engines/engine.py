"""What there is to know of an engine, and what all of them share: options, dtypes, refusals.

An `Engine` turns one part of one layer (already split over tensor-parallel ranks) into bytes for a number of
sequences. Each engine is a module (or a small package) beside this one: its name, its options, the dtypes it has,
what it allocates, what it says of a plan; a `Server` also how it is told of one, a `Paged` one how its pool divides.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from glasscli.budget.engines.option import Option
from glasscli.dtypes import dtype_named, row_bytes
from glasscli.errors import ConfigError
from glasscli.specs.cache_spec import CacheSpec, Tensor

if TYPE_CHECKING:
    from glasscli.budget.drafting import Drafter
    from glasscli.budget.questions import Settings
    from glasscli.budget.request import Request

Held = dict[str, int]  # role of a tensor (k, v, latent, state, …) → bytes
Rule = TypeVar("Rule")
STATE_ROLES = ("conv", "state")


@dataclass(frozen=True)
class Dtypes:
    """The dtype of each role. None for `conv` or `state`: whatever the layer's spec says, else `model`."""

    model: str
    k: str
    v: str
    index: str
    conv: str | None = None
    state: str | None = None

    def of(self, tensor: Tensor) -> str:
        """The dtype `tensor` is stored in."""
        match tensor.role:
            case "k" | "latent" | "cross_k":
                return self.k
            case "v" | "cross_v":
                return self.v
            case "index":
                return self.index
            case "conv":
                return self.conv or tensor.dtype or self.model
            case "state":
                return self.state or tensor.dtype or self.model
        raise AssertionError(f"no dtype is chosen for the role {tensor.role!r}")

    def row(self, tensor: Tensor) -> int:
        """Bytes of one row of `tensor`. Raises ConfigError for a dtype that packs rows of several tokens together."""
        dtype = dtype_named(self.of(tensor))
        if dtype.group > 1:
            raise ConfigError(
                f"{dtype.name} packs {dtype.group} tokens together: it is for the keys and values of layers that keep "
                "every token, and for nothing else"
            )
        return row_bytes(dtype.name, tensor.width // tensor.heads, tensor.heads)


class Engine(ABC):
    """One engine, made for one request and the parts of its layers that keep anything, as one rank has them.

    A new engine is a subclass in a module of its own, listed in `engines/__init__.py`: it says everything that is
    declared or abstract here, or is not taken.

    Attributes:
        name: how requests and documents call it; `title`: how sentences do.
        options: its settings, by their own names.
        other_dtypes: what else it could keep keys and values in, for comparison.
        strict: settings under which it decides whether something fits, where it counts more then.
        spread: how it splits a model over devices where nobody says how: tensor-parallel ranks, pipeline stages.
        pool_words: how it logs the tokens that its pool holds, `{}` for how many; empty where it doesn't, or by blocks.
        splits_contexts: whether ranks can each keep a part of a sequence's tokens.
        dtypes: what it keeps this request in.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    options: ClassVar[Mapping[str, Option]]
    other_dtypes: ClassVar[tuple[str, ...]]
    strict: ClassVar[Mapping[str, Any]] = {}
    splits_contexts: ClassVar[bool] = False
    pool_words: ClassVar[str] = ""
    spread: ClassVar[Literal["tp", "pp"]] = "tp"

    @classmethod
    def usual_on(cls, device_bytes: int, device_name: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """Settings whose default depends on the device, for the model of `config`."""
        return {}

    def __init__(self, request: "Request", parts: tuple[CacheSpec, ...]) -> None:
        """A subclass goes on from here: pages, rules. Raises ConfigError for what the engine has no rule for."""
        self.request = request
        self.parts = parts
        self.dtypes = self.choose_dtypes()

    @abstractmethod
    def choose_dtypes(self) -> Dtypes:
        """What it keeps each role in. Raises ConfigError, with the field, for a dtype that it has no cache in."""

    @property
    @abstractmethod
    def span(self) -> int:
        """Tokens of the step in which what it allocates grows."""

    @abstractmethod
    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        """Bytes of each role that one layer's `part` takes for all `sequences` of one replica."""

    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """What was assumed and where it differs from the mathematics, a line each."""

    @property
    def edition(self) -> str:
        """The version of the engine whose rules these are; empty for what has no versions."""
        return ""

    def warnings(self) -> tuple[str, ...]:
        """What must be known of the engine to read the numbers right, a line each."""
        return ()

    def constant_says(self) -> str:
        """What it keeps for every sequence however long, on account of a dtype, in words; empty for most."""
        return ""

    def places(self, counts: Mapping[CacheSpec, int]) -> Mapping[CacheSpec, int]:
        """How many layers of each part a stage sets aside room for: as many as there are, unless it groups them."""
        return counts

    def pooled(self, counts: Mapping[CacheSpec, int], tokens: int, sequences: int) -> int | None:
        """Bytes that `sequences` take of a stage's pool in whole, where that is more than its layers write to.

        None where it is the sum of what they hold.
        """
        return None

    def kept_empty(self, counts: Mapping[CacheSpec, int]) -> int:
        """Bytes of a stage's pool that no request gets, given its layers of each part."""
        return 0

    @property
    def share(self) -> Fraction:
        """The share of a device that it takes unless told otherwise: all of it."""
        return Fraction(1)

    def idle(self, counts: Mapping[CacheSpec, int], size: Mapping[CacheSpec, int]) -> tuple[str, ...]:
        """Lines about what it sets aside and does not use, given the layers of each part and the bytes of one."""
        return ()


class Server(Engine):
    """An engine with a program that serves a model, which can be told of a plan.

    `loads` is what it is given to load where the user names nothing; `loads_folders`: it may be a config's folder;
    `too_long`: what it does with a context that the model was not made for, as a sentence; `takes_a_share`: whether it
    can be told what share of a device is its, `no_share`: why not, where it can of something like it;
    `takes_a_drafter`: whether it can be told of a model that drafts.
    """

    loads: ClassVar[str]
    loads_folders: ClassVar[bool]
    too_long: ClassVar[str] = ""
    takes_a_share: ClassVar[bool] = False
    no_share: ClassVar[str] = ""
    takes_a_drafter: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def command_line(cls, served: "Served") -> list[str]:
        """The words of the command that serves a plan. Raises ConfigError for whatever it can't be told."""

    @classmethod
    def told(cls, settings: "Settings") -> Mapping[str, Any]:
        """The plan's own settings, and those that the command line says whether or not they were asked for."""
        return settings.options

    @classmethod
    def flags(cls, options: Mapping[str, Any]) -> list[str]:
        """The words for the engine's own settings; one that has no flag is refused."""
        words: list[str] = []
        for name, value in options.items():
            flag = cls.options[name].flag if name in cls.options else None
            if flag is None:
                raise ConfigError(f"{cls.title}'s command line has no flag for {name}", name)
            words += flag(value)
        return words


class Served(NamedTuple):
    """A plan to be told to a server: what was asked, keys stored as `k` and values as `v`.

    `model` is what is to be loaded; `model_dtype` the cache's dtype when nobody says one, empty where the checkpoint
    fixes another; `available` the bytes for the cache on one rank, if they are fixed; `roles` those of the tensors that
    the plan keeps; `utilization` the engine's share of a device, if that is fixed. `drafts_itself`: whether the model
    has layers that draft; `drafter` is the model that drafts for it.
    """

    settings: "Settings"
    k: str
    v: str
    model: str
    model_dtype: str
    available: int | None = None
    roles: frozenset[str] = frozenset()
    utilization: Fraction | None = None
    drafts_itself: bool = False
    drafter: "Drafter | None" = None


class Capacity(NamedTuple):
    """An engine's own account of a device: blocks of its pool, blocks that one request takes.

    `n_empty` of the blocks are in the pool and in what the engine logs of it, but no request gets them. `n_groups`
    kinds of layers share them, where the engine logs the cache's size as if each had an equal share of pages of
    `page_tokens`; 0 where it doesn't.
    """

    page_tokens: int
    n_blocks: int
    blocks_per_request: int
    n_empty: int = 0
    n_groups: int = 0

    @property
    def concurrency(self) -> Fraction:
        """How many requests fit side by side, as the engine logs it."""
        return Fraction(self.n_blocks, self.blocks_per_request)

    def holds(self, n_requests: int) -> bool:
        """Whether so many requests fit side by side."""
        return self.n_blocks - self.n_empty >= n_requests * self.blocks_per_request

    def tokens(self, max_model_len: int) -> int:
        """The size of the cache in tokens, as the engine logs it."""
        if self.n_groups:
            return self.n_blocks // self.n_groups * self.page_tokens
        return self.n_blocks * max_model_len // self.blocks_per_request


class Paged(Engine):
    """An engine whose pool on a device is blocks of pages."""

    @abstractmethod
    def capacity(self, layers: Iterable[tuple[CacheSpec, int]], tokens: int, budget_bytes: int) -> Capacity:
        """How it would divide `budget_bytes` for requests of `tokens`; `layers` are parts and how many of each."""


def choose_dtypes(request: "Request") -> Dtypes:
    """The dtypes of a request as mathematics takes them: those asked for, else the config's, else the model's."""
    model = dtype_named(request.layout.dtype).name
    usual = request.layout.kv_dtype_hint or model
    k = dtype_named(request.k_dtype or usual).name
    v = dtype_named(request.v_dtype or usual).name
    index = request.index_dtype or ("fp8_block128" if k == "fp8_ds_mla" else k)
    state = dtype_named(request.state_dtype).name if request.state_dtype else None
    return Dtypes(model, k, v, dtype_named(index).name, state=state)


def rule_for(rules: Mapping[type[CacheSpec], Rule], part: CacheSpec, title: str, request: "Request") -> Rule:
    """What an engine does with `part`, by its class alone: what a subclass needs is not guessed from its base.

    Raises ConfigError, which names the kind, where the engine has no rule for it.
    """
    if type(part) not in rules:
        raise refuse(title, request, part)
    return rules[type(part)]


def refuse(
    title: str, request: "Request", part: CacheSpec, why: str = "what it allocates for such layers is not known"
) -> ConfigError:
    """The refusal of a layer whose rule in this engine is not known."""
    model = request.layout.model_type or "this model"
    return ConfigError(f"{title}: {model} has {part.name} layers; {why}", "engine")


def up(count: int, step: int) -> int:
    """`count` rounded up to a multiple of `step`."""
    return -(-count // step) * step


def total(held: Mapping[str, int]) -> int:
    """All the bytes of all the roles."""
    return sum(held.values())
