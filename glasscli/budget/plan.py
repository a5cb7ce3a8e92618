"""The answer to a `Request`: bytes in all, a line for each kind of layer, and what one rank holds."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from glasscli.budget.engines import Engine, Held, Logical, Transformers, total, up
from glasscli.budget.families import Layout
from glasscli.budget.kinds import CompressedAttention, Kind, NoCache, each_part
from glasscli.budget.llama_cpp import LlamaCpp
from glasscli.budget.parallel import replicas, shard_all, stages
from glasscli.budget.request import Request
from glasscli.budget.vllm import Vllm, group_size

BUILD: dict[str, Callable[[Request, tuple[Kind, ...]], Engine]] = {
    "logical": Logical,
    "transformers": Transformers,
    "vllm": Vllm,
    "llama.cpp": LlamaCpp,
}


@dataclass(frozen=True)
class Line:
    """All layers of one kind. `bytes` is for every sequence and every rank; the others are for one sequence.

    `bytes_per_token` is what one more token adds at this length; `bytes_constant` what does not grow: states,
    windows that are full. `held` splits `bytes` by role; `part` is the kind itself, before it is split.
    """

    kind: str
    count: int
    bytes_per_token: int
    bytes_constant: int
    window: int | None
    bytes: int
    held: tuple[tuple[str, int], ...]
    part: Kind


@dataclass(frozen=True)
class Rank:
    """What the fullest device holds."""

    tp: int
    pp: int
    dp: int
    bytes: int


@dataclass(frozen=True)
class Budget:
    """A plan. `bytes_total` counts every rank of every replica; `logical_bytes` what one unsplit copy needs.

    For one sequence, `bytes_per_token` × tokens + `bytes_per_sequence_constant` is what it takes, tokens rounded
    up to the engine's pages.
    """

    request: Request
    bytes_total: int
    bytes_per_token: int
    bytes_per_sequence_constant: int
    lines: tuple[Line, ...]
    per_rank: Rank
    logical_bytes: int
    k_dtype: str
    v_dtype: str
    notes: tuple[str, ...]


class Sizer:
    """Sizes one request at any length and batch; what does not depend on them is worked out once."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.shards = shard_all(request.layout, request.tp)
        self.parts = Counter(each_part(request.layout.layers))
        stage_layers = stages(request.layout, request.pp, request.pp_layers)
        self.stages = [Counter(each_part(layers)) for layers in stage_layers]
        kept = tuple(self.shards[part] for part in self.parts)
        self.engine = BUILD[request.engine](request, kept)

    def hold(self, part: Kind, tokens: int, sequences: int) -> Held:
        """What one rank keeps of one layer's `part` for the sequences of its replica."""
        shard = self.shards[part]
        return {} if isinstance(shard, NoCache) else self.engine.hold(shard, tokens, sequences)

    def held(self, part: Kind, tokens: int, batch: int) -> Held:
        """What all ranks of all replicas keep of all layers of this kind."""
        held: Held = {}
        copies = self.request.tp * self.parts[part]
        for sequences, n_replicas in replicas(batch, self.request.dp).items():
            for role, size in self.hold(part, tokens, sequences).items():
                held[role] = held.get(role, 0) + size * copies * n_replicas
        return held

    def total(self, tokens: int, batch: int) -> int:
        """Bytes of all ranks of all replicas."""
        return sum(total(self.held(part, tokens, batch)) for part in self.parts)

    def rank(self, tokens: int, batch: int) -> int:
        """Bytes of the fullest device: the worst pipeline stage of the fullest replica."""
        sequences = next(iter(replicas(batch, self.request.dp)))
        size = {part: total(self.hold(part, tokens, sequences)) for part in self.parts}
        return max(sum(count * size[part] for part, count in stage.items()) for stage in self.stages)

    def peak(self, tokens: int, batch: int) -> int:
        """The most that the fullest device ever holds on the way to `tokens`.

        It is what it holds in the end, except where rows wait to be compressed (DeepSeek V4 in transformers):
        then it was more just before a block was full.
        """
        ratios = {part.ratio for part in self.parts if isinstance(part, CompressedAttention) and part.ratio}
        ends = {tokens, *(tokens - (tokens + 1) % ratio for ratio in ratios)}
        return max(self.rank(end, batch) for end in ends if end >= 0)

    def line(self, part: Kind) -> Line:
        """The line of a table for all layers of this kind."""
        tokens, batch = self.request.tokens, self.request.batch
        held = self.held(part, tokens, batch)
        span = self.engine.span * ((part.ratio or 1) if isinstance(part, CompressedAttention) else 1)
        at = up(tokens, span)
        before, after = total(self.held(part, at, batch)), total(self.held(part, at + span, batch))
        per_token = (after - before) // (span * batch)
        constant = max(0, -(-(before - at * per_token * batch) // batch))
        name = part.name
        size = total(held)
        return Line(name, self.parts[part], per_token, constant, part.window, size, tuple(held.items()), part)


def plan(request: Request) -> Budget:
    """Size a request.

    Raises ConfigError when the engine's rule for a layer is not known, or heads do not split, naming the field.
    """
    sizer = Sizer(request)
    lines = tuple(sizer.line(part) for part in sizer.parts)
    bytes_total = sum(line.bytes for line in lines)
    logical_bytes = needed(request, sizer.engine)
    notes = (*request.layout.notes, *sizer.engine.notes(), *idle(sizer), *compared(request, bytes_total, logical_bytes))
    return Budget(
        request=request,
        bytes_total=bytes_total,
        bytes_per_token=sum(line.bytes_per_token for line in lines),
        bytes_per_sequence_constant=sum(line.bytes_constant for line in lines),
        lines=lines,
        per_rank=Rank(request.tp, request.pp, request.dp, sizer.rank(request.tokens, request.batch)),
        logical_bytes=logical_bytes,
        k_dtype=sizer.engine.dtypes.k,
        v_dtype=sizer.engine.dtypes.v,
        notes=tuple(dict.fromkeys(notes)),
    )


def needed(request: Request, engine: Engine) -> int:
    """What one copy of the model needs in these dtypes, nothing padded and nothing split."""
    layout: Layout = request.logical or request.layout
    dtypes = engine.dtypes
    plain: dict[str, Any] = {"k_dtype": dtypes.k, "v_dtype": dtypes.v, "index_dtype": dtypes.index}
    bare = Request(
        layout,
        request.tokens,
        request.batch,
        encoder_tokens=request.encoder,
        prefix_shared=request.prefix_shared,
        **plain,
    )
    return Sizer(bare).total(request.tokens, request.batch)


def idle(sizer: Sizer) -> tuple[str, ...]:
    """A line about pages that vLLM's groups of layers leave unused, where a group is not full."""
    tokens, batch = sizer.request.tokens, sizer.request.batch
    size = {part: total(sizer.hold(part, tokens, batch)) for part in sizer.parts}
    counts = {part: count for part, count in sizer.parts.items() if size[part]}
    if not isinstance(sizer.engine, Vllm) or not counts:
        return ()
    in_group = group_size(counts.values())
    idle_bytes = sum((up(count, in_group) - count) * size[part] for part, count in counts.items())
    if not idle_bytes:
        return ()
    return (f"vLLM groups layers by {in_group}: groups that are not full keep {idle_bytes:,} B a rank idle",)


def compared(request: Request, allocated: int, logical_bytes: int) -> tuple[str, ...]:
    """A line that says how far the engine is from the mathematics, if it is."""
    if allocated == logical_bytes:
        return ()
    more = allocated - logical_bytes
    word = "more" if more > 0 else "less"
    name = request.engine if request.engine != "logical" else "this plan"
    share = f" ({abs(more) * 1000 // logical_bytes / 10:g} %)" if logical_bytes else ""
    return (f"{name} takes {abs(more):,} B {word}{share} than the {logical_bytes:,} B the layers need",)
