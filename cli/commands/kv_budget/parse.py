"""From what was typed to what is meant: every mistake of the command line is found here, before any work."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

from glasscli.budget.engines import ENGINES, servers
from glasscli.budget.questions import Settings
from glasscli.budget.subjects import MOST_LAYERS, Heads, Subject, divisors_near
from glasscli.cli.commands.kv_budget.options import Asked
from glasscli.dtypes import dtype_named
from glasscli.errors import UsageError
from glasscli.units import LARGEST, parse_bandwidth, parse_bytes, parse_counts

CONTEXTS = (1024, 8192, 32768, 131072)
BANDWIDTH = "3.35TB/s"  # an H100 SXM's
# Options of which at most one may be given.
APART = (("--json", "--csv", "--emit"), ("--sweep", "--emit"), ("--sweep", "--require-fit"), ("--compare", "--emit"))


def count(option: str, text: str | None, default: int = 1, most: int = LARGEST) -> int:
    """The whole number that `option` was given, from 1 to `most`."""
    if text is None:
        return default
    counts = counts_of(option, [text])
    if len(counts) != 1:
        raise UsageError(f"{option} takes one number, found {text!r}")
    if counts[0] > most:
        raise UsageError(f"{option} {text}: at most {most:,}")
    return counts[0]


def counts_of(option: str, texts: list[str]) -> tuple[int, ...]:
    """The whole numbers that `option` was given; a mistake names the option."""
    try:
        return parse_counts(texts)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def size(option: str, text: str | None) -> int | None:
    """The bytes that `option` was given."""
    try:
        return None if text is None else parse_bytes(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def bandwidth(asked: Asked) -> int:
    """Bytes a second that a rank reads."""
    try:
        return parse_bandwidth(asked.bandwidth or BANDWIDTH)
    except UsageError as error:
        raise UsageError(f"--bandwidth: {error}") from None


def dtype(option: str, text: str | None) -> str | None:
    """The name of the dtype that `option` was given, as we write it."""
    try:
        return None if text is None else dtype_named(text).name
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def check(asked: Asked) -> None:
    """Refuse options that contradict each other, or that say too little."""
    heads = asked.hq is not None or asked.hkv is not None
    named = [("--config", asked.config), ("--model", asked.model), ("--compare", asked.compare)]
    ways = [("--hq", heads), *((name, value is not None) for name, value in named), ("--list", asked.list_models)]
    given = [name for name, value in ways if value]
    if not given:
        raise UsageError(
            "which model? Give head counts (--hq 32 --hkv 8), a file (--config config.json)\n"
            "or a name (--model llama-3.1-8b; --list shows all)."
        )
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one model at a time. To see several, use --compare a,b.")
    if asked.hkv is not None and asked.hq is None:
        raise UsageError("--hkv needs --hq: how many query heads share those key/value heads?")
    for name, value in (("--head-dim", asked.head_dim), ("--layers", asked.layers)):
        if value is not None and not heads:
            raise UsageError(f"{name} belongs to --hq and --hkv; {given[0]} brings its own")
    if asked.dtype is not None and asked.k_dtype is not None and asked.v_dtype is not None:
        raise UsageError("--dtype sets both K and V; leave it out beside --k-dtype and --v-dtype")
    if asked.require_fit and asked.budget is None:
        raise UsageError("--require-fit needs --budget, like --budget 24GiB")
    for forms in APART:
        chosen = [name for name in forms if given_forms(asked)[name]]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} don't go together")


def given_forms(asked: Asked) -> dict[str, bool]:
    """Which options were given that decide the form of the answer."""
    return {
        "--json": asked.as_json,
        "--csv": asked.as_csv,
        "--emit": asked.emit is not None,
        "--sweep": asked.sweep,
        "--require-fit": asked.require_fit,
        "--compare": asked.compare is not None,
    }


def heads(asked: Asked) -> Heads:
    """The head counts, checked; what was not given is assumed."""
    hq = count("--hq", asked.hq)
    hkv = count("--hkv", asked.hkv, default=hq)
    if hkv > hq:
        raise UsageError(f"--hkv {hkv:,} is more than --hq {hq:,}. Key/value heads are shared, not split: 1 to {hq:,}.")
    if hq % hkv:
        near = [f"{n}" for n in divisors_near(hq, hkv)]
        choice = " or ".join([", ".join(near[:-1]), near[-1]])
        raise UsageError(f"--hkv {hkv} does not divide --hq {hq}. Query heads must split evenly.\nTry --hkv {choice}.")
    layers = count("--layers", asked.layers, 32, MOST_LAYERS)
    name = dtype("--dtype", asked.dtype) or "f16"
    return Heads(hq, hkv, count("--head-dim", asked.head_dim, 128), layers, name)


def settings(asked: Asked) -> Settings:
    """The plan that was asked for, without the model."""
    both = dtype("--dtype", asked.dtype)
    tokens = counts_of("--tokens", asked.tokens) if asked.tokens else ()
    encoder = asked.encoder_tokens
    return Settings(
        tokens=tokens or CONTEXTS,
        batch=count("--batch", asked.batch),
        k_dtype=dtype("--k-dtype", asked.k_dtype) or both,
        v_dtype=dtype("--v-dtype", asked.v_dtype) or both,
        engine=engine(asked),
        encoder_tokens=None if encoder is None else 0 if encoder == "0" else count("--encoder-tokens", encoder),
        tp=count("--tp", asked.tp, most=65536),
        pp=count("--pp", asked.pp, most=65536),
        dp=count("--dp", asked.dp, most=10**9),
        prefix_shared=0 if asked.prefix_shared in (None, "0") else count("--prefix-shared", asked.prefix_shared),
        options=options(asked),
    )


def shortened(asked: Asked, plan: Settings, subject: Subject) -> Settings:
    """`plan` with default contexts that the model was made for."""
    most = subject.logical.max_positions
    if asked.tokens or most is None:
        return plan
    tokens = tuple(n for n in CONTEXTS if n < most)
    return replace(plan, tokens=(*tokens, most))


def compared(asked: Asked) -> list[tuple[str, bool]]:
    """The models of `--compare`: a name or a path, and whether it is a path."""
    names = [name.strip() for name in (asked.compare or "").split(",") if name.strip()]
    if len(names) < 2:
        raise UsageError(
            "--compare takes two or more models with commas between: --compare llama-2-70b,mistral-7b-v0.1"
        )
    if names.count("-") > 1:
        raise UsageError("--compare: standard input can be read once")
    return [(name, name == "-" or name.endswith(".json") or Path(name).exists()) for name in names]


def span(asked: Asked, plan: Settings, subjects: Sequence[Subject]) -> tuple[int, int]:
    """The contexts that a sweep goes from and to: those asked for, else all that the models were made for."""
    if asked.tokens and len(plan.tokens) > 1:
        return min(plan.tokens), max(plan.tokens)
    most = [subject.logical.max_positions or CONTEXTS[-1] for subject in subjects]
    last = plan.tokens[0] if asked.tokens else max(most)
    return max(1, min(128, last // 8)), last


def loadable(asked: Asked) -> str:
    """What an engine is to load: the folder of the config if it loads those, else a name to fill in."""
    assert asked.emit is not None
    server = servers()[asked.emit]
    if not server.loads_folders:
        return server.loads
    path = Path(asked.config or "-")
    folder = path if path.is_dir() else path.parent if path.name == "config.json" else None
    return server.loads if folder is None or not str(folder).isprintable() else str(folder)


def where(name: str) -> str:
    """How a config is called in messages."""
    return "standard input" if name == "-" else name


def engine(asked: Asked) -> str:
    """Whose memory to count; `--emit` counts what the engine it writes for allocates."""
    asked_for = asked.engine or "logical"
    if asked.emit is None or asked_for == asked.emit:
        return asked_for
    if asked_for != "logical":
        raise UsageError(f"--engine {asked_for} and --emit {asked.emit} are different engines")
    return asked.emit


def options(asked: Asked) -> dict[str, Any]:
    """Settings of the engine, by its own names, from `--setting name=value` and `--page`."""
    offered = ENGINES[engine(asked)].options
    found: dict[str, Any] = {}
    for text in asked.setting or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if name not in offered or not equals:
            known = ", ".join(offered) or "none"
            raise UsageError(f"--setting {text!r}: write NAME=VALUE. Settings of {engine(asked)}: {known}.")
        found[name] = setting_value(text, value.lower(), offered[name].type)
    if asked.page is not None:
        if "block_size" not in offered:
            raise UsageError(f"--page: {engine(asked)} has no pages")
        found["block_size"] = count("--page", asked.page, most=2**30)
    return found


def known_settings() -> str:
    """Every setting of every engine and what it is unless set, as a block of the help, 78 columns wide."""
    lines = []
    for engine in ENGINES.values():
        lines += [f"  {engine.name}"] if engine.options else []
        for name, option in engine.options.items():
            first, *more = wrap(option.says, 44)
            lines.append(f"    {f'{name}={str(option.default).lower()}':<29} {first}")
            lines += [" " * 34 + text for text in more]
    return "\n".join(lines)


def setting_value(text: str, value: str, kind: type) -> bool | int | str:
    """`value` as the type of the setting."""
    if kind is bool:
        if value not in ("true", "yes", "on", "1", "false", "no", "off", "0"):
            raise UsageError(f"--setting {text!r}: true or false")
        return value in ("true", "yes", "on", "1")
    if kind is str:
        return value
    return 0 if value == "0" else count(f"--setting {text!r}", value)
