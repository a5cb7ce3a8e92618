"""Whose memory is counted, and what was set of that engine by its own names."""

from dataclasses import fields
from typing import Any

from glasscli.budget.engines import ENGINES
from glasscli.cli.commands.kv_budget.options import Options
from glasscli.cli.commands.kv_budget.values import count
from glasscli.cli.other_names import words
from glasscli.errors import UsageError
from glasscli.likeness import did_you_mean

PAGES = ("block_size", "page_size", "tokens_per_block")  # what engines call the tokens of a page


def engine(options: Options) -> str:
    """Whose memory to count; `--emit` counts what the engine it writes for allocates."""
    asked_for = options.engine or "logical"
    if options.emit is None or asked_for == options.emit:
        return asked_for
    if asked_for != "logical":
        raise UsageError(f"--engine {asked_for} and --emit {options.emit} are different engines")
    return options.emit


def engine_settings(options: Options) -> dict[str, Any]:
    """Settings of the engine, by its own names, from `--setting name=value` and `--page`."""
    offered = ENGINES[engine(options)].options
    found: dict[str, Any] = {}
    for text in options.setting or []:
        name, _, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if name not in offered:
            raise UsageError(f"--setting {text}: {no_setting(name, engine(options))}")
        if not value:
            raise UsageError(f"--setting {text}: write NAME=VALUE, like {name}={str(offered[name].default).lower()}")
        found[name] = setting_value(text, value.lower(), offered[name].type)
    if options.page is not None:
        own = next((name for name in PAGES if name in offered), None)
        if own is None:
            raise UsageError(f"--page: {engine(options)} has no pages")
        found[own] = count("--page", options.page, most=2**30)
    return found


def no_setting(name: str, engine: str) -> str:
    """What to say of a setting that an engine has not: whose it is, or what was perhaps meant."""
    owners = [other.name for other in ENGINES.values() if name in other.options]
    if owners:
        return f"a setting of {' and '.join(owners)}, not of {engine}. Name the engine: --engine {owners[0]}"
    flag, here = f"--{name.replace('_', '-')}", {field.name for field in fields(Options)}
    own = [flag] if name in here else []
    own += [word.own for word in words() if word.typed == flag and word.own[2:].replace("-", "_") in here]
    if own:
        return f"here it is an option of its own: {own[0]}"
    offered = ENGINES[engine].options
    hint = did_you_mean(name, offered) or f"Its settings: {', '.join(offered) or 'none'}."
    return f"{engine} has no such setting. {hint}"


def setting_value(text: str, value: str, kind: type) -> bool | int | str:
    """`value` as the type of the setting."""
    if kind is bool:
        if value not in ("true", "yes", "on", "1", "false", "no", "off", "0"):
            raise UsageError(f"--setting {text!r}: true or false")
        return value in ("true", "yes", "on", "1")
    if kind is str:
        return value
    return 0 if value == "0" else count(f"--setting {text!r}", value)
