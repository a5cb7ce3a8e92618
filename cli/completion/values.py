"""What an option's value can be, by the word that stands for it in the help: MODEL, ENGINE, SPEC …"""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from glasscli.cli.help.described import Described

Choice = tuple[str, str]
FILES = ("MODEL", "FILE", "A,B,…")  # what may be a file, too
PLAIN = re.compile(r"[\w.@%+-]+")  # a name that means itself in every shell


class Asked(NamedTuple):
    """A value that is asked for: of which option and command, what is typed of it, what else is given."""

    option: Described
    typed: str
    command: str
    given: Mapping[str, str]


def values_of(option: Described, typed: str, command: str, given: Mapping[str, str]) -> list[Choice]:
    """The values that an option can have, each with a few words; none where they can't be listed."""
    found = VALUES.get(option.value)
    return list(found(Asked(option, typed, command, given))) if found else []


def models(asked: Asked) -> Iterable[Choice]:
    """The shipped model, those in Hugging Face's cache, and for kv-budget those that have a name."""
    from glasscli.locate.hub_cache import REPO_PREFIX, cache_folder
    from glasscli.locate.shipped import SHIPPED

    yield SHIPPED, "comes with glass"
    folder = cache_folder()
    entries = sorted(os.listdir(folder)) if folder.is_dir() else []
    for entry in entries:
        if entry.startswith(REPO_PREFIX):
            yield entry.removeprefix(REPO_PREFIX).replace("--", "/", 1), "in Hugging Face's cache"
    if asked.command == "kv-budget":
        from glasscli.budget.model_facts import MODELS

        yield from ((model.name, model.kind) for model in MODELS if model.name != SHIPPED)
    yield from on_disk(asked.typed, (".gguf", ".json") if asked.command == "kv-budget" else (".gguf",))


def on_disk(typed: str, endings: tuple[str, ...]) -> Iterable[Choice]:
    """Folders, which may lead to a model, and files of models; no names that a shell would have to quote."""
    folder, begun = os.path.split(typed)
    with contextlib.suppress(OSError), os.scandir(folder or ".") as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            hidden = entry.name.startswith(".") and not begun.startswith(".")
            if hidden or not PLAIN.fullmatch(entry.name):
                continue
            if entry.is_dir():
                yield f"{os.path.join(folder, entry.name)}/", ""
            elif entry.name.endswith(endings):
                yield os.path.join(folder, entry.name), ""


def engines(asked: Asked) -> Iterable[Choice]:
    """The engines, of --emit those that have a command line."""
    from glasscli.budget.engines import ENGINES, servers

    return [(name, "") for name in (servers() if "--emit" in asked.option.names else ENGINES)]


def settings(asked: Asked) -> Iterable[Choice]:
    """The settings of the engine that is named on the line, and their values where those are words."""
    from glasscli.budget.engines import ENGINES

    offered = ENGINES[asked.given.get("--engine", "logical")].options
    name, equals, _ = asked.typed.partition("=")
    if not equals:
        return [(f"{name}=", option.says) for name, option in offered.items()]
    option = offered.get(name)
    if option is None:
        return []
    values = ("true", "false") if option.type is bool else option.choices or (str(option.default).lower(),)
    return [(f"{name}={value}", "") for value in values]


def caches(asked: Asked) -> Iterable[Choice]:
    """Formats and rules; behind a comma or a plus sign more of them, behind k= and v= formats."""
    from glasscli.cache.choice_text import SETS
    from glasscli.cache.formats.names import NAMES, SAYS

    start = re.sub(r"[^,+]*$", "", asked.typed)
    part = asked.typed[len(start) :]
    formats = [(name, SAYS[name]) for name in NAMES]
    if part.startswith(("k=", "v=")):
        return [(f"{start}{part[:2]}{name}", about) for name, about in formats]
    rules = [(f"{name}=" if needs else name, "") for name, (_, needs) in SETS.items()]
    return [(start + name, about) for name, about in [*formats, *rules]]


def dtypes(_: Asked) -> Iterable[Choice]:
    """What numbers can be counted in."""
    from glasscli.dtypes import DTYPES

    return [(name, dtype.says) for name, dtype in DTYPES.items()]


def devices(asked: Asked) -> Iterable[Choice]:
    """Devices by name, behind `8x` so many of them."""
    from glasscli.budget.devices import devices as known

    times = re.match(r"(\d+x)?", asked.typed)
    start = times[0] if times else ""
    return [(start + device.name, f"{device.n_bytes / 2**30:.0f} GiB") for device in known()]


def steps(asked: Asked) -> Iterable[Choice]:
    """Steps of a layer and of the model; behind a comma more of them."""
    from glasscli.inspect.stream_steps import OUTSIDE
    from glasscli.model.places import LAYER_PLACES

    start = re.sub(r"[^,]*$", "", asked.typed)
    names = dict.fromkeys(place.replace("cache_k", "cache").replace("cache_v", "cache") for place in LAYER_PLACES)
    return [(start + name, "") for name in (*names, "jacobian", *OUTSIDE)]


def chapters(_: Asked) -> Iterable[Choice]:
    """The chapters of the lesson: each is a file, and importing them all would take long."""
    from glasscli import lesson

    folder = os.path.join(lesson.__path__[0], "chapters")
    return [(entry[:-3], "") for entry in sorted(os.listdir(folder)) if entry.endswith(".py") and entry[0] != "_"]


def topics(_: Asked) -> Iterable[Choice]:
    """What `glass help` explains."""
    from glasscli.cli.commands import COMMANDS, summary
    from glasscli.cli.help.topics import TOPICS, topic_summary

    return [*((name, topic_summary(name)) for name in TOPICS), *((name, summary(name)) for name in COMMANDS)]


def several_models(asked: Asked) -> Iterable[Choice]:
    """Models with commas between."""
    start = re.sub(r"[^,]*$", "", asked.typed)
    return [(start + name, about) for name, about in models(asked._replace(typed=asked.typed[len(start) :]))]


VALUES: dict[str, Callable[[Asked], Iterable[Choice]]] = {
    "MODEL": models, "A,B,…": several_models, "ENGINE": engines, "NAME=VALUE": settings, "SPEC": caches, "TYPE": dtypes,
    "NAME|SIZE": devices, "NAME": steps, "[CHAPTER]": chapters, "[TOPIC]": topics,
}  # fmt: skip
