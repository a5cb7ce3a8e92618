"""What a command can be asked, read from its `Options`: for its help, its man page and a shell that completes."""

from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from glasscli.cli.commands import load, options_module
from glasscli.cli.options import Group

TYPES = {int: "N", float: "X"}  # what stands for a value where an option does not say


class Described(NamedTuple):
    """One option, or one argument: that has no names.

    Attributes:
        names: as they are typed, short ones first; both of `--echo/--no-echo`.
        value: what stands for its value; empty where it takes none.
        choices: the words that it takes, where those are fixed.
        many: whether it may be given several times.
    """

    names: tuple[str, ...]
    value: str
    help: str
    group: str
    default: Any
    env: str = ""
    choices: tuple[str, ...] = ()
    many: bool = False

    @property
    def title(self) -> str:
        """Its names as help shows them."""
        between = " / " if any(name.startswith("--no-") for name in self.names[1:]) else ", "
        return between.join(self.names)

    @property
    def says(self) -> str:
        """What it does, and what it is unless given."""
        default = self.default.value if isinstance(self.default, Enum) else self.default
        default = f"{default:g}" if isinstance(default, float) else default
        shown = "" if default is None or isinstance(default, bool) else f"[default: {default}]"
        return " ".join(filter(None, (self.help, shown, f"[env: {self.env}]" if self.env else "")))


HELP = Described(("-h", "--help"), "", "Show this page.", Group.output, False)


def described(name: str, whole: bool = True) -> tuple[Described, ...]:
    """The arguments and options of a command, `--help` the last.

    Args:
        whole: the command's module is imported for them; otherwise its `options` alone, if it has such a module.
    """
    module = load(name) if whole else import_module(options_module(name))
    return (*_of(module.Options), HELP)


def _of(options: type) -> Iterator[Described]:
    for field, hint in get_type_hints(options, include_extras=True).items():
        kind, info = get_args(hint)
        default = options.__dataclass_fields__[field].default  # type: ignore[attr-defined]
        yield from [_one(kind, info, default)] if not getattr(info, "hidden", False) else []


def _one(kind: Any, info: ArgumentInfo | OptionInfo, default: Any) -> Described:
    while get_origin(kind) is not None:
        inner = [part for part in get_args(kind) if part is not type(None)]
        if get_origin(kind) is list:
            kind = inner[0]
            return _one(kind, info, default)._replace(many=True)
        kind = inner[0]
    names = (str(info.default), *(info.param_decls or ())) if isinstance(info, OptionInfo) else ()
    parts = sorted((part for name in names for part in name.split("/")), key=lambda part: part.startswith("--"))
    choices = tuple(item.value for item in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()
    value = info.metavar or (f"<{'|'.join(choices)}>" if choices else TYPES.get(kind, "TEXT"))
    env = info.envvar if isinstance(info.envvar, str) else ""
    group = str(info.rich_help_panel or Group.output)
    return Described(tuple(parts), "" if kind is bool else value, info.help or "", group, default, env, choices)
