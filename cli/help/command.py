"""The help of one command: what it is for, how it is called, its options in groups, examples."""

from collections.abc import Sequence

from glasscli.cli.commands import load
from glasscli.cli.help.described import Described, described
from glasscli.cli.help.parts import Heading, Part, Prose, Row, Table, Usage, parts_of
from glasscli.cli.options import Group


def command_parts(name: str) -> list[Part]:
    """Everything that `glass NAME --help` says."""
    module, asked = load(name), described(name)
    arguments = [each for each in asked if not each.names]
    usage = " ".join([f"glass {name} [OPTIONS]", *(each.value for each in arguments)])
    parts = [*parts_of(module.Options.__doc__ or ""), Usage(usage)]
    if arguments:
        parts += [Heading("Arguments"), Table(tuple(Row(each.value, "", each.says) for each in arguments))]
    for group in Group:
        parts += _group(group, [each for each in asked if each.names and each.group == group])
    return [*parts, *_about(parts_of(getattr(module, "EPILOG", "")))]


def _group(group: Group, asked: Sequence[Described]) -> list[Part]:
    rows = tuple(Row(each.title, each.value, each.says) for each in asked)
    return [Heading(group), Table(rows)] if rows else []


def _about(parts: list[Part]) -> list[Part]:
    return [Heading("More"), *parts] if parts and isinstance(parts[0], Prose) else parts
