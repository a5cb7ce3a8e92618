"""Running the program as a user would: in a pipe, or in a pseudo-terminal of a given width."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

GLASS = [sys.executable, "-m", "glasscli"]
SET_BY_USERS = (
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "GLASS_MODEL",
    "PYTHONIOENCODING",
    "LC_ALL",
    "LANG",
)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without what users set to change looks, and with `changes`."""
    kept = {name: value for name, value in os.environ.items() if name not in SET_BY_USERS}
    return {**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", **changes}


def glass(*args: str | Path, stdin: bytes | int | None = subprocess.DEVNULL, **env: str) -> Any:
    """Run `glass ARGS` in a pipe: its exit code, stdout and stderr, in bytes."""
    given: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    command = [*GLASS, *map(str, args)]
    return subprocess.run(command, capture_output=True, env=environment(**env), timeout=60, check=False, **given)


class Terminal:
    """`glass ARGS` in a pseudo-terminal: stdin, stdout and stderr are all the terminal.

    Args:
        stdin, stderr: other places for them, such as `subprocess.DEVNULL` and `subprocess.PIPE`.
        program: what is run with ARGS instead of glass.
    """

    def __init__(
        self,
        *args: str | Path,
        columns: int = 80,
        stdin: int | None = None,
        stderr: int | None = None,
        program: Sequence[str] = GLASS,
        **env: str,
    ) -> None:
        self.seen = b""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [*program, *map(str, args)],
            stdin=theirs if stdin is None else stdin,
            stdout=theirs,
            stderr=theirs if stderr is None else stderr,
            env=environment(**env),
            start_new_session=True,
        )
        os.close(theirs)

    def read(self, n_bytes: int) -> bytes:
        """Everything shown so far, once it is at least so much."""
        while len(self.seen) < n_bytes and self._more():
            pass
        return self.seen

    def finish(self) -> tuple[int, str]:
        """The exit code, and everything shown, line ends as the program wrote them."""
        while self._more():
            pass
        os.close(self._ours)
        code = self.process.wait(timeout=60)
        return code, self.seen.decode().replace("\r\n", "\n")

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def _more(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], 60)
        assert ready, "the program shows nothing and does not end"
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux: the other side is closed
            return False
        self.seen += data
        return bool(data)


def in_terminal(*args: str | Path, columns: int = 80, **env: str) -> tuple[int, str]:
    """Run `glass ARGS` in a pseudo-terminal to its end: exit code, and everything shown."""
    return Terminal(*args, columns=columns, **env).finish()


def as_left(shown: str) -> str:
    """What a terminal has on it in the end: of a line that was written over with `\\r`, the last writing."""
    return "".join(line.rsplit("\r", 1)[-1].rstrip() + "\n" for line in shown.removesuffix("\n").split("\n"))
