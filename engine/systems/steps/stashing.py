"""Stashing: tables in HBM lend their room to the dense layers; what is stashed waits in host memory until the update."""

from ...scenario.scenario import Scenario, per_table
from ...units import MiB
from ..row_kinds import kind_bytes
from ..traffic import activation_bytes, table_bytes

PIECE = 32 * MiB  # of a stash on its way: HBM holds one beside the tables


def stashed_bytes(s: Scenario) -> float:
    """Return the bytes of tables, over all GPUs, that leave HBM while the dense layers train."""
    if s.policy.stashing in ("off", "both"):
        return table_bytes(s) if s.policy.stashing == "both" else 0.0
    vectors = kind_bytes(s, "vector")
    each = vectors if s.policy.stashing == "weights" else kind_bytes(s, "row") - vectors
    return float(each @ per_table(s.model, "num_embeddings"))


def most_bytes(s: Scenario, tables: float) -> float:
    """Return the most bytes that a GPU's `tables`, and what comes and goes with a batch beside them, take at a time."""
    share = stashed_bytes(s) / table_bytes(s)
    if not share:
        return tables + activation_bytes(s)
    return max(tables + PIECE, (1 - share) * tables + activation_bytes(s))


def room_for_tables(s: Scenario, room: float) -> float:
    """Return how many bytes of tables fit `room` bytes of a GPU, beside what comes and goes with a batch."""
    share, left = stashed_bytes(s) / table_bytes(s), room - activation_bytes(s)
    if not share or left < 0:
        return left
    return min(room - PIECE, left / (1 - share)) if share < 1 else room - PIECE
