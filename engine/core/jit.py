"""Decorators that compile the engine's kernels with Numba.

Python code calls an `entry` kernel; kernels call `inner` and `shared` kernels. An inner kernel is inlined at each call. A shared
kernel, which has many callers or is seldom called, stays a function. `prefetch_line` is an instruction for kernels.

Numba checks a cached kernel only against the kernel's own source file, not against the kernels that it calls or the constants
that it reads. So the name of the cache file has a digest of all these sources: after a change, Numba looks for a file with
another name.

NUMBA_DISABLE_JIT=1 applies to a user's own kernels only. The engine's kernels are compiled all the same: as Python code they
would treat unsigned integers and division by zero differently, and give other numbers.
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
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.core.event import Event, Listener, register
from numba.extending import intrinsic, is_jitted

from .kernel_files import certified_cache

config: Any = import_module("numba.core.config")  # its settings are made at run time
OPTIONS = Path(__file__)  # a kept kernel depends on the options below
# Wrappers for callers from outside unpack every array of every tuple; they took half of the time to compile.
ENTRY_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
# _nrt=False: inner kernels only borrow arrays, and counting references to them took 90 % of the time.
SHARED_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
FOR_READING, IN_ALL_CACHES, DATA_CACHE = 0, 3, 1  # arguments of LLVM's prefetch

Decorator = Callable[[Callable[..., Any]], Any]


class _CompilationEnabled(Listener):
    """Enables compilation while a kernel of the engine compiles, in a process with NUMBA_DISABLE_JIT."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Event) -> None:
        """Enable compilation; kernels are compiled within each other, one thread at a time."""
        self.depth += 1
        config.DISABLE_JIT = 0

    def on_end(self, event: Event) -> None:
        """Disable compilation after the outermost kernel."""
        self.depth -= 1
        config.DISABLE_JIT = int(not self.depth)


def _compile_regardless(decorator: Decorator) -> Decorator:
    """Return numba's decorator wrapped so that kernels compile even with NUMBA_DISABLE_JIT."""

    def decorate(function: Callable[..., Any]) -> Any:
        disabled, config.DISABLE_JIT = config.DISABLE_JIT, 0
        try:
            return decorator(function)
        finally:
            config.DISABLE_JIT = disabled

    return decorate


if config.DISABLE_JIT:
    register("numba:compile", _CompilationEnabled())  # type: ignore[no-untyped-call]


def _cache_on_disk(**options: Any) -> Decorator:
    """Return a decorator that compiles at the first call and caches the machine code on disk.

    If no folder can keep it safely, each process compiles anew.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        name, digest = function.__qualname__, _digest(sys.modules[function.__module__])[:12]
        prefix = f"{name}.{function.__module__.partition('.')[0]}"  # cached types are named by their package, too
        function.__qualname__ = f"{prefix}-{digest}"  # numba names the cache's files by it, now and never again
        kernel = _compile_regardless(njit(**ENTRY_OPTIONS, **options))(function)
        if kernel_cache := certified_cache(function):
            kernel._cache = kernel_cache
            _remove_outdated(kernel_cache.cache_path, f"{function.__module__.split('.')[-1]}.{prefix}-", digest)
        function.__qualname__ = kernel.__qualname__ = name
        return kernel

    return decorate


def _digest(module: ModuleType) -> str:
    """Return a digest of the sources of a module's kernels and of the options that they are compiled with."""
    return sha256(f"{_sources(module)}\n{OPTIONS.read_text(encoding='utf-8')}".encode()).hexdigest()


@cache
def _sources(module: ModuleType) -> str:
    """Return a digest of a module's file, of the files that its kernels come from, and of its constants."""
    parts, package = [Path(str(module.__file__)).read_text(encoding="utf-8")], module.__name__.split(".")[0] + "."
    for name, member in sorted(vars(module).items()):  # all imports stand before the first kernel of the module
        owner = sys.modules.get(member.__module__) if is_jitted(member) else member
        if isinstance(owner, ModuleType) and owner is not module and owner.__name__.startswith(package):
            parts.append(_sources(owner))
        elif not name.startswith("__") and _is_constant(member):
            parts.append(f"{name} {member!r}")
        elif isinstance(member, type) and hasattr(member, "_fields"):
            parts.append(f"{name} {member._fields}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _is_constant(member: Any) -> bool:
    """Return whether numba compiles a global into a kernel as a constant, and the global's text identifies its value."""
    is_scalar = isinstance(member, (int, float, str, range, np.generic, np.dtype))
    return is_scalar or (isinstance(member, tuple) and all(map(_is_constant, member)))


def _remove_outdated(folder: str, kernel: str, digest: str) -> None:
    """Remove cache files of a kernel's earlier sources.

    A process that still runs these compiles again.
    """
    with suppress(OSError):
        for file in Path(folder).glob(f"{kernel}*"):
            if not file.name.startswith(kernel + digest):
                file.unlink()


def called_kernels(kernel: Any) -> set[Any]:
    """Return `kernel` and all kernels that it calls, directly or through other kernels."""
    reached, waiting = set(), [kernel]
    while waiting:
        dispatcher = waiting.pop()
        function = getattr(dispatcher, "py_func", None)
        if function and dispatcher not in reached:
            reached.add(dispatcher)
            names = function.__code__.co_names
            waiting += [called for name in names if is_jitted(called := function.__globals__.get(name))]
    return reached


class _Progress(Listener):
    """Counts compiled kernels; the parts of a kernel are known when it begins."""

    def __init__(self, report: Callable[[int, int], None]) -> None:
        self.report, self.begun_kernels, self.compiled_kernels = report, set[Any](), set[Any]()

    def on_start(self, event: Event) -> None:
        """Note the parts of a kernel that begins."""
        self.begun_kernels |= called_kernels(event.data["dispatcher"])

    def on_end(self, event: Event) -> None:
        """Count the kernel."""
        self.compiled_kernels.add(event.data["dispatcher"])
        self.report(len(self.compiled_kernels), len(self.begun_kernels | self.compiled_kernels))


def report_compilation(report: Callable[[int, int], None]) -> None:
    """Call `report` after each kernel that this process compiles from now on.

    `report` gets the number of compiled kernels, and the number of kernels known so far that are needed.
    """
    register("numba:compile", _Progress(report))  # type: ignore[no-untyped-call]


def _prefetch_code(_: Any, array: Any, row: Any, column: Any) -> Any:
    """Return the signature and the code of a prefetch of the cache line of array[row, column], which must exist."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = context.make_array(array)(context, builder, args[0])
        element_pointer: Any = cgutils.get_item_pointer
        pointer = element_pointer(context, builder, array, place, args[1:], wraparound=False)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        hint = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        hint_numbers = [number(constant) for constant in (FOR_READING, IN_ALL_CACHES, DATA_CACHE)]
        builder.call(hint, [builder.bitcast(pointer, cgutils.voidptr_t), *hint_numbers])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), code


prefetch_line: Any = intrinsic(_prefetch_code)
entry_kernel = _cache_on_disk()
entry_kernel_by_zero = _cache_on_disk(error_model="numpy")  # an entry where x / 0 is infinite
inner_kernel = _compile_regardless(njit(**SHARED_OPTIONS, forceinline=True))
shared_kernel = _compile_regardless(njit(**SHARED_OPTIONS))
