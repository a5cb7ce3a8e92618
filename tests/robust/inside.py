"""Running the program within this process: quick, and with an eye on every file that Python opens.

Streams are files of their own, so that what a library prints by itself is seen too.
"""

import io
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from glasscli.cli.app import main
from robust.judge import faults

LONGEST_S = 20  # past this a run counts as hanging
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Run:
    """How a run ended, and what it did that it may not."""

    code: int
    out: bytes
    err: bytes
    faults: tuple[str, ...]


class Hanging(BaseException):
    """The program did not come back."""


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Always."""
        return True


class Watch:
    """Notes every file that Python opens for reading outside of `read`, or changes outside of `write`.

    Modules are let through by their folders.
    """

    def __init__(self) -> None:
        own = {sys.prefix, sys.base_prefix, str(Path(__file__).parents[2])}
        self._own = tuple(str(Path(folder).resolve()) for folder in own)
        self.read: tuple[str, ...] = ()
        self.write: tuple[str, ...] = ()
        self.seen: list[str] = []
        self.on = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and isinstance(args[0], str | bytes):
            writes = bool(args[2] & WRITES) if isinstance(args[2], int) else any(c in args[1] or "" for c in "wax+")
            self._check("wrote" if writes else "read", args[0])
        elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.truncate"):
            for path in args[:2]:
                if isinstance(path, str | bytes):
                    self._check("changed", path)
        elif event in ("os.system", "subprocess.Popen", "socket.connect", "os.exec", "os.fork"):
            self.seen.append(f"{event} {args[:1]!r}")

    def _check(self, did: str, path: str | bytes) -> None:
        where = os.path.realpath(os.fsdecode(path))
        allowed = (*self._own, *self.read, *self.write) if did == "read" else (*self.write, os.devnull)
        if not where.startswith(allowed):
            self.seen.append(f"{did} {where}")


class Inside:
    """Runs `glass ARGS` here. One at a time.

    Args:
        folder: the only place, with what is below it, where a run may write, and where it starts.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.watch = Watch()
        self._files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115

    def close(self) -> None:
        """Let go of the files that streams go to."""
        for file in self._files:
            file.close()

    def run(
        self,
        args: Sequence[str],
        *,
        reads: Sequence[Path] = (),
        writes: Sequence[Path] = (),
        stdin: bytes = b"",
        terminal: bool = False,
        interrupt_s: float = 0,
        env: dict[str, str] | None = None,
    ) -> Run:
        """One run, judged.

        Args:
            reads, writes: places besides `folder` that may be read, and written.
            terminal: stdout and stderr say that they are terminals.
            interrupt_s: after this time Ctrl-C is pressed.
        """
        self.watch.read = tuple(str(path.resolve()) for path in reads)
        self.watch.write = tuple(str(path.resolve()) for path in (self.folder, *writes))
        self.watch.seen = []
        (self.folder.parent / "last").write_text(repr((args, env, stdin)))
        limits = _time_limit(interrupt_s), warnings.catch_warnings()
        with self._streams(stdin, terminal), self._surroundings(env or {}), limits[0], limits[1]:
            warnings.simplefilter("always")
            code = self._main(list(args))
        out, err = (_content(file) for file in self._files)
        found = faults(0 if code == 130 and interrupt_s else code, out, err, args, terminal)
        return Run(code, out, err, (*found, *self.watch.seen))

    def _main(self, args: list[str]) -> int:
        self.watch.on = True
        try:
            return main(args)
        except Hanging:
            self.watch.seen.append("does not come back")
        except BaseException as error:
            self.watch.seen.append(f"a traceback: {type(error).__name__}: {str(error)[:200]} {_place(error)}")
        finally:
            self.watch.on = False
        return -1

    @contextmanager
    def _streams(self, stdin: bytes, terminal: bool) -> Iterator[None]:
        kept = [os.dup(1), os.dup(2)]
        before = sys.stdin, sys.stdout, sys.stderr
        kind = Terminal if terminal else io.TextIOWrapper
        for number, file in zip((1, 2), self._files, strict=True):
            file.seek(0)
            file.truncate()
            os.dup2(file.fileno(), number)
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
        raw = [io.BufferedWriter(io.FileIO(number, "w", closefd=False)) for number in (1, 2)]
        sys.stdout, sys.stderr = (kind(stream, encoding="utf-8", write_through=i) for i, stream in enumerate(raw))
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdin, sys.stdout, sys.stderr = before
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)

    @contextmanager
    def _surroundings(self, env: dict[str, str]) -> Iterator[None]:
        before, here = dict(os.environ), Path.cwd()
        os.environ.update({"NO_COLOR": "1", **env})
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(here)
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def _time_limit(interrupt_s: float) -> Iterator[None]:
    def end(signum: int, frame: FrameType | None) -> None:
        raise Hanging

    def interrupt(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, end)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGALRM, interrupt if interrupt_s else end)
    signal.setitimer(signal.ITIMER_REAL, interrupt_s or LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _content(file: Any) -> bytes:
    file.seek(0)
    data: bytes = file.read()
    return data


def _place(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place
