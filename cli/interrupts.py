"""Ctrl-C in mid-text: finish the token in hand, keep what was written. Other signals that end: leave no half files."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """What Ctrl-C does. Once `patient`, the first one only sets `requested`, so that nothing is cut in half; the
    second, or any before, raises `KeyboardInterrupt` as usual."""

    def __init__(self) -> None:
        self.requested = False
        self.patient = False

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """The signal handler."""
        if self.requested or not self.patient:
            self.requested = True
            raise KeyboardInterrupt
        self.requested = True


@contextmanager
def watch_interrupts() -> Iterator[Interrupt]:
    """Handle Ctrl-C for a while. A program started with it ignored (nohup, `&` in a script) goes on ignoring it."""
    interrupt = Interrupt()
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield interrupt
        return
    signal.signal(signal.SIGINT, interrupt.handle)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


class Ended(BaseException):
    """A signal that ends the program came while there was something to tidy up."""


@contextmanager
def tidy_end() -> Iterator[None]:
    """Let a signal that ends the program first unwind the block, so that its `finally` clauses run.

    To whoever sent it, the program ends by that signal, as it would have. One that was ignored stays ignored.
    """
    came: list[int] = []

    def unwind(signum: int, frame: FrameType | None) -> None:
        if not came:  # a second one must not cut the tidying short
            came.append(signum)
            raise Ended

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    handled = [number for name in names if signal.getsignal(number := getattr(signal, name)) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        if came:
            os.kill(os.getpid(), came[0])
