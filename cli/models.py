"""The model that a command was given: where it lies, downloaded if that was asked for, and loaded.

What takes more than a second shows how far it is, on stderr if that is a terminal.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from glasscli.cli import console
from glasscli.errors import UsageError
from glasscli.locate.hub_name import PREFIX
from glasscli.locate.locate import NotFoundError, locate
from glasscli.locate.need import Need
from glasscli.progress import Progress
from glasscli.units import format_bytes

if TYPE_CHECKING:
    from glasscli.checkpoint.load import LoadedModel

PATIENCE, BREATH = 1.0, 0.1  # seconds: before a bar is shown, between two of its states
State = tuple[str, int, int | None, Callable[[int], str]]  # what, done, total, how a number of it is written
_fetched: dict[tuple[str, Need], Path] = {}  # so that a run asks the hub once


class Bar(Progress):
    """A line on stderr that is gone when the work is done; notes that stay.

    A thread draws it, so that one long step does not look like no work at all.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._silent = quiet or not console.is_terminal(sys.stderr)
        self._state: State = ("", 0, None, format_bytes)
        self._begun = 0.0
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def moved(self, what: str, done: int, total: int | None) -> None:
        self._show((what, done, total, format_bytes))

    def counted(self, what: str, done: int, total: int) -> None:
        self._show((what, done, total, "{:,}".format))

    def _show(self, state: State) -> None:
        if self._silent:
            return
        if state[0] != self._state[0]:
            self._begun = time.monotonic()
        self._state = state
        if self._thread is None:
            self._done.clear()
            self._thread = threading.Thread(target=self._draw, daemon=True)
            self._thread.start()

    def over(self) -> None:
        if self._thread is not None:
            self._done.set()
            self._thread.join()
        self._thread, self._state = None, ("", 0, None, format_bytes)

    def note(self, text: str) -> None:
        if not self.quiet:
            console.note(text)

    def _draw(self) -> None:
        """Until the work is over, show how far it is; then take the line away."""
        line = ""
        while not self._done.wait(BREATH):
            before = line
            if time.monotonic() - self._begun >= PATIENCE:
                width, blocks = console.width(sys.stderr) - 1, console.unicode_ok(sys.stderr)
                line = self._line(width, blocks)
            if line != before:
                self._write("\r" + line.ljust(len(before)))
        if line:  # and the ^C that a terminal echoes behind it
            self._write("\r" + " " * min(len(line) + 2, console.width(sys.stderr) - 1) + "\r")

    def _line(self, width: int, blocks: bool) -> str:
        """What is shown: at most `width` columns of ASCII, and of blocks where there are those."""
        what, done, total, words = self._state
        return bar_line(what, done, total, width, blocks, words)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed: nobody is looking
            sys.stderr.write(text)
            sys.stderr.flush()


def bar_line(
    what: str, done: int, total: int | None, width: int, blocks: bool, words: Callable[[int], str] = format_bytes
) -> str:
    """How far a piece of work is, in at most `width` columns: its name, a bar, how much of all, in `words`."""
    sizes = f"{words(done)} of {words(total)}" if total else words(done) if done else ""
    name = console.printable(what).encode("ascii", "replace").decode()
    if len(name) + len(sizes) + 2 > width:
        name = name[: max(0, width - len(sizes) - 5)] + "..."
    if not total:
        return f"{name}  {sizes}"[:width]
    free = width - len(name) - 2 * len(words(total)) - 10  # as wide from its beginning to its end
    if free < 8:
        return f"{name}  {sizes}"[:width]
    cells = min(free, 40)
    full = min(cells, cells * done // total)
    on, off = ("█", "░") if blocks else ("#", ".")
    return f"{name}  {on * full}{off * (cells - full)}  {sizes}"


@contextlib.contextmanager
def working(quiet: bool) -> Iterator[Bar]:
    """A bar for a long computation, gone at its end however that comes."""
    bar = Bar(quiet)
    try:
        yield bar
    finally:
        bar.over()


def model_path(
    model: str | Path | None,
    need: Need = Need.model,
    *,
    quiet: bool = False,
    check: Callable[[Path], object] | None = None,
) -> Path:
    """Where a model lies, see `locate`; asked twice, the hub is asked once.

    Args:
        check: is given a folder before its weights are downloaded; by default it must be of a model that glass runs.
    """
    if isinstance(model, str) and (model, need) in _fetched:
        return _fetched[model, need]
    try:
        path = locate(model, need, Bar(quiet), check or _check_runs)
    except NotFoundError:
        if need is Need.config or "/" in str(model) or not _has_sizes_only(model):
            raise
        hint = f"{PREFIX}org/name is fetched from the Hugging Face hub"
        raise NotFoundError(f"{model}: glass has its sizes, for kv-budget, and no weights of it. {hint}") from None
    if isinstance(model, str) and model.startswith(PREFIX):
        _fetched[model, need] = path
    console.detail(f"model: {path}")
    return path


def load(model: str | Path | None, *, quiet: bool = False, any_numbers: bool = False) -> "LoadedModel":
    """A model ready to run, see `load_model`."""
    from glasscli.checkpoint.load import load_model

    path, begun = model_path(model, quiet=quiet), time.perf_counter()
    loaded = load_model(path, progress=Bar(quiet), any_numbers=any_numbers)
    facts = f"{loaded.config.architecture.class_name}, {format_bytes(loaded.checkpoint.weight_bytes())} of weights"
    console.detail(f"{facts}, loaded in {time.perf_counter() - begun:.2f} s")
    return loaded


def _has_sizes_only(model: str | Path | None) -> bool:
    """Whether it is one of the well-known models, of which there is a config.json here and no weights."""
    from glasscli.budget.models import find

    try:
        find(str(model))
    except UsageError:
        return False
    return True


def _check_runs(folder: Path) -> None:
    from glasscli.checkpoint.checkpoint import open_checkpoint

    open_checkpoint(folder).config()
