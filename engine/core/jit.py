"""How kernels are compiled: those that Python calls, `entry`, and those that only other kernels call, `inner`.

Numba keeps an entry on disk until its own file changes, whatever becomes of what it calls and of the constants that it names.
So the name of its cache file says what all of that was: after a change it is looked for under another name.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.extending import is_jitted

# Wrappers for callers from outside unpack every array of every tuple; they took half of the time to compile.
ENTRY: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
# _nrt=False: inner kernels only borrow arrays, and counting references to them took 90 % of the time.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True, "_nrt": False}


def _kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles at the first call, and keeps the result on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        name, made_of = function.__qualname__, _digest(sys.modules[function.__module__])[:12]
        function.__qualname__ = f"{name}-{made_of}"  # the cache's files are named by it, now and never again
        found = njit(**ENTRY, **options)(function)
        function.__qualname__ = found.__qualname__ = name
        _drop(found.stats.cache_path, f"{function.__module__.split('.')[-1]}.{name}-", made_of)
        return found

    return decorate


@cache
def _digest(module: ModuleType) -> str:
    """Return a digest of what a module's kernels are made of: its file, the files of kernels that it imports, and constants."""
    parts, package = [Path(str(module.__file__)).read_text(encoding="utf-8")], module.__name__.split(".")[0] + "."
    for name, value in sorted(vars(module).items()):  # all imports stand before the first kernel, whose turn it is
        owner = sys.modules.get(value.__module__) if is_jitted(value) else value
        if isinstance(owner, ModuleType) and owner is not module and owner.__name__.startswith(package):
            parts.append(_digest(owner))
        elif not name.startswith("__") and _frozen(value):
            parts.append(f"{name} {value!r}")
        elif isinstance(value, type) and hasattr(value, "_fields"):
            parts.append(f"{name} {value._fields}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _frozen(value: Any) -> bool:
    """Return whether a kernel that names the value as a global keeps it, and its text says what it is."""
    plain = isinstance(value, (int, float, str, range, np.generic, np.dtype))
    return plain or (isinstance(value, tuple) and all(map(_frozen, value)))


def _drop(folder: str, kernel: str, made_of: str) -> None:
    """Remove files of a kernel as it was; a process that still has the old one compiles it again."""
    with suppress(OSError):
        for file in Path(folder).glob(f"{kernel}*"):
            if not file.name.startswith(kernel + made_of):
                file.unlink()


entry = _kept()
by_zero = _kept(error_model="numpy")  # an entry where x / 0 is infinite
inner = njit(**INNER)
