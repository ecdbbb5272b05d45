"""Sums that every Python rounds alike, and the name of this process's arithmetic.

A result records this name of Python, NumPy and the BLAS kernels. Python 3.11, 3.12 and 3.13 give the same bytes of time, energy,
wear and cost. Full runs were compared under OpenBLAS's kernels for SkylakeX and for Haswell, and with NumPy's AVX-512 kernels
switched off: their time, energy and wear are equal to the byte, and an estimate's numbers are equal to twelve digits. A trained
loss differs from its eighth digit on.
"""

import sys
from collections.abc import Collection, Iterable
from functools import cache, reduce
from operator import add
from platform import python_version
from typing import Any, TypeVar

import numpy as np
from numpy.lib.introspect import opt_func_info
from threadpoolctl import threadpool_info

from .figures import count

ROUNDING = 1e-12  # of a whole: sums over millions of rows round so much
Term = TypeVar("Term")
PYTHON, NUMPY = (".".join(release.split(".")[:2]) for release in (python_version(), np.__version__))  # such as 3.11 and 2.4


def total(terms: Iterable[Term], start: Any = 0) -> Term:
    """Return the sum of numbers, arrays or columns, added from left to right to `start`.

    Each addition rounds, as in `sum` of Python 3.11. `sum` of later Pythons keeps what floats round off, and so its last digit
    can differ.
    """
    result: Term = reduce(add, terms, start)
    return result


def remaining_share(part: Any, whole: Any = 1.0) -> Any:
    """Return the share of `whole` that is left without `part`.

    The share is 0 if only the rounding of both is left. `part` and `whole` may be arrays.
    """
    share = 1 - part / whole
    return np.maximum(share, 0.0) * (share > ROUNDING)


@cache
def arithmetic() -> str:
    """Return the names of this process's BLAS, NumPy and Python as one text.

    BLAS and NumPy come with their kernels. For example, "OpenBLAS-SkylakeX.NumPy-2.4-X86_V4.Python-3.11".
    """
    blas_pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    numpy_pool = next((pool for pool in blas_pools if "numpy" in pool["filepath"]), blas_pools[0] if blas_pools else {})
    blas = "-".join(filter(None, (BLAS_NAMES.get(numpy_pool.get("internal_api", ""), "BLAS"), numpy_pool.get("architecture"))))
    target = opt_func_info("^exp$", "float64").get("exp", {}).get("dd", {}).get("current", "baseline")
    return f"{blas}.NumPy-{NUMPY}-{target.partition('(')[0]}.Python-{PYTHON}"


@cache
def numeric_packages() -> str:
    """Return the versions of Python and of the numeric packages as one text.

    For example, "python 3.11 numpy 2.4.6 scipy 1.17.1 numba 0.68.1 llvmlite 0.50.0". Kept numbers depend on it.
    """
    from importlib import metadata  # late: its imports are slow

    versions = (f"{name} {metadata.version(name)}" for name in NUMERIC_PACKAGES)
    return " ".join((f"python {sys.version_info[0]}.{sys.version_info[1]}", *versions))


MAX_KERNEL_LETTERS = 80
NUMERIC_PACKAGES = ("numpy", "scipy", "numba", "llvmlite")
BLAS_NAMES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def other_kernels_note(kernels: str) -> tuple[str, ...]:
    """Return a note on a result that other arithmetic than this process's has computed.

    `kernels` are the names that the result records. Return () if they are this process's, or if there are none.
    """
    if kernels in ("", arithmetic()):
        return ()
    return (
        (
            f"Made with {kernels[:MAX_KERNEL_LETTERS]}; this computer computes with {arithmetic()}. Loss and AUC can differ "
            "from the fifth digit on; time and energy are the same."
        ),
    )


def mixed_kernels_note(kernel_names: Collection[str]) -> str:
    """Return the note on trained results that several kernels have computed.

    `kernel_names` has each kernels' name once. Return "" for a single name.
    """
    if len(kernel_names) < 2:
        return ""
    kinds = " and ".join(sorted(kernels[:MAX_KERNEL_LETTERS] or "unknown arithmetic" for kernels in kernel_names)[:3])
    return (
        f"Trained with {count(len(kernel_names), 'kind')} of arithmetic ({kinds}): loss and AUC of equal scenarios "
        "can differ from the "
        "fifth digit on; time and energy are the same. The CSV's column arithmetic has the kind of each row."
    )
