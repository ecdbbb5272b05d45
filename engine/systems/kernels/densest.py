"""A kernel for each table: the densest tables in HBM, all others by another kernel.

The density of a table is the bytes that lookups read of it, per byte of the table.
"""

import numpy as np

from ...scenario.scenario import Scenario, per_table
from ..row_kinds import kind_bytes
from ..traffic import table_nbytes
from .mixed import HBM

SHARES = (0.9, 0.7, 0.5, 0.3, 0.1)  # shares of all tables' bytes


def densest_in_hbm(s: Scenario, other_kernel: str) -> tuple[tuple[str, ...], ...]:
    """Return candidates for the kernels of all tables, (T,) each.

    Each candidate has the densest tables in HBM, up to one of `SHARES`, the tried shares of the bytes of all tables. All other
    tables have `other_kernel`.
    """
    candidates = dict.fromkeys(_fill_hbm(s, other_kernel, share) for share in SHARES)
    return tuple(kernels for kernels in candidates if len(set(kernels)) > 1)


def of_other_tables(kernels: tuple[str, ...], base: Scenario, scenario: Scenario) -> tuple[str, ...]:
    """Return kernels for the tables of `scenario` with an equal share of HBM bytes.

    `kernels` are the kernels of the tables of `base`.
    """
    if len(kernels) == scenario.model.num_tables:
        return kernels
    in_hbm = np.array([kernel == HBM for kernel in kernels])
    other_kernel = next((kernel for kernel in kernels if kernel != HBM), HBM)
    return _fill_hbm(scenario, other_kernel, float(table_nbytes(base)[in_hbm].sum() / table_nbytes(base).sum()))


def _fill_hbm(s: Scenario, other_kernel: str, share: float) -> tuple[str, ...]:
    """Return kernels of tables with up to a share of all bytes in HBM."""
    nbytes = table_nbytes(s)
    order = np.argsort(-np.array(per_table(s.model, "pooling")) * kind_bytes(s, "vector") / nbytes, kind="stable")
    cumulative_share = np.cumsum(nbytes[order]) / nbytes.sum()
    hbm_tables = set(order[: int(np.searchsorted(cumulative_share, share * (1 + 1e-9), side="right"))].tolist())
    return tuple(HBM if table in hbm_tables else other_kernel for table in range(len(order)))
