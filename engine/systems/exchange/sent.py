"""Bytes of a batch's vectors and ids as GPUs or nodes send them to each other."""

import numpy as np

from ...core.arrays import Floats
from ...core.points.numbers import as_float
from ...scenario.scenario import Scenario, is_sequential, per_table, vectors_per_table
from ...units import FLOAT32
from ...workload.accesses import unique_shares
from ...workload.bags import uneven_bags
from ..traffic import INDEX_BYTES, LENGTH_BYTES

INT8_OVERHEAD = 8  # additional bytes of an int8 vector: scale and offset, as in FBGEMM
SENT_BYTES = {"fp32": (FLOAT32, 0), "fp16": (2, 0), "int8": (1, INT8_OVERHEAD)}  # bytes of an element, and of a vector


def sent_bytes(s: Scenario) -> float:
    """Return the bytes of a batch's pooled vectors as sent, the mean over tables."""
    return as_float(np.mean(vector_nbytes(s)))


def vector_nbytes(s: Scenario) -> float | Floats:
    """Return the bytes of each table's pooled vectors as sent: (T,), or one number."""
    model = s.model
    if isinstance(model.embedding_dim, tuple) or isinstance(model.features, tuple) or is_sequential(model):
        columns = zip(vectors_per_table(model), per_table(model, "embedding_dim"), strict=True)
        nbytes: Floats = sent_shares(s) * np.array([vectors * _sent_nbytes(s, dim) for vectors, dim in columns])
        return nbytes
    return model.features * _sent_nbytes(s, model.embedding_dim)


def sent_shares(s: Scenario) -> Floats:
    """Return the share of each table's lookups whose id and vector cross between GPUs, (T,): all without input dedup."""
    if not s.policy.input_dedup:
        return np.ones(s.model.num_tables)
    is_history = np.array(per_table(s.model, "feature_kind")) == "sequence"
    return np.where(is_history, unique_shares(s), 1.0)


def _sent_nbytes(s: Scenario, dim: int) -> float:
    """Return the bytes of a batch's vectors of `dim` elements, as they are sent."""
    element_bytes, vector_overhead = SENT_BYTES[s.machine.exchange_precision]
    return as_float(s.data.batch_size * (element_bytes * dim + vector_overhead))


def index_bytes(s: Scenario) -> float:
    """Return the bytes of a row index as sent, with a share of bag lengths."""
    pooling = per_table(s.model, "pooling")
    share = np.average(sent_shares(s), weights=pooling) if s.policy.input_dedup else 1.0
    return as_float(share * INDEX_BYTES + LENGTH_BYTES * uneven_bags(s) / sum(pooling))
