"""The linear-algebra and NumPy kernels of this process, for a result's provenance.

Measured under OpenBLAS' kernels for SkylakeX and Haswell and with NumPy's AVX-512 switched off: time, energy and wear of
a full run are the same to the byte, an estimate's to twelve digits; training follows the kernel, from a loss's eighth digit.
"""

from collections.abc import Collection
from functools import cache

from numpy.lib.introspect import opt_func_info
from threadpoolctl import threadpool_info


@cache
def arithmetic() -> str:
    """Return the names of this process's BLAS and NumPy kernels: "OpenBLAS-SkylakeX.NumPy-X86_V4"."""
    blas_pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    numpy_pool = next((pool for pool in blas_pools if "numpy" in pool["filepath"]), blas_pools[0] if blas_pools else {})
    blas = "-".join(filter(None, (BLAS_NAMES.get(numpy_pool.get("internal_api", ""), "BLAS"), numpy_pool.get("architecture"))))
    target = opt_func_info("^exp$", "float64").get("exp", {}).get("dd", {}).get("current", "baseline")
    return f"{blas}.NumPy-{target.partition('(')[0]}"


MAX_KERNEL_LETTERS = 80
BLAS_NAMES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def other_kernels_note(kernels: str) -> tuple[str, ...]:
    """Return the note on numbers that other `kernels` than this computer's have computed.

    Return () for the same kernels.
    """
    if kernels in ("", arithmetic()):
        return ()
    return (
        (
            f"Made with {kernels[:MAX_KERNEL_LETTERS]}; this computer computes with {arithmetic()}: loss and AUC can differ "
            "from the fifth digit on; time and energy are the same."
        ),
    )


def mixed_kernels_note(kernel_names: Collection[str]) -> str:
    """Return the note on trained results that were computed with several kernels; "" for one."""
    if len(kernel_names) < 2:
        return ""
    kinds = " and ".join(sorted(kernels[:MAX_KERNEL_LETTERS] or "unknown kernels" for kernels in kernel_names)[:3])
    return (
        f"Trained on {len(kernel_names)} kinds of processors ({kinds}): loss and AUC of equal scenarios can differ from the "
        "fifth digit on; time and energy are the same. The CSV's column arithmetic has the processor of each row."
    )
