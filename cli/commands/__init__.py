"""The commands of `glass`: every file and every folder here is one, and there is no list to keep.

A command is a module that holds

    its docstring      the first line is its line in `glass --help`
    `Options`          what it can be asked: a frozen dataclass, see `glasscli.cli.options`
    `run(options)`     what it does; returns the exit code
    `EPILOG`           the end of its own help: examples, and what needs more words than an option has

One that has grown is a folder: `__init__.py` holds the docstring, `command.py` the rest. Importing a command costs
time, so one is imported only when it is called for, and its line in the help is read from its file.
"""

import os
from importlib import import_module
from types import ModuleType

# In the help these come first, in this order; others follow, by name.
FIRST = (
    *("generate", "dump-attn", "kv-budget", "kv-quality", "lesson"),
    *("lens", "ablate", "compare", "attend", "score", "tokenize", "info", "help"),
)


def _names() -> tuple[str, ...]:
    found = []
    for entry in os.listdir(__path__[0]):
        stem, _, ending = entry.partition(".")
        is_command = ending == "py" or (not ending and os.path.exists(os.path.join(__path__[0], stem, "command.py")))
        if is_command and not stem.startswith("_"):
            found.append(stem.replace("_", "-"))
    return tuple(sorted(found, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)))


COMMANDS = _names()


def summary(name: str) -> str:
    """The line that `glass --help` has for a command."""
    path, _ = _place(name)
    with open(path, encoding="utf-8") as source:
        return source.readline().strip().strip('"')


def load(name: str) -> ModuleType:
    """The module that holds `Options` and `run` of a command."""
    return import_module(_place(name)[1])


def options_module(name: str) -> str:
    """The name of the module that holds `Options`: quicker to import than all of a command that has grown."""
    module = _place(name)[1]
    own = module.removesuffix(".command") + ".options"
    path = os.path.join(__path__[0], name.replace("-", "_"), "options.py")
    return own if os.path.exists(path) else module


def _place(name: str) -> tuple[str, str]:
    """The file that opens with a command's docstring; the module with the rest."""
    stem = name.replace("-", "_")
    folder = os.path.join(__path__[0], stem)
    if os.path.isdir(folder):
        return os.path.join(folder, "__init__.py"), f"{__name__}.{stem}.command"
    return f"{folder}.py", f"{__name__}.{stem}"
