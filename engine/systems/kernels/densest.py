"""Kernels by table where HBM holds the densest tables, those with the most lookups a byte, and others have a system's own way."""

import numpy as np

from ...scenario.scenario import Scenario, per_table
from ..row_kinds import kind_bytes
from ..traffic import table_nbytes
from .mixed import HBM

SHARES = (0.9, 0.7, 0.5, 0.3, 0.1)  # of the bytes of all tables


def densest_in_hbm(s: Scenario, others: str) -> tuple[tuple[str, ...], ...]:
    """Return kernels of tables, (T,) each, with up to so many SHARES of all bytes in HBM and the other tables by one kernel.

    Tables are taken as they have the most looked-up bytes a byte, until the next does not fit.
    """
    nbytes = table_nbytes(s)
    order = np.argsort(-np.array(per_table(s.model, "pooling")) * kind_bytes(s, "vector") / nbytes, kind="stable")
    filled = np.cumsum(nbytes[order]) / nbytes.sum()
    found: dict[tuple[str, ...], None] = {}
    for share in SHARES:
        held = set(order[: int(np.searchsorted(filled, share, side="right"))].tolist())
        if held and len(held) < len(order):
            found[tuple(HBM if table in held else others for table in range(len(order)))] = None
    return tuple(found)
