"""The fullest GPU of a plan: its tables, and the vectors that it sends."""

import numpy as np

from ...core.arrays import Floats
from ...scenario.scenario import Scenario, per_table, vectors_per_table
from ...workload.accesses import sent_shares
from ..system import System
from ..table_placement import Balance, skew
from .buffers import vector_buffers
from .owners import has_owners, owner_bytes
from .sent import sent_pieces

ON_GPUS = ("gpus", "tiers", "kernels", "copied")  # kinds of parts of systems whose tables lie on GPUs


def sender_bytes(s: Scenario, system: System, balance: Balance | None) -> Floats:
    """Return the bytes of histories' vectors that each GPU sends, and of their gradients.

    Owners of rows send all vectors. The array has one number for each GPU, (P,), or one for all if they send alike. It is 0
    where GPUs have no rows.
    """
    if has_owners(s, system):
        return np.array([owner_bytes(s)])
    mean_bytes = vector_buffers(s).sent_bytes if system.parts_kind in ON_GPUS else 0.0
    if not mean_bytes or balance is None:
        return np.array([mean_bytes])
    pieces, is_history = sent_pieces(s, balance.pieces), np.array(per_table(s.model, "feature_kind")) == "sequence"
    elements = sent_shares(s) * is_history * vectors_per_table(s.model) * per_table(s.model, "embedding_dim")
    by_gpu = np.bincount(np.maximum(pieces.place, 0), pieces.width * elements[pieces.table], balance.parts.number)
    nbytes: Floats = mean_bytes * by_gpu / by_gpu.mean()
    return nbytes


def even_tables(s: Scenario, system: System) -> float:
    """Return the bytes of an even share of tables or cache in HBM."""
    return system.nbytes_by_memory(s).get("hbm", 0.0) / s.machine.num_gpus


def fullest_tables(s: Scenario, system: System, balance: Balance | None) -> float:
    """Return the bytes of tables or cache on the GPU that holds most of them."""
    uneven = balance if system.parts_kind in ON_GPUS else None
    return (skew(_table_bytes(uneven)) if uneven else 1.0) * even_tables(s, system)


def fullest_gpu(s: Scenario, system: System, balance: Balance | None) -> tuple[int, float, float]:
    """Return the fullest GPU and its bytes of tables and of vectors to send."""
    vectors = sender_bytes(s, system, balance)
    if balance is None or not vectors.any():
        return 0, fullest_tables(s, system, balance), float(vectors[0])
    nbytes = _table_bytes(balance)
    tables = even_tables(s, system) * (nbytes / nbytes.mean() if nbytes.any() else np.ones(len(nbytes)))
    gpu = int((tables + vectors).argmax())
    return gpu, float(tables[gpu]), float(vectors[gpu])


def _table_bytes(balance: Balance) -> Floats:
    """Return the bytes of tables on each GPU by the plan, (P,)."""
    return balance.nbytes_by_memory.get("hbm", balance.table_bytes)
