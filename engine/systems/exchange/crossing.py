"""Bytes that cross between parts: pooled vectors, their gradients and indices, by the plan that says which part has what.

The samples of a batch lie evenly over the parts. A part sends the vectors of its pieces to the parts that have their samples,
over the fabric to those beside it and over the network to others. Parts of one group that share a table's rows first
sum their vectors within the group, each for an even share of the samples. Gradients take the same way back.
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays import Flags, Floats, Ints
from ...core.jit import entry
from ...core.work import AllToAll, Amount
from ..sharding import Parts, Pieces, Shares, alike, shares, weighed


class Crossing(NamedTuple):
    """Bytes that leave a part, over all parts; and those that the busiest part sends or receives over either way.

    With `hosts` the parts are the hosts of nodes, which send a message to each other node.
    """

    nbytes: float
    fabric: float
    network: float
    hosts: bool = False

    def work(self, share: Amount = 1.0) -> AllToAll:
        """Return a `share` of the exchange as work of the network."""
        return AllToAll(share * self.nbytes, share * self.fabric, share * self.network, self.hosts)


NO_CROSSING = Crossing(0.0, 0.0, 0.0)


def even(parts: Parts, nbytes: float) -> Crossing:
    """Return what crosses when each part has an even share of `nbytes` for each part, itself included."""
    each, beside = nbytes / parts.number, parts.beside
    near, far = (beside - 1) / parts.number, (parts.number - beside) / parts.number
    return Crossing(each * float((near + far).sum()), each * float(near.max()), each * float(far.max()))


def vectors(parts: Parts, pieces: Pieces, nbytes: float | Floats) -> Crossing:
    """Return what crosses one way of pooled vectors, of which one table's, or each's (T,), are `nbytes` for a batch's samples."""
    return busiest(*vector_routes(parts, pieces, nbytes))


def indices(parts: Parts, asked: Floats) -> Crossing:
    """Return what crosses when part p is `asked`, (P,), for so many bytes of indices, evenly by the samples of all parts."""
    return busiest(*index_routes(parts, asked))


def busiest(sent: Floats, received: Floats) -> Crossing:
    """Return what crosses where parts send and receive so much, (2, P), over the fabric and over the network."""
    fabric, network = np.maximum(sent, received).max(axis=1).tolist()
    return Crossing(float(sent.sum()), fabric, network)


def vector_routes(parts: Parts, pieces: Pieces, nbytes: float | Floats) -> tuple[Floats, Floats]:
    """Return what each part sends and receives of `vectors`, (2, P) each, over the fabric and over the network."""
    sent, received = np.zeros((2, 2, parts.number))
    if not isinstance(nbytes, float):
        pieces, nbytes = weighed(pieces, nbytes)
    widths, place = alike(pieces)
    of = shares(place, [sorted(set(run)) for run in pieces.runs], parts.number)
    has, members = np.zeros(parts.number, dtype=np.bool_), np.zeros(parts.groups, dtype=np.int64)
    _cross(widths * nbytes, of, parts.group, parts.beside, has, members, sent, received)
    return sent, received


@entry
def _cross(
    nbytes: Floats, of: Shares, group: Ints, beside: Ints, has: Flags, members: Ints, sent: Floats, received: Floats
) -> None:
    """Enter what the vectors of each piece have every part send and receive.

    Which part `has` a piece, and how many `members` of each group, are False and 0 before and after.
    """
    parts = len(group)
    for piece in range(len(nbytes)):
        each, groups = nbytes[piece] / parts, 0
        mine = of.owner[of.first[piece] : of.first[piece] + of.many[piece]]
        for part in mine:
            has[part] = True
            groups += members[group[part]] == 0
            members[group[part]] += 1
        for part in mine:
            inside, among = members[group[part]], beside[part]
            summed = (inside - 1) / inside * nbytes[piece]
            sent[0, part] += summed + (among - inside) / inside * each
            sent[1, part] += (parts - among) / inside * each
            received[0, part] += summed
        for part in range(parts):
            here = members[group[part]] > 0
            if here and not has[part]:
                received[0, part] += each
            received[1, part] += (groups - here) * each
        for part in mine:
            has[part], members[group[part]] = False, 0


def index_routes(parts: Parts, asked: Floats) -> tuple[Floats, Floats]:
    """Return what each part sends and receives of `indices`, (2, P) each, over the fabric and over the network."""
    each, beside, group = asked / parts.number, parts.beside, parts.group
    within = np.bincount(group, weights=each)[group]
    sent = np.array([within - each, each.sum() - within])
    return sent, np.array([(beside - 1) * each, (parts.number - beside) * each])
