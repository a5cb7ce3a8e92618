"""The budget in one call, for programs: a config or a model's name in, a `Budget` out."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from glasscli.budget.engines import ENGINES
from glasscli.budget.plan import Budget, plan
from glasscli.budget.request import Request
from glasscli.budget.subjects import from_config, from_name


def cache_size(
    model: Mapping[str, Any] | str,
    tokens: int,
    *,
    engine: str = "logical",
    assume_plain: bool = False,
    **settings: Any,
) -> Budget:
    """How many bytes the KV cache of `model` takes when a sequence holds `tokens`.

    Args:
        model: the settings of a config.json, or the name of a well-known model ("llama-3.1-8b").
        engine: "logical" (what the mathematics needs), "transformers", "vllm" or "llama.cpp".
        assume_plain: a model_type that glass does not know is plain attention; otherwise it is refused.
        settings: what else `Request` takes (batch, k_dtype, v_dtype, tp, pp, dp, prefix_shared, …), and the
            engine's own options by name (block_size, n_ubatch, …).

    Returns:
        exact bytes, as whole numbers: `bytes_total`, `bytes_per_token` and what else `Budget` holds.

    Raises:
        ConfigError: the config is broken, or describes what glass has no rule for; `field` names the key.
        UsageError: a setting is out of range or of another engine, or no model has that name.
        TypeError: a setting that neither a request nor any engine has.
    """
    asked = {own.name for own in fields(Request)}
    options = dict(settings.pop("options", {}))
    for name in settings.keys() - asked:
        if not any(name in each.options for each in ENGINES.values()):
            raise TypeError(f"cache_size() got an unexpected keyword argument {name!r}")
        options[name] = settings.pop(name)
    if isinstance(model, str):
        subject = from_name(model, engine)
    else:
        subject = from_config(model, engine, assume_plain=assume_plain)
    return plan(Request(subject.layout, tokens, engine=engine, logical=subject.logical, options=options, **settings))
