"""A data file's text in blocks of whole lines, plain or gzipped, with a ceiling on lines, on expansion and on memory.

Whatever a file holds, a block and the line that it cuts are all that is in memory. Formats of text read through this.
"""

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from ...core.figures import count
from ...errors import BadFile

READ = 1 << 22
LONGEST_LINE = 1 << 20
FREE_TEXT = 8 << 20  # what a gzip file of any size may hold
EXPANSION = 16  # click logs shrink to a third or a tenth; a bomb to a thousandth
GZIP = b"\x1f\x8b"
UTF_16, MARK = (b"\xff\xfe", b"\xfe\xff"), b"\xef\xbb\xbf"  # byte order marks, the latter of UTF-8


@dataclass(eq=False)
class Blocks:
    """One pass over a file: its whole lines block by block. `digest()` is of the bytes on disk, known at the end."""

    name: str
    file: BinaryIO
    size: int | None = None  # when it was opened: one that grows faster than it is read would have no end
    taken: int = 0
    text: int = 0
    line: int = 1
    packed: bool = False
    hashed: Any = field(default_factory=sha256)
    watch: Callable[[float, str], None] | None = None

    def digest(self) -> str:
        """Return the SHA-256 of what was read."""
        return str(self.hashed.hexdigest())

    def __iter__(self) -> Iterator[bytes]:
        """Yield text that ends with a line, the last perhaps without its end; `line` is that of its start; raises BadFile."""
        held = b""
        for part in self.pieces():
            held += part
            end = held.rfind(b"\n") + 1
            if len(held) - end > LONGEST_LINE:
                line = self.line + held.count(b"\n")
                raise BadFile(
                    f"{self.name}:{line}: the line{_foreign(held[end:])} is longer than {count(LONGEST_LINE)} bytes; "
                    "write one sample per line."
                )
            if end:
                yield held[:end]
                self.line += held.count(b"\n")
                held = held[end:]
        if held:
            yield held

    def pieces(self) -> Iterator[bytes]:
        """Yield the text as it is unpacked, wherever its lines end; raises BadFile."""
        try:
            head = self.file.read(len(GZIP))
            self.file.seek(0)
            self.packed = head == GZIP
            if head in UTF_16:
                raise BadFile(f"{self.name}:1: the text is UTF-16, but data files are UTF-8; save it as UTF-8.")
            plain: Any = gzip.GzipFile(fileobj=self, mode="rb") if head == GZIP else self  # type: ignore[call-overload]
            while part := plain.read(READ):
                self.text += len(part)
                if self.text > FREE_TEXT + EXPANSION * self.taken:
                    raise BadFile(
                        f"{self.name} unpacks to more than {EXPANSION} times its size, as no click log does; "
                        "unpack it with gunzip and give the plain file if it is one."
                    )
                yield part
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BadFile(f"{self.name} is a damaged or cut off gzip file: {error}; copy it again.") from error
        except OSError as error:
            raise BadFile(f"{self.name} cannot be read: {error.strerror or error}; give a readable file.") from error

    def read(self, nbytes: int) -> bytes:
        """Return the file's next bytes, packed if they are."""
        part = self.file.read(nbytes)
        self.hashed.update(part)
        self.taken += len(part)
        if self.watch:
            self.watch(self.taken / max(self.size or 0, self.taken, 1), f"reading {self.name}")
        if self.size is not None and self.taken > self.size:
            raise changed(self.name)
        return part


def _foreign(line: bytes) -> str:
    return " has NUL bytes, which are no text, and" if b"\0" in line else ""


def opened(path: Path) -> BinaryIO:
    """Open a regular file without ever waiting for its other end; raises BadFile or OSError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadFile(f"{shown(path)} cannot be read: {why}; give a readable file.") from error
    kind = os.fstat(handle).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(handle, "rb", buffering=0)
    os.close(handle)
    what = next((word for is_it, word in KINDS if is_it(kind)), "no regular file")
    raise BadFile(f"{shown(path)} cannot be read: it is {what}; give a regular file.")


KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe, which cannot be read twice"),
    (stat.S_ISCHR, "a device, which has no end"),
)


def changed(name: str) -> BadFile:
    """Return the refusal of a file that was written to while it was read."""
    return BadFile(f"{name} changed while it was read; read it again when its writing has ended.")


def unchanged(before: os.stat_result, after: os.stat_result, name: str) -> None:
    """Raise BadFile if a file was written to between the two looks at it."""
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise changed(name)


def shown(path: Path | str, most: int = 120) -> str:
    """Return a path short enough for a message: its end says which file it is."""
    text = "".join(one if one.isprintable() else "?" for one in str(path))
    return text if len(text) <= most else f"...{text[-most:]}"
