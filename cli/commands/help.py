"""What measures, formats and exit codes mean; any command's options"""

from dataclasses import dataclass
from typing import Annotated

from glasscli.cli.console import Color, write
from glasscli.cli.options import ColorOption, Group, argument, option

EPILOG = """\
\b
Examples:
  glass help
  glass help measures
  glass help generate
  glass help --man > glass.1
"""


@dataclass(frozen=True)
class Options:
    """Explain a topic, or a command as its --help does."""

    topic: Annotated[str | None, argument("[TOPIC]", "A topic or a command [default: a list of them].")] = None
    man: Annotated[bool, option("--man", "Print the manual page glass.1, which has all of them.", Group.output)] = False
    color: ColorOption = Color.auto


def run(options: Options) -> int:
    """Explain; the exit code."""
    if options.man:
        from glasscli.cli.help.man import man_page

        write(man_page().rstrip("\n"))
        return 0
    from glasscli.cli.help.about import about
    from glasscli.cli.help.layout import show

    show(about(options.topic), options.color)
    return 0
