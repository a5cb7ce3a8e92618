"""Where the document of a screen goes: to stdout as JSON, or into a file."""

from collections.abc import Mapping
from typing import Any

from glasscli.cli.commands.dump_attn.options import Options
from glasscli.cli.console import note, write_json
from glasscli.export.view import encoded, export_view
from glasscli.units import format_bytes


def deliver(options: Options, document: Mapping[str, Any]) -> None:
    """Print a screen's document, or write it."""
    if options.output is None:
        write_json(encoded(document), indent=None)
        return
    size = export_view(document, options.output)
    if not options.quiet:
        note(f"wrote {options.output}: {format_bytes(size)}, {options.view}")
