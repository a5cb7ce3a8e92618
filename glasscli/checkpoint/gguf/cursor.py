"""A file read from front to back, never past its end and never much of it at once. Knows no format."""

import struct
from pathlib import Path
from typing import BinaryIO

from glasscli.errors import CheckpointError

BLOCK = 1 << 20  # bytes read at once
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")


class Cursor:
    """A place in a file. What lies past the end of the file is refused before anything is allocated for it.

    Attributes:
        size: bytes of the whole file.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self.size = file.seek(0, 2)
        self._base = 0  # where in the file the buffer begins
        self._buffer = b""
        self._at = 0

    @property
    def position(self) -> int:
        """Bytes from the beginning of the file."""
        return self._base + self._at

    @property
    def left(self) -> int:
        """Bytes from here to the end of the file."""
        return self.size - self.position

    def take(self, n_bytes: int, what: str) -> bytes:
        """The next `n_bytes`. `what` names them, should they not be there.

        Raises:
            CheckpointError: the file ends before.
        """
        self._need(n_bytes, what)
        found = self._buffer[self._at : self._at + n_bytes]
        self._at += n_bytes
        return found

    def u32(self, what: str) -> int:
        """The next four bytes as a whole number."""
        return int(_U32.unpack(self.take(4, what))[0])

    def u64(self, what: str) -> int:
        """The next eight bytes as a whole number."""
        return int(_U64.unpack(self.take(8, what))[0])

    def text(self, what: str, limit: int) -> str:
        """A length in eight bytes, then that many bytes of UTF-8.

        Raises:
            CheckpointError: it is longer than `limit` or than the file, or is not UTF-8.
        """
        length = self.u64(what)
        if length > limit:
            raise CheckpointError(f"{self._path}: {what} claims {length:,} bytes; glass reads at most {limit:,}")
        try:
            return self.take(length, what).decode()
        except UnicodeDecodeError:
            raise CheckpointError(f"{self._path}: {what} is not UTF-8") from None

    def skip(self, n_bytes: int, what: str) -> None:
        """Go on by `n_bytes` without reading them."""
        if n_bytes > self.left:
            raise self._cut_off(n_bytes, what)
        self._at += n_bytes
        if self._at > len(self._buffer):
            self._refill()

    def skip_texts(self, count: int, what: str) -> None:
        """Go past `count` texts, reading only their lengths: a vocabulary's 262,144 take some 40 ms."""
        if count > self.left // 8:
            raise CheckpointError(f"{self._path}: {what} claims {count:,} texts, more than the file has room for")
        unpack = _U64.unpack_from
        left, at, buffer = count, self._at, self._buffer
        while left:
            try:
                while left:
                    at += 8 + unpack(buffer, at)[0]
                    left -= 1
            except (struct.error, OverflowError):  # past the buffer
                self._at = min(at, self.size - self._base + 1)
                self._need(8, what)
                at, buffer = self._at, self._buffer
        self._at = at
        if at > len(buffer):
            self._need(0, what)

    def _need(self, n_bytes: int, what: str) -> None:
        """Have the next `n_bytes` in the buffer."""
        if n_bytes > self.left:
            raise self._cut_off(n_bytes, what)
        if self._at + n_bytes > len(self._buffer):
            self._refill(n_bytes)
            if n_bytes > len(self._buffer):
                raise CheckpointError(f"{self._path}: ended while {what} was read; did it change?")

    def _refill(self, n_bytes: int = 0) -> None:
        self._base, self._at = self.position, 0
        self._file.seek(self._base)
        self._buffer = self._file.read(max(BLOCK, n_bytes))

    def _cut_off(self, n_bytes: int, what: str) -> CheckpointError:
        left = max(self.left, 0)
        needs = f"{n_bytes:,}" if n_bytes < 2**64 else "more"
        return CheckpointError(f"{self._path}: cut off: {what} needs {needs} bytes and the file has {left:,} left")
