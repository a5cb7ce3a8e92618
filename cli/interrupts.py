"""Ctrl-C in mid-text: finish the token in hand, keep what was written."""

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
