"""Sizes one request at any length and batch: the engine's bytes for a layer, times layers, ranks and replicas."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from glasscli.budget.engines import ENGINES
from glasscli.budget.engines.engine import Engine, Held, total
from glasscli.budget.parallel import replicas, shard_all, stages
from glasscli.budget.request import Request
from glasscli.errors import ConfigError
from glasscli.specs.attention_specs import CacheSpec, CompressedAttention, each_part


class Sizer:
    """One request at any length and batch; what does not depend on them is worked out once.

    `parts` counts the layers that hold each part; `shards` says what one rank has of those that keep anything;
    `layers` counts them for each pipeline stage, `stages` with the places that an engine sets aside for layers that
    are not there. The engine is the one that the request names, unless `engine` is given.
    """

    def __init__(self, request: Request, engine: type[Engine] | None = None) -> None:
        self.request = request
        shards = shard_all(request.layout, request.tp)
        shards |= {part: part.shard(request.tp) for part in drafts(request)}
        if request.draft is not None:
            shards = shard_all(request.draft, request.tp) | shards
        stage_layers = stages(request.layout, request.pp, request.pp_layers)
        stage_layers[-1] += drafts(request) + (request.draft.layers if request.draft is not None else ())
        self.parts = Counter(each_part(sum(stage_layers, ())))
        self.shards = {part: shards[part] for part in self.parts if not part.keeps_nothing}
        self.engine = (engine or ENGINES[request.engine])(request, tuple(self.shards.values()))
        self.layers = [Counter(each_part(layers)) for layers in stage_layers]
        self.stages = [self.places(counts) for counts in self.layers]

    @property
    def kept_empty(self) -> int:
        """Bytes of the fullest device's pool that no request gets."""
        return max(
            self.engine.kept_empty({self.shards[part]: count for part, count in stage.items()}) for stage in self.stages
        )

    def places(self, counts: Mapping[CacheSpec, int]) -> Mapping[CacheSpec, int]:
        """How many layers a stage has room for: `counts` without those that keep nothing, as the engine groups them."""
        return self.engine.places({part: count for part, count in counts.items() if part in self.shards})

    def hold(self, part: CacheSpec, tokens: int, sequences: int) -> Held:
        """What one rank keeps of one layer's `part` for the sequences of its replica."""
        return self.engine.hold(self.shards[part], tokens, sequences) if part in self.shards else {}

    def held(self, part: CacheSpec, tokens: int, batch: int) -> Held:
        """What all ranks of all replicas keep of all layers with this part."""
        held: Held = {}
        copies = self.request.tp * self.request.pcp * sum(stage.get(part, 0) for stage in self.stages)
        for sequences, n_replicas in replicas(batch, self.request.dp).items():
            for role, size in self.hold(part, tokens, sequences).items():
                held[role] = held.get(role, 0) + size * copies * n_replicas
        return held

    def total(self, tokens: int, batch: int) -> int:
        """Bytes of all ranks of all replicas."""
        return sum(total(self.held(part, tokens, batch)) for part in self.parts) + self.idle_in_all(tokens, batch)

    def rank(self, tokens: int, batch: int) -> int:
        """Bytes of the fullest device: the worst pipeline stage of the fullest replica."""
        sequences = next(iter(replicas(batch, self.request.dp)))
        size = {part: total(self.hold(part, tokens, sequences)) for part in self.parts}
        return max(
            sum(count * size[part] for part, count in stage.items()) + self.idle(stage, tokens, sequences)
            for stage in self.stages
        )

    def idle(self, stage: Mapping[CacheSpec, int], tokens: int, sequences: int) -> int:
        """Bytes of a stage that are taken for its sequences and that no layer writes to."""
        counts = {self.shards[part]: count for part, count in stage.items()}
        pooled = self.engine.pooled(counts, tokens, sequences)
        if pooled is None:
            return 0
        return pooled - sum(n * total(self.engine.hold(part, tokens, sequences)) for part, n in counts.items())

    def idle_in_all(self, tokens: int, batch: int) -> int:
        """`idle` of all ranks of all replicas."""
        return sum(
            self.request.tp * self.request.pcp * n_replicas * self.idle(stage, tokens, sequences)
            for sequences, n_replicas in replicas(batch, self.request.dp).items()
            for stage in self.stages
        )

    def peak(self, tokens: int, batch: int) -> int:
        """The most that the fullest device ever holds on the way to `tokens`.

        It is what it holds in the end, except where rows wait to be compressed (DeepSeek V4 in transformers):
        then it was more just before a block was full.
        """
        strides = {part.stride for part in self.parts if part.stride > 1}
        ends = {tokens, *(tokens - (tokens + 1) % stride for stride in strides)}
        return max(self.rank(end, batch) for end in ends if end >= 0)


def drafts(request: Request) -> tuple[CacheSpec, ...]:
    """The layers of the draft head that were asked for: they hold every token, in the model's own geometry.

    Where layers of the model share an index, a draft layer still keeps one of its own.
    """
    count = request.draft_layers
    full = [part for part in each_part(request.layout.layers) if part.is_full]
    alone = [part for part in each_part(request.layout.layers) if isinstance(part, CompressedAttention)]
    if count and alone:  # DeepSeek V4's draft with the window alone
        return (replace(alone[-1], ratio=0, index_dim=0),) * count
    if count and not full:
        raise ConfigError("no layer holds every token, so what a draft layer holds is not known", "draft_layers")
    indexed = [part for part in full if any(tensor.role == "index" for tensor in part.tensors(1, 1))]
    return ((indexed or full)[-1],) * count if count else ()
