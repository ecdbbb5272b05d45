"""How kernels are compiled: those that Python calls, `entry`, and those that only other kernels call, `inner`."""

from typing import Any

from numba import njit

# Wrappers for callers from outside unpack every array of every tuple; they took half of the time to compile.
ENTRY: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}
# _nrt=False: inner kernels only borrow arrays, and counting references to them took 90 % of the time.
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True, "_nrt": False}
entry = njit(**ENTRY)
by_zero = njit(**ENTRY, error_model="numpy")  # an entry where x / 0 is infinite
inner = njit(**INNER)
