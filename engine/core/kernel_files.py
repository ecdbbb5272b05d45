"""Compiled kernels on disk, each file with a certificate of its content.

Numba's own files are pickles, and whoever unpickles a damaged or foreign one runs it. Here a file begins with a digest of its
name, Numba's version and its bytes, and is not unpickled before that is compared. A file with a wrong digest is removed, and its
kernel is compiled anew. There is no index: the name of a file has the digests of its kernel's sources and of its signature.
"""

import os
import pickle
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from ..errors import BadFile
from ..paths import open_regular

MAX_FILE_BYTES = 1 << 26  # the largest kernel of the engine takes less than 1 MiB
DIGEST_NBYTES = sha256().digest_size
PRINTED_TOPICS: set[str] = set()
REMEDY = "set NUMBA_CACHE_DIR to a folder of your own, or kernels are compiled in each process, some twenty seconds each time."


class CertifiedFiles(IndexDataCacheFile):
    """The kept files of one kernel, one for each signature."""

    def load(self, key: Any) -> Any:
        """Return the compiled kernel of a key, or None.

        A file that is not as it was written is removed.
        """
        path = self._path(key)
        if not os.path.lexists(path):
            return None
        content = _own_bytes(path)
        certificate, payload = content[:DIGEST_NBYTES], content[DIGEST_NBYTES:]
        if certificate != self._certificate(path, payload):
            _say_once("damaged", f"The kept kernel {path} is damaged or foreign; it is removed, and the kernel is compiled anew.")
            with suppress(OSError):
                path.unlink()
            return None
        kept_key, kernel = pickle.loads(payload)
        return kernel if kept_key == key else None  # types of equal names can differ

    def save(self, key: Any, data: Any) -> None:
        """Keep the compiled kernel of a key; raises OSError."""
        path, payload = self._path(key), self._dump((key, data))  # type: ignore[no-untyped-call]
        with self._open_for_write(str(path)) as file:
            file.write(self._certificate(path, payload) + payload)

    def flush(self) -> None:
        """Remove the kept files."""
        for path in Path(self._cache_path).glob(self._name("*")):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return Path(self._cache_path, self._name(sha256(repr(key).encode()).hexdigest()[:16]))

    def _name(self, signature_digest: str) -> str:
        return self._index_name.removesuffix("nbi") + f"{signature_digest}.nbc"

    def _certificate(self, path: Path, payload: bytes) -> bytes:
        return sha256(f"{path.name}\n{numba.__version__}\n".encode() + payload).digest()


class CertifiedCache(FunctionCache):
    """The cache of one kernel in the folder that Numba chooses for it.

    Raises RuntimeError if Numba finds no folder, or if others may write to it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        _require_own_folder(Path(self.cache_path))
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = CertifiedFiles(self.cache_path, self._impl.filename_base, stamp)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel; where the folder cannot take it, it stays in memory."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            _say_once("full", f"Compiled kernels cannot be kept in {self.cache_path}: {error.strerror}; {REMEDY}")


def certified_cache(function: Callable[..., Any]) -> CertifiedCache | None:
    """Return the cache of a kernel's compiled code; None if no folder can keep it."""
    try:
        return CertifiedCache(function)
    except RuntimeError as error:
        if current_process().name == "MainProcess":  # workers share its terminal
            _say_once("folder", f"Compiled kernels are not kept: {error}; {REMEDY}")
    return None


def _require_own_folder(folder: Path) -> None:
    """Raise RuntimeError if anybody but this user and root may put a file into a folder, or exchange the folder itself."""
    for path, is_parent in ((folder, False), (folder.parent, True)):
        status = path.stat()
        if status.st_uid not in (0, os.geteuid()):
            raise RuntimeError(f"{path} belongs to another user")
        if status.st_mode & stat.S_IWOTH and not (is_parent and status.st_mode & stat.S_ISVTX):
            raise RuntimeError(f"everybody may write to {path}")


def _own_bytes(path: Path) -> bytes:
    """Return the bytes of a regular file that only this user or root may write; b"" of any other."""
    try:
        with open_regular(path, MAX_FILE_BYTES) as file:
            status = os.fstat(file.fileno())
            is_own = status.st_uid in (0, os.geteuid()) and not status.st_mode & stat.S_IWOTH
            return file.read() if is_own else b""
    except (BadFile, OSError):
        return b""


def _say_once(topic: str, sentence: str) -> None:
    """Print a sentence on standard error, unless this process has printed one on its topic."""
    if topic not in PRINTED_TOPICS:
        PRINTED_TOPICS.add(topic)
        print(sentence, file=sys.stderr)
