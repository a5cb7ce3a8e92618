"""What a plan says in words: what must be known to read its numbers, how far an engine is from the mathematics, why."""

from glasscli.budget.engines.engine import Server, total
from glasscli.budget.sizer import Sizer
from glasscli.units import decimal, short_bytes


def warned(sizer: Sizer, needed: int) -> tuple[str, ...]:
    """What must be known to read the numbers right, a line each: `needed` is what one copy of the model needs."""
    said = (
        *beyond(sizer),
        *sizer.request.layout.notes,
        *sizer.engine.warnings(),
        *copies(sizer, needed),
        *unused(sizer),
        *no_encoder(sizer),
    )
    return tuple(dict.fromkeys(said))


def explained(sizer: Sizer, allocated: int, needed: int) -> tuple[str, ...]:
    """How the numbers came about, a line each: `allocated` on all ranks, `needed` by one copy of the model."""
    said = (*sizer.engine.notes(), *idle(sizer), *compared(sizer, allocated, needed))
    return tuple(dict.fromkeys(said))


def beyond(sizer: Sizer) -> tuple[str, ...]:
    """A line about a length that the model was not made for, and what the engine does with it."""
    tokens, most = sizer.request.tokens, sizer.request.layout.max_positions
    if most is None or tokens <= most:
        return ()
    does = sizer.engine.too_long if isinstance(sizer.engine, Server) else ""
    return (f"{tokens:,} tokens are more than the {most:,} the model was made for" + (does and f": {does}"),)


def copies(sizer: Sizer, needed: int) -> tuple[str, ...]:
    """Lines about what several tensor-parallel ranks keep alike, and what that comes to."""
    tp = sizer.request.tp
    said = sorted(f"tp {tp}: {text}" for text in {part.copies(tp) for part in sizer.parts} if text) if tp > 1 else []
    held = on_all_ranks(sizer) if said and sizer.request.dcp == 1 else needed
    if held > needed:
        said[-1] += f"; one copy would be {short_bytes(needed)}, all ranks keep {short_bytes(held)}"
    if said and sizer.request.dcp > 1:
        said[-1] += f"; dcp {sizer.request.dcp}: but of one in {sizer.request.dcp} tokens only"
    return tuple(said)


def on_all_ranks(sizer: Sizer) -> int:
    """What the layers need on all ranks together, copies counted, without any engine's padding."""
    request = sizer.request
    bare = request.as_mathematics(
        sizer.engine.dtypes,
        prefix_shared=request.prefix_shared,
        tp=request.tp,
        dp=request.dp,
        options={"draft_layers": request.draft_layers},
    )
    return Sizer(bare).total(request.tokens, request.batch)


def unused(sizer: Sizer) -> tuple[str, ...]:
    """A line about a dtype that was asked for and plays no part."""
    request = sizer.request
    if request.v_dtype is None or sizer.engine.dtypes.v == sizer.engine.dtypes.k:
        return ()
    roles = {role for part in sizer.parts for role in sizer.hold(part, request.tokens, 1)}
    return () if roles & {"v", "cross_v"} else (f"no values are kept apart: {request.v_dtype} plays no part",)


def no_encoder(sizer: Sizer) -> tuple[str, ...]:
    """A line about an encoder whose length nobody said: its cache is not in the sum."""
    request = sizer.request
    crosses = any(part.tensors(request.tokens, 1) != part.tensors(request.tokens) for part in sizer.parts)
    if not crosses or request.encoder or request.encoder_tokens is not None:
        return ()
    return ("encoder_tokens is not given: the cache of the encoder's tokens is not counted",)


def idle(sizer: Sizer) -> tuple[str, ...]:
    """Lines about what the engine sets aside and does not use."""
    tokens, batch = sizer.request.tokens, sizer.request.batch
    size = {part: total(sizer.hold(part, tokens, batch)) for part in sizer.parts}
    return sizer.engine.idle({part: count for part, count in sizer.parts.items() if size[part]}, size)


def compared(sizer: Sizer, allocated: int, needed: int) -> tuple[str, ...]:
    """A line that says how far the engine is from what the layers need on its ranks, if it is."""
    request = sizer.request
    if max(request.dcp, request.pcp) > 1:  # ranks that share a sequence's tokens keep what no single copy does
        return ()
    if request.tp * request.dp > 1:
        needed = on_all_ranks(sizer)
    if allocated == needed:
        return ()
    more = allocated - needed
    name = sizer.engine.title if request.engine != "logical" else "this plan"
    if more > needed > 0:
        times = decimal(allocated, needed)
        return (f"{name} takes {times} × the {short_bytes(needed)} the layers need",)
    share = f" ({decimal(abs(more) * 100, needed)} %)" if needed else ""
    word = "more" if more > 0 else "less"
    return (f"{name} takes {short_bytes(abs(more))} {word}{share} than the {short_bytes(needed)} the layers need",)
