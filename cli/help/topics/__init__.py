"""The topics of `glass help`: every file here is one, and there is no list to keep.

A topic's docstring is its line in the list of topics, `parts()` what it says: from the code's own tables where it has
some, so that nothing said here can grow old.
"""

import os
from importlib import import_module

from glasscli.cli.help.parts import Part

TOPICS = tuple(
    sorted(entry[:-3].replace("_", "-") for entry in os.listdir(__path__[0]) if entry[0] != "_" and entry[-3:] == ".py")
)


def topic_summary(name: str) -> str:
    """The line that the list of topics has for one, read from its file: importing them all would take long."""
    with open(os.path.join(__path__[0], f"{name.replace('-', '_')}.py"), encoding="utf-8") as source:
        return source.readline().strip().strip('"')


def topic_parts(name: str) -> list[Part]:
    """What a topic says."""
    found: list[Part] = import_module(f"{__name__}.{name.replace('-', '_')}").parts()
    return found
