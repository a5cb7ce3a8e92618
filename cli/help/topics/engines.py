"""The engines whose memory kv-budget counts, and their settings (-s NAME=VALUE)"""

from glasscli.budget.engines import ENGINES, servers
from glasscli.cli.help.parts import Heading, Part, Prose, Row, Sample, Table


def parts() -> list[Part]:
    """An engine a table: its settings, what they are unless set, what they do."""
    made: list[Part] = [
        Prose(
            "glass kv-budget --engine NAME counts what that engine allocates; without it, what is needed at least. "
            "-s NAME=VALUE sets one of its settings and may be repeated. A setting is shown with what it is unless set."
        ),
        Prose(f"Plans can be written as the command line of {', '.join(servers())}: --emit NAME."),
    ]
    for engine in ENGINES.values():
        made.append(Heading(engine.name))
        rows = [_row(name, option.default, option.says) for name, option in engine.options.items()]
        made.append(Table(rows) if rows else Prose("No settings."))
    example = "glass kv-budget --model gemma-3-27b --engine vllm -s block_size=32 -s hybrid_manager=false"
    return [*made, Heading("Examples"), Sample([example])]


def _row(name: str, default: object, says: str) -> Row:
    return Row(f"{name}={str(default).lower()}", "", says)
