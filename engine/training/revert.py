"""Takes training back from an undo log: embeddings and MLPs separately, as a relaxed recovery needs."""

import numpy as np

from ..core.arrays import Singles
from .row_search import Locals
from .weights import Weights

NOTHING = np.empty(0, np.float32)


def revert(weights: Weights, places: Locals, vectors: Singles, states: Singles = NOTHING) -> None:
    """Put old (U, dim) vectors, and with Adagrad old (U,) states, back at `places`, in place."""
    weights.table[places] = vectors
    if weights.row_state.size:
        weights.row_state[places] = states


def revert_mlp(weights: Weights, mlp: Singles, state: Singles = NOTHING) -> None:
    """Put old MLPs (P,), and with Adagrad their old state (P,), back in place."""
    weights.mlp[:] = mlp
    if weights.mlp_state.size:
        weights.mlp_state[:] = state
