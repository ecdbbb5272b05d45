"""Versions that each result carries: MODEL of the results, CODE of the engine's files.

MODEL changes when a result can change, CODE with each byte of the engine.
PROGRAM is the command as users type it, for sentences that name it. `release` returns the version of the package.
"""

import os
import sys
import time
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

MODEL = "0.24"
LINK = 10
CODE_SUFFIXES = (".py", ".toml", ".json", ".csv")  # files that results can depend on, unlike caches and finished studies
PACKAGE = str(__package__)  # "engine" in a checkout, "emberpool.engine" where it is installed
IMPORTED_FROM = Path(str(sys.modules[PACKAGE.partition(".")[0]].__file__)).parents[1]
_ROOT = str(Path(__file__).parent)
_NAME, _UNKNOWN = "emberpool", "0+unknown"


@cache
def _checkout() -> str:
    """Return the version in the pyproject.toml beside the engine, "" outside a checkout."""
    try:
        project = tomllib.loads((Path(_ROOT).parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, KeyError, ValueError):
        return ""
    return str(project["version"]) if project.get("name") == _NAME else ""


@cache
def _installed() -> str:
    """Return the version of the installed package, "" if not installed."""
    from importlib import metadata  # late: its imports are slow

    try:
        return metadata.version(_NAME)
    except metadata.PackageNotFoundError:
        return ""


def release() -> str:
    """Return the version of the package.

    In a checkout it is that of pyproject.toml, else that of the installed metadata.
    """
    return _checkout() or _installed() or _UNKNOWN


def _program() -> str:
    """Return the command that users type: `emberpool` where installed, the module in a checkout."""
    in_checkout = PACKAGE == "engine" or (_checkout() and not _installed())
    return "python -m engine" if in_checkout else _NAME


PROGRAM = _program()


def _files() -> Iterator[str]:
    for folder, folders, names in os.walk(_ROOT):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(CODE_SUFFIXES))


def _stamps() -> list[tuple[str, int, int, int]]:
    # Not the files' own times: rsync -t and tar -x set them, and give another file of the same size the time of the old one.
    return [(path, (status := os.stat(path)).st_ino, status.st_ctime_ns, status.st_size) for path in _files()]


def digest_of_code() -> str:
    """Return a digest of the engine's present files, equal on every computer."""
    digest = blake2b(digest_size=8)
    for path in _files():
        digest.update(f"{path.removeprefix(_ROOT).replace(os.sep, '/')}\n".encode())
        digest.update(Path(path).read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()


_STAMPS, CODE = _stamps(), digest_of_code()  # of the files at the start of this process


def code_has_changed() -> bool:
    """Return whether the engine's files have changed since this process started.

    If they have, modules imported later would not match those imported before.
    The files are checked once a second, and after each import of a module.
    """
    return _files_have_changed(len(sys.modules), int(time.monotonic()))


@lru_cache(maxsize=1)
def _files_have_changed(modules: int, second: int) -> bool:
    try:
        return _stamps() != _STAMPS and digest_of_code() != CODE
    except OSError:  # a file was removed meanwhile
        return True
