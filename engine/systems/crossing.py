"""Bytes that cross between parts: pooled vectors, their gradients and indices, by the plan that says which part has what.

The samples of a batch lie evenly over the parts. A part sends the vectors of its pieces to the parts that have their samples,
over the fabric to those beside it and over the network to others. Parts of one group that share a table's rows first
sum their vectors within the group, each for an even share of the samples. Gradients take the same way back.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats
from .sharding import Parts, Piece, Pieces, alike


class Crossing(NamedTuple):
    """Bytes that leave a part, over all parts; and those that the busiest part sends or receives over either way."""

    nbytes: float
    fabric: float
    network: float

    def times(self, amount: float) -> "Crossing":
        """Return so many times as much."""
        return Crossing(self.nbytes * amount, self.fabric * amount, self.network * amount)


def even(parts: Parts, nbytes: float) -> Crossing:
    """Return what crosses when each part has an even share of `nbytes` for each part, itself included."""
    each, beside = nbytes / parts.number, parts.beside
    near, far = (beside - 1) / parts.number, (parts.number - beside) / parts.number
    return Crossing(each * float((near + far).sum()), each * float(near.max()), each * float(far.max()))


def vectors(parts: Parts, pieces: Pieces, nbytes: float) -> Crossing:
    """Return what crosses one way of pooled vectors, of which one table's are `nbytes` for all samples of a batch."""
    return busiest(*vector_routes(parts, pieces, nbytes))


def indices(parts: Parts, asked: Floats) -> Crossing:
    """Return what crosses when part p is `asked`, (P,), for so many bytes of indices, evenly by the samples of all parts."""
    return busiest(*index_routes(parts, asked))


def busiest(sent: Floats, received: Floats) -> Crossing:
    """Return what crosses where parts send and receive so much, (2, P), over the fabric and over the network."""
    fabric, network = np.maximum(sent, received).max(axis=1).tolist()
    return Crossing(float(sent.sum()), fabric, network)


def vector_routes(parts: Parts, pieces: Pieces, nbytes: float) -> tuple[Floats, Floats]:
    """Return what each part sends and receives of `vectors`, (2, P) each, over the fabric and over the network."""
    sent, received = np.zeros((2, 2, parts.number))
    for piece, times in alike(pieces).items():
        _cross(parts, piece, times * piece.width * nbytes, sent, received)
    return sent, received


def _cross(parts: Parts, piece: Piece, nbytes: float, sent: Floats, received: Floats) -> None:
    """Enter what a piece's vectors of `nbytes` have each part send and receive."""
    group, beside, each = parts.group, parts.beside, nbytes / parts.number
    mine = np.unique(np.array(piece.parts))
    members = np.bincount(group[mine], minlength=parts.groups)  # of each group
    inside, among = members[group[mine]], beside[mine]
    summed = (inside - 1) / inside * nbytes
    sent[0, mine] += summed + (among - inside) / inside * each
    sent[1, mine] += (parts.number - among) / inside * each
    received[0, mine] += summed
    others = np.ones(parts.number, dtype=np.bool_)
    others[mine] = False
    received[0] += np.where(others & (members[group] > 0), each, 0.0)
    received[1] += ((members > 0).sum() - (members[group] > 0)) * each


def index_routes(parts: Parts, asked: Floats) -> tuple[Floats, Floats]:
    """Return what each part sends and receives of `indices`, (2, P) each, over the fabric and over the network."""
    each, beside, group = asked / parts.number, parts.beside, parts.group
    within = np.bincount(group, weights=each)[group]
    sent = np.array([within - each, each.sum() - within])
    return sent, np.array([(beside - 1) * each, (parts.number - beside) * each])
