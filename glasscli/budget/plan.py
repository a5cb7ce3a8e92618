"""The answer to a `Request`: bytes in all, a line for each kind of layer, and what one rank holds."""

from dataclasses import dataclass, replace

from glasscli.budget.engines.engine import Engine, total, up
from glasscli.budget.explain import explained, warned
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer
from glasscli.specs.cache_spec import CacheSpec


@dataclass(frozen=True)
class Line:
    """All layers of one kind. `bytes` is for every sequence and every rank; the others are for one sequence.

    `bytes_per_token` is what one more token adds at this length; `bytes_constant` what does not grow: states,
    windows that are full. `held` splits `bytes` by role; `part` is the spec itself, before it is split.
    """

    kind: str
    count: int
    bytes_per_token: int
    bytes_constant: int
    window: int | None
    bytes: int
    held: tuple[tuple[str, int], ...]
    part: CacheSpec


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
    up to the engine's pages and, where all of them are packed in groups (KIVI), down to whole groups. `notes` is all
    there is to say, a line each; of those, `warnings` must be known to read the numbers right. `edition` is the version
    of the engine whose rules these are, empty where it has none.
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
    warnings: tuple[str, ...] = ()
    edition: str = ""

    @property
    def n_layers(self) -> int:
        """Layers of the model, and those that draft for it."""
        request = self.request
        return request.layout.n_layers + request.draft_layers + (request.draft.n_layers if request.draft else 0)

    @property
    def beyond(self) -> bool:
        """Whether the model was not made for such a length; if so, the first of the warnings says it."""
        most = self.request.layout.max_positions
        return most is not None and self.request.tokens > most

    def _repr_html_(self) -> str:
        """What a notebook shows: a table, a line for each kind of layer."""
        from glasscli.budget.html_table import budget_table

        return budget_table(self)


def plan(request: Request) -> Budget:
    """Size a request.

    Raises ConfigError when the engine's rule for a layer is not known, or heads do not split, naming the field.
    """
    sizer = Sizer(request)
    lines = with_idle(tuple(line_of(sizer, part) for part in sizer.parts), sizer)
    bytes_total = sum(line.bytes for line in lines)
    logical_bytes = needed(request, sizer.engine)
    warnings = warned(sizer, logical_bytes)
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
        notes=(*warnings, *explained(sizer, bytes_total, logical_bytes)),
        warnings=warnings,
        edition=sizer.engine.edition,
    )


def line_of(sizer: Sizer, part: CacheSpec) -> Line:
    """The line of a table for all layers of this kind."""
    tokens, batch = sizer.request.tokens, sizer.request.batch
    held = sizer.held(part, tokens, batch)
    span = sizer.engine.span * part.stride
    at = up(tokens, span)
    before, after = (total(sizer.held(part, length, batch)) for length in (at, at + span))
    per_token = (after - before) // (span * batch)
    return Line(
        kind=part.name,
        count=sizer.parts[part],
        bytes_per_token=per_token,
        bytes_constant=max(0, -(-(before - at * per_token * batch) // batch)),
        window=part.window,
        bytes=total(held),
        held=tuple(held.items()),
        part=part,
    )


def with_idle(lines: tuple[Line, ...], sizer: Sizer) -> tuple[Line, ...]:
    """The lines, with what an engine takes for them and no layer writes to: each has a share by its layers."""
    tokens, batch = sizer.request.tokens, sizer.request.batch
    idle, n_layers = sizer.idle_in_all(tokens, batch), sum(line.count for line in lines)
    made = []
    for line in lines:
        share = idle * line.count // n_layers if idle else 0
        idle, n_layers = idle - share, n_layers - line.count
        made.append(
            replace(
                line,
                bytes=line.bytes + share,
                bytes_constant=line.bytes_constant - (-share // batch),
                held=(*line.held, ("idle", share)),
            )
            if share
            else line
        )
    return tuple(made)


def needed(request: Request, engine: Engine) -> int:
    """What one copy of the model needs in these dtypes, nothing padded and nothing split."""
    drafts = {"draft_layers": request.draft_layers}
    bare = request.as_mathematics(engine.dtypes, prefix_shared=request.prefix_shared, options=drafts)
    return Sizer(bare).total(request.tokens, request.batch)
