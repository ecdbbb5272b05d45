"""Versions that travel with results: MODEL changes when a result can change, CODE with each byte of the engine."""

import os
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

MODEL = "0.11"
LINK = 6
COUNTED = (".py", ".toml", ".json")  # what results can depend on; caches and finished studies are neither
PACKAGE = str(__package__)  # "engine" in a checkout, "emberpool.engine" where it is installed
IMPORTED_FROM = Path(str(sys.modules[PACKAGE.partition(".")[0]].__file__)).parents[1]
_ROOT = str(Path(__file__).parent)


def _files() -> Iterator[str]:
    for folder, folders, names in os.walk(_ROOT):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(COUNTED))


def _stamps() -> list[tuple[str, int, int, int]]:
    # Not the files' own times: rsync -t and tar -x set them, and give another file of the same size the time of the old one.
    return [(path, (found := os.stat(path)).st_ino, found.st_ctime_ns, found.st_size) for path in _files()]


def digest_of_code() -> str:
    """Return a digest of the engine's files as they are now, equal on every computer."""
    digest = blake2b(digest_size=8)
    for path in _files():
        digest.update(f"{path.removeprefix(_ROOT).replace(os.sep, '/')}\n".encode())
        digest.update(Path(path).read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


_STAMPS, CODE = _stamps(), digest_of_code()  # as this process began, whatever happens to the files afterwards


def code_has_changed() -> bool:
    """Return whether the engine's files are no longer what this process began with, so that a late import mixes both.

    It looks at the files once a second, and whenever a module was loaded meanwhile.
    """
    return _changed(len(sys.modules), int(time.monotonic()))


@lru_cache(maxsize=1)
def _changed(modules: int, second: int) -> bool:
    try:
        return _stamps() != _STAMPS and digest_of_code() != CODE
    except OSError:  # a file went while we looked
        return True
