"""Unpacks a gzipped file of arrays once, so that it can be mapped: room is named and checked first."""

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ....errors import BadFile
from ..blocks import shown
from ..samples import Watch, unwatched

HEAD, PIECE = 1 << 20, 1 << 22
EXPANSION = 64  # of the gzip: lengths and offsets shrink well
FREE = 16 << 20  # what a gzip file of any size may hold
SPARE = 64 << 20  # bytes of a disk that stay free


def unpacked(path: Path, name: str, size: Callable[[bytes], int], watch: Watch = unwatched) -> Path:
    """Return the plain file of a gzipped one, unpacked once where there is room, and kept; raises BadFile.

    `size` tells from the first bytes unpacked how many there will be, 0 where it cannot; then there are at least those packed.
    """
    needed = max(path.stat().st_size, _size(path, size))
    beside = path.with_name(path.name.removesuffix(".gz") + ".unpacked")
    away = Path(tempfile.gettempdir()) / f"emberpool-{sha256(str(path.resolve()).encode()).hexdigest()[:16]}.unpacked"
    for plain in (beside, away):
        with suppress(OSError):
            there = plain.stat()
            if there.st_mtime >= path.stat().st_mtime and there.st_uid == os.getuid():
                return plain
    for plain in (beside, away):
        if os.access(plain.parent, os.W_OK) and _free(plain) > needed + SPARE:
            _unpack(path, name, plain, needed, watch)
            return plain
    free = ", ".join(f"{_free(one) / 2**30:,.1f} GiB in {shown(one.parent, 60)}" for one in (beside, away))
    raise BadFile(
        f"{name} needs {needed / 2**30:,.1f} GiB to be unpacked beside itself or in the folder for temporary files, but free and "
        f"writable are at most {free}; make room, or name another folder as TMPDIR."
    )


def _free(path: Path) -> int:
    return shutil.disk_usage(path.parent).free


def _unpack(path: Path, name: str, plain: Path, needed: int, watch: Watch) -> None:
    most = max(EXPANSION * path.stat().st_size, FREE)
    part = plain.with_name(f"{plain.name}.{os.getpid()}")
    try:
        with gzip.open(path) as packed, part.open("xb") as there:
            while piece := packed.read(PIECE):
                if there.tell() + len(piece) > most:
                    raise BadFile(
                        f"{name} unpacks to more than {EXPANSION} times its size, as no trace does; unpack it yourself."
                    )
                if there.tell() > needed and _free(part) < SPARE:
                    raise BadFile(f"{name} needs more room than {shown(part.parent, 60)} has; name another folder as TMPDIR.")
                there.write(piece)
                watch(min(there.tell() / needed, 1.0), f"unpacking {needed / 2**30:,.1f} GiB to {shown(plain, 60)}")
        part.replace(plain)
    finally:
        part.unlink(missing_ok=True)


def _size(path: Path, size: Callable[[bytes], int]) -> int:
    with suppress(Exception), gzip.open(path) as packed:  # what is wrong with it is said when it is read whole
        return size(packed.read(HEAD))
    return 0
