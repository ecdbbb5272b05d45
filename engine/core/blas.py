"""Spares a new process SciPy: numba loads its linear algebra with the first kernel, and none of ours multiplies matrices."""

import sys
from contextlib import suppress

import numba  # noqa: F401 - before the door is shut, lest anything else of it looks for SciPy


def spare() -> None:
    """Let numba believe that there is no BLAS, unless SciPy or numba's arrays are loaded anyway: a quarter of a second less.

    A kernel that does multiply matrices is then refused when it is compiled. SciPy itself can be imported afterwards.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        with suppress(ImportError):
            import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
