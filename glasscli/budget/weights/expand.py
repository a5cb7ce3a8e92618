"""From a config to its weights: an outline's lines, computed for the model and for each of its layers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from glasscli.budget.weights.classes import defaults, inner_class
from glasscli.budget.weights.names import FFN, Names
from glasscli.budget.weights.outline import Inner, Line, Stack
from glasscli.budget.weights.reader import library
from glasscli.budget.weights.weight import Part, Weight
from glasscli.config.families import known
from glasscli.config.families.family import Family, layer_count, layer_types, listed_values, per_layer
from glasscli.config.families.fields import MAX_LAYERS, Fields, shown
from glasscli.config.families.geometry import LAYERS, WIDTH
from glasscli.config.families.nested import SAME
from glasscli.config.families.remote_code_models import OWN_CODE
from glasscli.config.families.table import FAMILIES
from glasscli.errors import ConfigError

SIZES = frozenset((*FFN, "moe_intermediate_size", "shared_expert_intermediate_size"))


def expanded(read: Fields, model_type: str, words: Mapping[str, str] | None = None) -> list[Weight]:
    """All weights of the model that `read` describes; `words` are meanings that its surroundings give.

    Raises ConfigError, naming the field or the type.
    """
    outline = library().models.get(model_type)
    if outline is None:
        read.refuse("model_type", f"is {shown(model_type or None)}: what weights such a model has is not known")
    parts = {
        inner.place: _inner(read, model_type, inner) for inner in outline.inner if _is_there(read, model_type, inner)
    }
    meaning = {**library().words["usual"], **outline.words, **(words or {})}
    names = Names(read, meaning, {}, {place: part for place, (part, _) in parts.items()})
    for condition, at_fault, why in outline.unknown:
        if names.holds(condition):
            read.refuse(at_fault, why)
    found = [made for line in outline.top for made in _made(line, names, "", -1)]
    for stack in outline.stacks:
        found += _layers(stack, names, model_type)
    for inner in outline.inner:
        if inner.place in parts and names.holds(inner.condition):
            found += _nested(inner, *parts[inner.place], names)
    return found


def _nested(inner: Inner, read: Fields, model_type: str, outer: Names) -> Iterator[Weight]:
    """The weights of a model in a model. What words mean there is computed out here."""
    words = {word: repr(outer.value(text)) for word, text in inner.words.items()}
    as_part: Part | None = inner.part or None  # type: ignore[assignment]
    for made in expanded(read, model_type, words):
        stage = -1 if as_part else made.stage
        yield replace(made, name=f"{inner.place}.{made.name}", part=as_part or made.part, stage=stage)


def _is_there(read: Fields, model_type: str, inner: Inner) -> bool:
    """Whether the model nests something there: refused where it must, and the config doesn't say what."""
    if read.has(inner.place) or (not inner.part and read.has(*LAYERS)):
        return True
    if inner_class(model_type, inner.place)[0]:
        read.refuse(inner.place, "is missing: expected the fields of the model that it describes")
    return False


def _resized(given: Mapping[str, Any], usual: Mapping[str, Any]) -> bool:
    """Whether a nested language model states another width than its class's: then it states its MLPs' width, too."""
    return any(given.get(name) is not None and given[name] != usual.get(name, given[name]) for name in WIDTH)


def _inner(read: Fields, model_type: str, inner: Inner) -> tuple[Fields, str]:
    """The config in a field, with its class's defaults, and its model type.

    A language model may stand flat, beside the others' fields, as some checkpoints are written.
    """
    given = read.mapping(inner.place)
    usual, fixed = inner_class(model_type, inner.place)
    own = usual if fixed else (given or {}).get("model_type") or usual
    if not isinstance(own, str):
        read.refuse(inner.place, f"has the model_type {shown(own)}: expected a word")
    own = SAME.get((model_type, own), own)
    base = {**known.defaults(own), **defaults(own)}
    if given is not None and not inner.part and _resized(given, base):
        base = {name: value for name, value in base.items() if name not in SIZES}
    if given is None:
        flat = {name: value for name, value in read.config.items() if name != "model_type"}
        return Fields(flat, read.prefix, base, read.engine, read.notes), own
    return Fields(given, f"{read.prefix}{inner.place}.", base, read.engine, read.notes), own


def _layers(stack: Stack, outer: Names, model_type: str) -> Iterator[Weight]:
    """The layers of one stack. Of the main one, the table of families says which layer is of which kind."""
    read = outer.read
    words = {**outer.words, **stack.words} if stack.words else outer.words
    main = stack.count == "N"
    kinds: list[str] | None = None
    own: dict[int, Mapping[str, Any]] = {}
    if main:
        family = FAMILIES.get(model_type) or OWN_CODE.get(model_type) or Family()
        prepared = family.prepare(read) if family.prepare else read
        n = layer_count(prepared)
        own = per_layer(read, n)
        for i, fields in listed_values(read, n).items():
            own[i] = {**fields, **own.get(i, {})}
        if _asks_kind(stack, words):
            kinds = layer_types(prepared, family, n)
    else:
        n = outer.compute(stack.count, stack.prefix)
    if n > MAX_LAYERS:
        raise ConfigError(f"{stack.prefix}: {n} layers; glass lays out at most {MAX_LAYERS}")
    for i in range(n):
        here = {"i": i, "N": n, "kind": kinds[i] if kinds else ""}
        names = Names(read.over(own[i]) if i in own else read, words, here, outer.nested)
        for line in stack.lines:
            yield from _made(line, names, f"{stack.prefix}{i}.", i if main else -1)


def _asks_kind(stack: Stack, words: Mapping[str, str]) -> bool:
    """Whether a layer's kind matters here: only then must the config say it."""
    usual = library().words["usual"]
    texts = [f"{line.condition} {line.rows}" for line in stack.lines]
    texts += [text for word, text in words.items() if usual.get(word) != text]
    return any("kind" in text or "Linear" in text for text in texts)


def _made(line: Line, names: Names, prefix: str, stage: int) -> Iterator[Weight]:
    """The weight of a line, if it is there."""
    if not names.holds(line.condition):
        return
    name = prefix + line.name
    copies = names.compute(line.copies, name) if line.copies else 1
    if not copies:
        return
    rows = names.size(line.rows, name)
    yield Weight(
        name=name,
        part=line.part,
        rows=rows,
        columns=names.size(line.columns, name) if line.columns else None,
        split=line.split,
        bias=rows if line.bias and names.holds(line.bias) else 0,
        copies=copies,
        active=_picked(names) if line.copies else 1,
        heads=names.compute(line.heads, name) if line.heads else 0,
        plain=line.plain,
        stage=stage,
    )


def _picked(names: Names) -> int:
    """How many experts a token goes through; 0 where the config doesn't say."""
    try:
        return int(names("A"))
    except ConfigError:
        return 0
