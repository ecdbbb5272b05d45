"""Bytes of a batch's vectors and ids between GPUs or nodes."""

import numpy as np

from ...core.arithmetic import total
from ...core.arrays import Floats
from ...core.points.numbers import as_float
from ...scenario.scenario import Scenario, is_sequential, per_table, vectors_per_table
from ...units import FLOAT32
from ...workload.accesses import sent_share, sent_shares
from ...workload.bags import uneven_bags
from ..sharding import Pieces
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


def sent_pieces(s: Scenario, pieces: Pieces) -> Pieces:
    """Return a plan with a piece for each part's rows of a sequence table.

    Parts that share a table of bags sum their vectors before they send them; the vectors of a sequence cross as they are.
    """
    if not is_sequential(s.model):
        return pieces
    is_history = np.array(per_table(s.model, "feature_kind")) == "sequence"
    divided = is_history[pieces.table] & (pieces.place < 0)
    owners = [pieces.runs[~place] if apart else (place,) for place, apart in zip(pieces.place.tolist(), divided, strict=True)]
    counts = np.array([len(run) for run in owners])
    widths = np.repeat(pieces.width / counts, counts)
    return Pieces(np.repeat(pieces.table, counts), widths, np.concatenate(owners).astype(np.int64), pieces.runs)


def _sent_nbytes(s: Scenario, dim: int) -> float:
    """Return the bytes of a batch's vectors of `dim` elements, as they are sent."""
    element_bytes, vector_overhead = SENT_BYTES[s.machine.exchange_precision]
    return as_float(s.data.batch_size * (element_bytes * dim + vector_overhead))


def index_bytes(s: Scenario) -> float:
    """Return the bytes of a row index as sent, with a share of bag lengths."""
    pooling = per_table(s.model, "pooling")
    return as_float(sent_share(s) * INDEX_BYTES + LENGTH_BYTES * uneven_bags(s) / total(pooling))
