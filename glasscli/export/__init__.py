"""A dump as a file: .npz, .safetensors, .json, .csv, .svg or .html, by the ending of its name.

A file is written beside its name and put in place when it is complete, so there is never half a file. An
existing file is replaced at that moment.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.errors import UsageError
from glasscli.export.target import check_target, replacing

if TYPE_CHECKING:
    from glasscli.inspect.dump import Dump

NAMES = ("native", "tl", "hf")
_WRITERS = {
    ".npz": ("arrays", "write_npz"),
    ".safetensors": ("arrays", "write_safetensors"),
    ".json": ("document", "write_json"),
    ".csv": ("table", "write_csv"),
    ".svg": ("svg", "write_svg"),
    ".html": ("html", "write_html"),
}
ENDINGS = tuple(_WRITERS)
_NAMED = (".npz", ".safetensors", ".json")  # those whose arrays can go by other names

__all__ = ["ENDINGS", "NAMES", "check_export", "export_dump"]


def check_export(path: Path, names: str = "native") -> None:
    """Refuse a file that could not be written, before any work is done for it.

    Raises:
        UsageError: an unknown ending, or names that this kind of file does not carry.
        OutputError: the folder is missing or read-only, or `path` is a folder.
    """
    if path.suffix not in _WRITERS:
        found = f"ends in {path.suffix}" if path.suffix else "has no ending"
        raise UsageError(f"{path} {found}. Endings: {' '.join(ENDINGS)}.")
    if names not in NAMES:
        raise UsageError(f"no names {names!r}. There are: {', '.join(NAMES)}.")
    if names != "native" and path.suffix not in _NAMED:
        raise UsageError(f"{names} names are for {' '.join(_NAMED)}, not for {path.suffix}.")
    check_target(path)


def export_dump(dump: "Dump", path: Path, *, steps: Sequence[str] | None = None, names: str = "native") -> int:
    """Write `dump` to `path` and return the bytes written.

    Args:
        steps: which steps (default: all; in CSV those with a query and a key).
        names: `native` keys `L2.q`, `tl` TransformerLens' hook names and axis order, `hf` one array
            `attentions` as transformers returns them.

    Raises:
        UsageError, OutputError: as `check_export`, and for files that would grow too large.
    """
    from glasscli.inspect.steps import steps_of

    check_export(path, names)
    module, function = _WRITERS[path.suffix]
    write: Callable[..., None] = getattr(import_module(f"glasscli.export.{module}"), function)
    chosen = tuple(steps) if steps else tuple(steps_of(dump.config))
    with replacing(path) as temporary:
        write(dump, temporary, chosen, names) if path.suffix in _NAMED else write(dump, temporary, steps)
    return path.stat().st_size
