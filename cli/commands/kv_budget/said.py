"""What `glass kv-budget` says of its command line: flags it assumed, to be pasted, and flags to try next."""

from collections.abc import Sequence

from glasscli.budget.questions import Settings
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.parse import CONTEXTS
from glasscli.cli.commands.kv_budget.remarks import Said


def said_of_heads(options: Options) -> Said:
    """What head counts alone leave open, as flags that can be pasted, and flags to try."""
    flags: list[tuple[str, object, str]] = [("--hkv", options.hkv, options.hq or "")]
    flags += [("--layers", options.layers, "32"), ("--head-dim", options.head_dim, "128")]
    if options.k_dtype is None or options.v_dtype is None:
        flags.append(("--dtype", options.dtype, "f16"))
    flags += [("--batch", options.batch, "1"), ("--ctx", options.tokens, written(CONTEXTS))]
    assumed = tuple(f"{name} {default}" for name, value, default in flags if value is None)
    return said(options, assumed, ("--ctx 8k,128k", options.tokens), ("--k-dtype q8_0", options.k_dtype))


def said_of_model(options: Options, plan: Settings) -> Said:
    """What was not said about a model, as flags that can be pasted, and flags to try."""
    flags = (
        ("--batch", options.batch, "1"),
        ("--engine", options.engine, "logical"),
        ("--ctx", options.tokens, written(plan.tokens)),
    )
    assumed = tuple(f"{name} {default}" for name, value, default in flags if value is None)
    return said(options, assumed, ("--batch 8", options.batch))


def said(options: Options, assumed: tuple[str, ...], *more: tuple[str, object]) -> Said:
    """How much to say; what was assumed, and flags worth trying that have not been used."""
    timed = options.bandwidth is not None
    if options.quiet:
        return Said(quiet=True, timed=timed)
    flags = [*more, ("--engine vllm", options.engine), ("--budget 80GB", options.budget)]
    tries = [flag for flag, used in flags if used is None]
    tries += ["--sweep"] if options.verbose else ["-v (all there is to say)", "--sweep"]
    return Said(assumed, tuple(tries), verbose=options.verbose, timed=timed)


def written(counts: Sequence[int]) -> str:
    """Counts as a person would type them: `1k,8k,100`."""
    return ",".join(f"{n // 1024}k" if n % 1024 == 0 else f"{n}" for n in counts)
