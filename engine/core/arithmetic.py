"""What sums and products are computed with: the part of a result's provenance that belongs to the computer, not to the code.

Measured under OpenBLAS' kernels for SkylakeX and Haswell and with NumPy's AVX-512 switched off: time, energy and wear of
a full run are the same to the byte, an estimate's to twelve digits; training follows the kernel, from a loss's eighth digit.
"""

from collections.abc import Collection
from functools import cache

from numpy.lib.introspect import opt_func_info
from threadpoolctl import threadpool_info


@cache
def arithmetic() -> str:
    """Return the kernels that this process computes with: the linear algebra's and NumPy's, "OpenBLAS-SkylakeX.NumPy-X86_V4"."""
    found = [one for one in threadpool_info() if one["user_api"] == "blas"]
    of_numpy = next((one for one in found if "numpy" in one["filepath"]), found[0] if found else {})
    blas = "-".join(filter(None, (NAMES.get(of_numpy.get("internal_api", ""), "BLAS"), of_numpy.get("architecture"))))
    target = opt_func_info("^exp$", "float64").get("exp", {}).get("dd", {}).get("current", "baseline")
    return f"{blas}.NumPy-{target.partition('(')[0]}"


MOST = 80
NAMES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def elsewhere(made: str) -> tuple[str, ...]:
    """Return the sentence about numbers that were `made` with other kernels than this computer's; none for the same ones."""
    if made in ("", arithmetic()):
        return ()
    return (
        f"Made with {made[:MOST]}; this computer computes with {arithmetic()}: loss and AUC can differ from the fifth "
        "digit on, time and energy do not.",
    )


def mixed(made: Collection[str]) -> str:
    """Return the sentence about trained results that were not all `made` with the same kernels; "" where they were."""
    if len(made) < 2:
        return ""
    kinds = " and ".join(sorted(one[:MOST] or "unknown kernels" for one in made)[:3])
    return (
        f"Trained on {len(made)} kinds of processors ({kinds}): loss and AUC of equal scenarios can differ from the fifth "
        "digit on, time and energy do not; the CSV's column arithmetic says which row is whose."
    )
