"""A disk under SQLite that notes every change in order, and can refuse one: SQLite's own, with four calls looked through.

The store's code runs unchanged on it. It needs the SQLite library that Python itself uses, as a shared library.
"""

import _sqlite3
import ctypes
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITE, TRUNCATE, SYNC, SHARED_INDEX = "write", "truncate", "sync", "shared"
LINK, UNLINK, RENAME, SYNC_FOLDER = "link", "unlink", "rename", "sync folder"
JOURNAL, WAL, CREATE = 0x800, 0x80000, 0x4  # SQLITE_OPEN_MAIN_JOURNAL, _WAL, _CREATE
DISK_FULL = 13
# What SQLite's own disk answers to each call that fails: SQLITE_IOERR_WRITE, _TRUNCATE, _FSYNC, _SHMSIZE; SQLITE_CANTOPEN.
IO_ERROR = {WRITE: 778, TRUNCATE: 1546, SYNC: 1034, SHARED_INDEX: 4874, LINK: 14}
REFUSALS = {errno.ENOSPC: dict.fromkeys(IO_ERROR, DISK_FULL) | {SYNC: 1034, SHARED_INDEX: 4874, LINK: 14}, errno.EIO: IO_ERROR}


@dataclass(frozen=True)
class Op:
    """One change: its kind, of which file (a number that no other file ever had), where, which bytes; or an entry's name.

    A renaming has the new name in place of bytes.
    """

    kind: str
    file: int = 0
    offset: int = 0
    content: bytes = b""
    name: str = ""


@dataclass
class Disk:
    """The changes so far, and which call is refused: the one with number `refuse`, with the errno `error`.

    `numbers` are those of the files that have a name now.
    """

    ops: list[Op] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    refuse: int = -1
    error: int = errno.EIO
    refused: str = ""

    def refusal(self, kind: str) -> int:
        """Count a call that could fail, and return SQLite's code if this one does, else 0."""
        self.calls += 1
        if self.calls - 1 != self.refuse:
            return 0
        self.refused = kind
        return REFUSALS[self.error][kind]


X_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
X_DELETE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
X_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
X_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
X_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
X_SHM_MAP = CFUNCTYPE(c_int, c_void_p, c_int, c_int, c_int, c_void_p)


class Vfs(Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = (
        ("version", c_int),
        ("file_bytes", c_int),
        ("longest", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", X_OPEN),
        ("delete", X_DELETE),
        ("rest", c_void_p * 13),
    )


class Methods(Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = (
        ("version", c_int),
        ("close", c_void_p),
        ("read", c_void_p),
        ("write", X_WRITE),
        ("truncate", X_TRUNCATE),
        ("sync", X_SYNC),
        ("others", c_void_p * 7),
        ("shm_map", X_SHM_MAP),
        ("rest", c_void_p * 5),
    )


def sqlite() -> Any:
    """Return the library that Python's sqlite3 uses, or None where it is built in."""
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = c_void_p
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
        library.sqlite3_vfs_unregister.argtypes = [c_void_p]
    except (AttributeError, OSError):
        return None
    return library


@contextmanager
def watched(*paths: Path) -> Iterator[Disk]:
    """Note what every connection opened within the block changes on disk; files at `paths` already are the first ones."""
    library, disk = sqlite(), Disk()
    for path in paths:
        disk.numbers[str(path)] = len(disk.numbers) + 1
        disk.ops += [Op(LINK, len(disk.numbers), name=str(path)), Op(WRITE, len(disk.numbers), 0, path.read_bytes())]
        disk.ops += [Op(SYNC, len(disk.numbers)), Op(SYNC_FOLDER)]
    address = library.sqlite3_vfs_find(None)
    sqlite_vfs = Vfs.from_address(address)
    vfs = Vfs.from_buffer_copy(sqlite_vfs)
    vfs.name = b"watched"
    shim = _Shim(disk, sqlite_vfs)
    vfs.open, vfs.delete = X_OPEN(shim.open), X_DELETE(shim.delete)
    library.sqlite3_vfs_register(ctypes.byref(vfs), 1)
    try:
        yield disk
    finally:
        library.sqlite3_vfs_register(address, 1)
        library.sqlite3_vfs_unregister(ctypes.byref(vfs))


class _Shim:
    """Looks through the calls: what succeeds is noted, what is to be refused never reaches the disk."""

    def __init__(self, disk: Disk, sqlite_vfs: Vfs) -> None:
        self.disk, self.sqlite_vfs = disk, sqlite_vfs
        self.open_files: dict[int, int] = {}
        self.fresh_journals: set[int] = set()
        self.patched: dict[int, Methods] = {}
        self.files = len(disk.numbers)

    def open(self, vfs: int, name: int, file: int, flags: int, out_flags: int) -> int:
        path = ctypes.string_at(name).decode() if name else ""
        is_new = bool(path) and path not in self.disk.numbers
        if is_new and (code := self.disk.refusal(LINK)):
            ctypes.cast(file, POINTER(c_void_p))[0] = None  # no methods: SQLite must not close it
            return code
        code = self.sqlite_vfs.open(vfs, name, file, flags, out_flags)
        if code or not path:
            return int(code)
        if is_new:
            self.files += 1
            self.disk.numbers[path] = self.files
            self.disk.ops.append(Op(LINK, self.files, name=path))
        self.open_files[file] = self.disk.numbers[path]
        if flags & (JOURNAL | WAL) and flags & CREATE:
            self.fresh_journals.add(file)
        slot = ctypes.cast(file, POINTER(c_void_p))
        slot[0] = ctypes.addressof(self._methods(int(slot[0] or 0)))
        return 0

    def delete(self, vfs: int, name: bytes, sync_folder: int) -> int:
        code = int(self.sqlite_vfs.delete(vfs, name, sync_folder))
        if not code and self.disk.numbers.pop(name.decode(), 0):
            self.disk.ops.append(Op(UNLINK, name=name.decode()))
            if sync_folder:
                self.disk.ops.append(Op(SYNC_FOLDER))
        return code

    def _methods(self, address: int) -> Methods:
        if address not in self.patched:
            sqlite_methods = Methods.from_address(address)
            patched = Methods.from_buffer_copy(sqlite_methods)
            patched.write = X_WRITE(
                self._looked(WRITE, sqlite_methods.write, lambda buffer, size, offset: (offset, ctypes.string_at(buffer, size)))
            )
            patched.truncate = X_TRUNCATE(self._looked(TRUNCATE, sqlite_methods.truncate, lambda size: (size, b"")))
            patched.sync = X_SYNC(self._looked(SYNC, sqlite_methods.sync, lambda flags: (flags, b"")))
            patched.shm_map = X_SHM_MAP(self._shm_map(sqlite_methods.shm_map))
            self.patched[address] = patched
        return self.patched[address]

    def _looked(
        self, kind: str, call: Callable[..., int], offset_and_content: Callable[..., tuple[int, bytes]]
    ) -> Callable[..., int]:
        def noted_call(file: int, *arguments: int) -> int:
            code = self.disk.refusal(kind) or int(call(file, *arguments))
            if not code:
                self.disk.ops.append(Op(kind, self.open_files[file], *offset_and_content(*arguments)))
                if kind == SYNC and file in self.fresh_journals:  # SQLite then syncs the folder too
                    self.fresh_journals.discard(file)
                    self.disk.ops.append(Op(SYNC_FOLDER))
            return code

        return noted_call

    def _shm_map(self, call: Callable[..., int]) -> Callable[..., int]:
        def shm_map(file: int, *arguments: int) -> int:
            return self.disk.refusal(SHARED_INDEX) or int(call(file, *arguments))

        return shm_map
