"""Stashing: table bytes leave HBM while the dense layers train, and return for the update.

Host memory holds the stashed bytes.
"""

import numpy as np

from ...core.arrays import Floats
from ...scenario.scenario import Scenario, per_table
from ...units import MiB
from ..row_kinds import kind_bytes
from ..traffic import activation_bytes, pooled_bytes, table_bytes

PIECE = 32 * MiB  # piece of a stash in transfer, held in HBM beside the tables


def stashed_bytes(s: Scenario) -> float:
    """Return the table bytes that leave HBM during the dense layers, over all GPUs."""
    return float(_of_rows(s) @ per_table(s.model, "num_embeddings")) if s.policy.stashing != "off" else 0.0


def _of_rows(s: Scenario) -> Floats:
    """Return the stashed bytes of each table's rows, (T,).

    They are the optimizer's state with any checksum, the weights, or all.
    """
    rows, beside_bytes = kind_bytes(s, "row"), kind_bytes(s, "state_and_checksum")
    return {"both": rows, "weights": rows - beside_bytes, "state": beside_bytes}[s.policy.stashing]


def alike_shares(s: Scenario) -> bool:
    """Return whether all tables, and so all GPUs, stash the same share of each row."""
    shares = _of_rows(s) / kind_bytes(s, "row") if s.policy.stashing != "off" else np.zeros(1)
    return bool(np.ptp(shares) < 1e-9)


def peak_bytes(s: Scenario, tables: float) -> float:
    """Return the largest memory of a GPU with `tables` bytes of tables, during a batch.

    MLP parameters are not included. With a stash, the largest memory is needed either at the lookup and the update (tables and
    pooled vectors or their gradients), or in the dense layers (tables without the stashed bytes, and activations).
    """
    share = stashed_bytes(s) / table_bytes(s)
    if not share:
        return tables + activation_bytes(s)
    return max(tables + beside_tables_bytes(s), (1 - share) * tables + activation_bytes(s))


def room_for_tables(s: Scenario, room: float) -> float:
    """Return the bytes of tables that fit `room` bytes of a GPU during a batch.

    The batch's own memory is subtracted from `room`.
    """
    share, remaining = stashed_bytes(s) / table_bytes(s), room - activation_bytes(s)
    if not share or remaining < 0:
        return remaining
    unstashed_room = room - beside_tables_bytes(s)
    return min(unstashed_room, remaining / (1 - share)) if share < 1 else unstashed_room


def beside_tables_bytes(s: Scenario) -> float:
    """Return the bytes beside the tables at lookup and update.

    They are the vectors, and a piece in transfer.
    """
    return PIECE + pooled_bytes(s) / s.machine.num_gpus
