"""Owners: GPUs that each have an equal share of the rows of a pool.

No logic beside the memory pools its rows then. An owner pools its rows for all samples and sends the partial sums to the GPUs
that have the samples, as with tables divided by rows; gradients come back. The owner holds both for the samples of others.
"""

import numpy as np

from ...core.points.numbers import as_float
from ...scenario.scenario import Scenario, per_table, vectors_per_table
from ...workload.accesses import expected_accesses
from ..sharding import Parts, plan_over_runs
from ..system import System
from .buffers import SENT_BYTES, VECTOR_AND_GRADIENT, vector_buffers
from .crossing import Crossing, even_crossing, vector_crossing
from .sent import index_bytes, sent_pieces, vector_nbytes


def is_pool(system: System) -> bool:
    """Return whether tables lie once, in a memory that all GPUs share."""
    return system.one_node and system.parts_kind in ("", "modules")


def has_owners(s: Scenario, system: System) -> bool:
    """Return whether each of several GPUs owns rows of a pool, and reads them itself."""
    return is_pool(system) and "near-data" in system.devices and not s.machine.near_data_compute and s.machine.num_gpus > 1


def owner_crossings(s: Scenario) -> tuple[Crossing, Crossing]:
    """Return what owners exchange: vectors, and row indices, one way."""
    gpus = Parts(s.machine.num_gpus, s.machine.gpus_per_node)
    by_rows = plan_over_runs([tuple(range(gpus.number))], np.zeros(s.model.num_tables, dtype=np.int64))
    indices = even_crossing(gpus, index_bytes(s) * float(expected_accesses(s).lookups.sum()))
    return vector_crossing(gpus, sent_pieces(s, by_rows), vector_nbytes(s)), indices


def owner_bytes(s: Scenario) -> float:
    """Return the bytes of vectors and gradients that an owner holds for other GPUs."""
    is_history = np.array(per_table(s.model, "feature_kind")) == "sequence"
    elements = np.array(vectors_per_table(s.model)) * per_table(s.model, "embedding_dim") * ~is_history
    gpus, (element_bytes, _) = s.machine.num_gpus, SENT_BYTES[s.machine.exchange_precision]
    sums = VECTOR_AND_GRADIENT * element_bytes * s.data.batch_size * as_float(elements.sum()) * (gpus - 1) / gpus
    return sums + vector_buffers(s).sent_bytes
