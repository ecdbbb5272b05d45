"""How kernels are compiled: those that Python calls, `entry`, and those that only other kernels call, `inner` or `shared`.

An inner kernel becomes a part of each place that calls it; a shared one, which many places call, or one seldom, is there once.

Numba keeps an entry on disk until its own file changes, whatever becomes of what it calls and of the constants that it names.
So the name of its cache file says what all of that was, and what compiles it: after a change it is looked for under another name.

NUMBA_DISABLE_JIT=1 is meant for kernels of a user's own. Ours are compiled all the same, since as Python they would count
unsigned integers and divide by zero otherwise, and give other numbers.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core.event import Event, Listener, register
from numba.extending import is_jitted

from . import linking
from .linking import EntryCompiler, InnerCompiler, SharedCompiler

config: Any = import_module("numba.core.config")  # its settings are made at run time
COMPILER = Path(__file__), Path(linking.__file__)  # options, and passes of our own
# Wrappers for callers from outside unpack every array of every tuple; they took half of the time to compile.
ENTRY: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "pipeline_class": EntryCompiler}
# _nrt=False: inner kernels only borrow arrays, and counting references to them took 90 % of the time.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True, "_nrt": False}
INNER["pipeline_class"] = InnerCompiler


class _Enabled(Listener):
    """Lets numba compile a kernel with all that it has inside, where NUMBA_DISABLE_JIT is set."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Event) -> None:
        """Enable compilation; kernels are compiled within each other, one thread at a time."""
        self.depth += 1
        config.DISABLE_JIT = 0

    def on_end(self, event: Event) -> None:
        """Disable it after the outermost."""
        self.depth -= 1
        config.DISABLE_JIT = int(not self.depth)


def _compiled(decorator: Callable[[Callable[..., Any]], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator of numba's that makes kernels where NUMBA_DISABLE_JIT is set, too."""

    def decorate(function: Callable[..., Any]) -> Any:
        disabled, config.DISABLE_JIT = config.DISABLE_JIT, 0
        try:
            return decorator(function)
        finally:
            config.DISABLE_JIT = disabled

    return decorate


if config.DISABLE_JIT:
    register("numba:compile", _Enabled())  # type: ignore[no-untyped-call]


def _kept(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles at the first call, and keeps the result on disk; where nothing can be kept, each process
    compiles anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        name, made_of = function.__qualname__, _made_of(sys.modules[function.__module__])[:12]
        kept = f"{name}.{function.__module__.partition('.')[0]}"  # what is kept names types by their package, too
        function.__qualname__ = f"{kept}-{made_of}"  # the cache's files are named by it, now and never again
        try:
            found = _compiled(njit(**ENTRY, **options))(function)
            _drop(found.stats.cache_path, f"{function.__module__.split('.')[-1]}.{kept}-", made_of)
        except RuntimeError:  # neither beside the file nor in the user's folder can anything be kept
            found = _compiled(njit(**{**ENTRY, "cache": False}, **options))(function)
        function.__qualname__ = found.__qualname__ = name
        return found

    return decorate


def _made_of(module: ModuleType) -> str:
    """Return a digest of what a module's kernels are made of, and of what compiles them."""
    return sha256("\n".join([_digest(module), *(path.read_text(encoding="utf-8") for path in COMPILER)]).encode()).hexdigest()


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


def parts(kernel: Any) -> set[Any]:
    """Return the kernels that one is made of: itself, those that its code names, those that theirs name."""
    found, todo = set(), [kernel]
    while todo:
        function = getattr(one := todo.pop(), "py_func", None)
        if function and one not in found:
            found.add(one)
            todo += [value for name in function.__code__.co_names if is_jitted(value := function.__globals__.get(name))]
    return found


class _Progress(Listener):
    """Counts kernels: those that one is made of are known when it begins."""

    def __init__(self, say: Callable[[int, int], None]) -> None:
        self.say, self.known, self.done = say, set[Any](), set[Any]()

    def on_start(self, event: Event) -> None:
        """Learn what a kernel that begins is made of."""
        self.known |= parts(event.data["dispatcher"])

    def on_end(self, event: Event) -> None:
        """Count it."""
        self.done.add(event.data["dispatcher"])
        self.say(len(self.done), len(self.known | self.done))


def tell(say: Callable[[int, int], None]) -> None:
    """From now on, say after each kernel that this process compiles how many there were, and how many are known of."""
    register("numba:compile", _Progress(say))  # type: ignore[no-untyped-call]


entry = _kept()
by_zero = _kept(error_model="numpy")  # an entry where x / 0 is infinite
inner = _compiled(njit(**INNER))
shared = _compiled(njit(**{**INNER, "forceinline": False, "pipeline_class": SharedCompiler}))
