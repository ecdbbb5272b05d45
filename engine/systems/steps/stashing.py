"""Stashing: tables in HBM lend their room to the dense layers; what is stashed waits in host memory until the update."""

import numpy as np

from ...core.arrays import Floats
from ...scenario.scenario import Scenario, per_table
from ...units import MiB
from ..row_kinds import kind_bytes
from ..traffic import activation_bytes, pooled_bytes, table_bytes

PIECE = 32 * MiB  # of a stash on its way: HBM holds one beside the tables


def stashed_bytes(s: Scenario) -> float:
    """Return the bytes of tables, over all GPUs, that leave HBM while the dense layers train."""
    return float(_of_rows(s) @ per_table(s.model, "num_embeddings")) if s.policy.stashing != "off" else 0.0


def _of_rows(s: Scenario) -> Floats:
    """Return the bytes of each table's rows that are stashed, (T,): their state with any checksum, their weights, or all."""
    rows, beside_bytes = kind_bytes(s, "row"), kind_bytes(s, "beside")
    return {"both": rows, "weights": rows - beside_bytes, "state": beside_bytes}[s.policy.stashing]


def alike_shares(s: Scenario) -> bool:
    """Return whether the rows of all tables are stashed by the same share, so that tables on any GPU are."""
    shares = _of_rows(s) / kind_bytes(s, "row") if s.policy.stashing != "off" else np.zeros(1)
    return bool(np.ptp(shares) < 1e-9)


def most_bytes(s: Scenario, tables: float) -> float:
    """Return the most bytes that a GPU's `tables`, and what comes and goes with a batch beside them, take at a time.

    With a stash that is at the lookup and the update, beside pooled vectors or their gradients, or in the dense layers.
    """
    share = stashed_bytes(s) / table_bytes(s)
    if not share:
        return tables + activation_bytes(s)
    return max(tables + _beside_tables(s), (1 - share) * tables + activation_bytes(s))


def room_for_tables(s: Scenario, room: float) -> float:
    """Return how many bytes of tables fit `room` bytes of a GPU, beside what comes and goes with a batch."""
    share, remaining = stashed_bytes(s) / table_bytes(s), room - activation_bytes(s)
    if not share or remaining < 0:
        return remaining
    unstashed_room = room - _beside_tables(s)
    return min(unstashed_room, remaining / (1 - share)) if share < 1 else unstashed_room


def _beside_tables(s: Scenario) -> float:
    return PIECE + pooled_bytes(s) / s.machine.num_gpus
