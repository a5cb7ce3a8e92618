"""What `glass kv-budget` says of its command line: flags it assumed, to be pasted, and flags to try next."""

from collections.abc import Sequence

from glasscli.budget.questions import Settings
from glasscli.cli.commands.kv_budget.options import Asked
from glasscli.cli.commands.kv_budget.parse import CONTEXTS
from glasscli.cli.commands.kv_budget.remarks import Said


def said_of_heads(asked: Asked) -> Said:
    """What head counts alone leave open, as flags that can be pasted, and flags to try."""
    flags: list[tuple[str, object, str]] = [("--hkv", asked.hkv, asked.hq or ""), ("--layers", asked.layers, "32")]
    flags += [("--head-dim", asked.head_dim, "128")]
    if asked.k_dtype is None or asked.v_dtype is None:
        flags.append(("--dtype", asked.dtype, "f16"))
    flags += [("--batch", asked.batch, "1"), ("--ctx", asked.tokens, written(CONTEXTS))]
    assumed = tuple(f"{name} {default}" for name, value, default in flags if value is None)
    return Said(assumed, tries(asked, ("--ctx 8k,128k", asked.tokens), ("--k-dtype q8_0", asked.k_dtype)))


def said_of_model(asked: Asked, plan: Settings) -> Said:
    """What was not said about a model, as flags that can be pasted, and flags to try."""
    flags = (
        ("--batch", asked.batch, "1"),
        ("--engine", asked.engine, "logical"),
        ("--ctx", asked.tokens, written(plan.tokens)),
    )
    assumed = tuple(f"{name} {default}" for name, value, default in flags if value is None)
    return Said(assumed, tries(asked, ("--batch 8", asked.batch)))


def tries(asked: Asked, *more: tuple[str, object]) -> tuple[str, ...]:
    """Flags worth trying that have not been used."""
    flags = [*more, ("--engine vllm", asked.engine), ("--budget 80GB", asked.budget)]
    return (*(flag for flag, used in flags if used is None), "--sweep", "--json")


def written(counts: Sequence[int]) -> str:
    """Counts as a person would type them: `1k,8k,100`."""
    return ",".join(f"{n // 1024}k" if n % 1024 == 0 else f"{n}" for n in counts)
