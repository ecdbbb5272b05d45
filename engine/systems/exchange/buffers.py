"""Buffers of vectors and gradients in GPU memory.

They are held as layers read them and as they arrive. With several GPUs, a GPU also holds what it sends for others: the vectors
of its rows, and the gradients that come back. Vectors of bags are few, and their senders' buffers are left out.
"""

from math import ceil
from typing import NamedTuple

import numpy as np

from ...core.points.numbers import as_float
from ...hardware.devices.gpu import word_bytes
from ...scenario.scenario import Scenario, is_sequential, per_table, vectors_per_table
from ...units import FLOAT32
from ...workload.accesses import sent_shares

INT8_OVERHEAD = 8  # additional bytes of an int8 vector: scale and offset, as in FBGEMM
SENT_BYTES = {"fp32": (FLOAT32, 0), "fp16": (2, 0), "int8": (1, INT8_OVERHEAD)}  # bytes of an element, and of a vector
VECTOR_AND_GRADIENT = 2


class VectorBuffers(NamedTuple):
    """Bytes of a batch's vectors and their gradients on a GPU, the mean over GPUs.

    read_bytes: as the layers read them. received_bytes: as they arrive.
    sent_bytes: of histories, where GPUs have the rows and send their vectors.
    """

    read_bytes: float
    received_bytes: float
    sent_bytes: float


def vector_buffers(s: Scenario) -> VectorBuffers:
    """Return the buffers of a batch's vectors on each GPU, histories' and bags'."""
    word, samples = word_bytes(s.machine), ceil(s.data.batch_size / s.machine.num_gpus)
    elements = np.array(vectors_per_table(s.model)) * per_table(s.model, "embedding_dim")
    read_bytes = VECTOR_AND_GRADIENT * word * samples * as_float(elements.sum())
    if s.machine.num_gpus == 1 or not is_sequential(s.model):
        return VectorBuffers(read_bytes, read_bytes, 0.0)
    is_history = np.array(per_table(s.model, "feature_kind")) == "sequence"
    element_bytes, _ = SENT_BYTES[s.machine.exchange_precision]
    histories = VECTOR_AND_GRADIENT * element_bytes * samples * as_float((sent_shares(s) * elements * is_history).sum())
    bags = VECTOR_AND_GRADIENT * word * samples * as_float((elements * ~is_history).sum())
    return VectorBuffers(read_bytes, bags + histories, histories)
