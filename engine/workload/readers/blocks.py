"""The text of a data file in blocks of whole lines.

A gzipped file is unpacked. The length of lines, the expansion of gzip and the memory are limited: only one block and the line
that the block cuts are in memory. All text formats are read through this module.
"""

import gzip
import os
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, BinaryIO

from ...core.figures import count
from ...errors import BadFile

READ_NBYTES = 1 << 22
LONGEST_LINE = 1 << 20
FREE_TEXT = 8 << 20  # bytes that a gzip file of any size may hold
EXPANSION = 16  # click logs shrink to a third or a tenth; a bomb to a thousandth
GZIP = b"\x1f\x8b"
STAT_FIELDS = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")  # no program can set the last one
UTF_16, MARK = (b"\xff\xfe", b"\xfe\xff"), b"\xef\xbb\xbf"  # byte order marks, the latter of UTF-8


@dataclass(eq=False)
class Blocks:
    """One reading of a file; iterating yields blocks of whole lines.

    name: the name of the file, for messages.
    file: the opened file.
    size: the bytes of the file when it was opened; a file that grows while it is read is refused.
    nbytes_read: the bytes read from disk so far.
    nbytes_unpacked: the bytes of text so far.
    line: the line number at which the next block begins.
    packed: True if the file is gzipped.
    hasher: the SHA-256 of the bytes on disk, complete after the last block.
    watch: a function that is called with the share of the file that is read and a text, or None.
    """

    name: str
    file: BinaryIO
    size: int | None = None
    nbytes_read: int = 0
    nbytes_unpacked: int = 0
    line: int = 1
    packed: bool = False
    hasher: Any = field(default_factory=sha256)
    watch: Callable[[float, str], None] | None = None

    def digest(self) -> str:
        """Return the SHA-256 of the bytes that were read so far."""
        return str(self.hasher.hexdigest())

    def __iter__(self) -> Iterator[bytes]:
        """Yield blocks of whole lines; the last line may lack its end. Raises BadFile.

        `line` is the line number of a block's start.
        """
        pending = b""
        for part in self.pieces():
            pending += part
            end = pending.rfind(b"\n") + 1
            if len(pending) - end > LONGEST_LINE:
                line = self.line + pending.count(b"\n")
                raise BadFile(
                    f"{self.name}:{line}: the line{_foreign(pending[end:])} is longer than {count(LONGEST_LINE)} bytes; "
                    "write one sample per line."
                )
            if end:
                yield pending[:end]
                self.line += pending.count(b"\n")
                pending = pending[end:]
        if pending:
            yield pending

    def pieces(self) -> Iterator[bytes]:
        """Yield pieces of the unpacked text, cut anywhere in a line; raises BadFile."""
        try:
            head = self.file.read(len(GZIP))
            self.file.seek(0)
            self.packed = head == GZIP
            if head in UTF_16:
                raise BadFile(f"{self.name}:1: the text is UTF-16, but data files are UTF-8; save it as UTF-8.")
            text_file: Any = gzip.GzipFile(fileobj=self, mode="rb") if head == GZIP else self  # type: ignore[call-overload]
            while part := text_file.read(READ_NBYTES):
                self.nbytes_unpacked += len(part)
                if self.nbytes_unpacked > FREE_TEXT + EXPANSION * self.nbytes_read:
                    raise BadFile(
                        f"{self.name} unpacks to more than {EXPANSION} times its size, unlike any log of clicks; if it is one, "
                        "unpack it with gunzip and give the plain file."
                    )
                yield part
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BadFile(f"{self.name} is a damaged or cut off gzip file: {error}; copy it again.") from error
        except OSError as error:
            raise BadFile(f"{self.name} cannot be read: {error.strerror or error}; give a readable file.") from error

    def read(self, nbytes: int) -> bytes:
        """Return the next bytes of the file on disk, without unpacking; raises BadFile."""
        part = self.file.read(nbytes)
        self.hasher.update(part)
        self.nbytes_read += len(part)
        if self.size is not None and self.nbytes_read > self.size:
            raise changed_refusal(self.name)
        if self.watch:
            self.watch(self.nbytes_read / max(self.size or self.nbytes_read, 1), f"reading {self.name}")
        return part


def decoded_head(head: bytes, whole: bool) -> str:
    """Return the first bytes of a UTF-8 text as text.

    Unless they are the `whole` text, their end may cut a letter. Raises UnicodeDecodeError.
    """
    return getincrementaldecoder("utf-8")().decode(head, whole)


def _foreign(line: bytes) -> str:
    return " has NUL bytes, which are no text, and" if b"\0" in line else ""


def changed_refusal(name: str) -> BadFile:
    """Return the refusal of a file that changed while it was read."""
    return BadFile(f"{name} changed while it was read; read it again when it is complete.")


def check_unchanged(earlier_stat: os.stat_result, later_stat: os.stat_result, name: str) -> None:
    """Raise BadFile if a file was changed or replaced between two calls of stat."""
    if any(getattr(earlier_stat, field) != getattr(later_stat, field) for field in STAT_FIELDS):
        raise changed_refusal(name)
