"""What a plan says in words: how far an engine is from the mathematics, and why."""

from glasscli.budget.engines.engine import total
from glasscli.budget.request import Request
from glasscli.budget.sizer import Sizer


def explained(sizer: Sizer, allocated: int, logical_bytes: int) -> tuple[str, ...]:
    """All that is worth saying about a plan, a line each, without repeats."""
    said = (
        *sizer.request.layout.notes,
        *sizer.engine.notes(),
        *copies(sizer),
        *unused(sizer),
        *no_encoder(sizer),
        *idle(sizer),
        *compared(sizer.request, allocated, logical_bytes),
    )
    return tuple(dict.fromkeys(said))


def copies(sizer: Sizer) -> tuple[str, ...]:
    """Lines about what several tensor-parallel ranks keep alike."""
    tp = sizer.request.tp
    if tp == 1:
        return ()
    said = {part.copies(tp) for part in sizer.parts}
    return tuple(sorted(f"tp {tp}: {text}" for text in said if text))


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


def compared(request: Request, allocated: int, logical_bytes: int) -> tuple[str, ...]:
    """A line that says how far the engine is from the mathematics, if it is."""
    if allocated == logical_bytes:
        return ()
    more = allocated - logical_bytes
    word = "more" if more > 0 else "less"
    name = request.engine if request.engine != "logical" else "this plan"
    share = f" ({abs(more) * 1000 // logical_bytes / 10:g} %)" if logical_bytes else ""
    return (f"{name} takes {abs(more):,} B {word}{share} than the {logical_bytes:,} B the layers need",)
