"""What measures, formats, engines and exit codes mean; any command's help"""

from dataclasses import dataclass
from typing import Annotated

from glasscli.cli.console import Color
from glasscli.cli.options import ColorOption, argument

EPILOG = """\
\b
Examples:
  glass help
  glass help measures
  glass help generate
"""


@dataclass(frozen=True)
class Options:
    """Explain a topic, or a command as its --help does."""

    topic: Annotated[str | None, argument("[TOPIC]", "A topic or a command [default: a list of them].")] = None
    color: ColorOption = Color.auto


def run(options: Options) -> int:
    """Explain; the exit code."""
    from glasscli.cli.help.about import about
    from glasscli.cli.help.layout import show

    show(about(options.topic), options.color)
    return 0
