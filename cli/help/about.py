"""What `glass help` says: the list of topics, one of them, or the help of a command."""

from glasscli.cli.commands import COMMANDS
from glasscli.cli.help.parts import Heading, Part, Prose, Sample, Usage, table
from glasscli.cli.help.topics import TOPICS, topic_parts, topic_summary
from glasscli.errors import UsageError


def about(name: str | None) -> list[Part]:
    """The page about a topic or a command, or about what there are pages.

    Raises:
        UsageError: there is no such page; the message says what was perhaps meant.
    """
    if name is None:
        return contents()
    wanted = name.lower().replace("_", "-")
    if wanted in COMMANDS:
        from glasscli.cli.help.command import command_parts

        return command_parts(wanted)
    if wanted in TOPICS:
        return [Prose(f"{topic_summary(wanted)}."), *topic_parts(wanted)]
    from glasscli.cli.console import printable
    from glasscli.likeness import did_you_mean

    hint = did_you_mean(wanted, [*TOPICS, *COMMANDS]) or f"Topics: {', '.join(TOPICS)}; and every command."
    raise UsageError(f"no topic {printable(name[:40])!r}. {hint}")


def contents() -> list[Part]:
    """The topics, and how to read one."""
    return [
        Usage("glass help [TOPIC]"),
        Heading("Topics"),
        table((name, topic_summary(name)) for name in TOPICS),
        Heading("Commands"),
        Prose(f"glass help COMMAND is glass COMMAND --help, for {', '.join(COMMANDS)}."),
        Heading("Examples"),
        Sample(["glass help measures", "glass help kv-budget", "glass help engines | less"]),
    ]
