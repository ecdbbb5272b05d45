"""Bytes between parts under a plan: pooled vectors, their gradients, and row indices.

Each part has an equal share of a batch's samples. A part sends the pooled vectors of its pieces of tables to the parts that have
the samples: over the fabric to parts of its group, over the network to other parts. Parts of one group that share a table's rows
first sum their vectors within the group; each part sums the vectors of an equal share of the samples. Gradients go the same way
back.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Flags, Floats, Ints
from ...core.jit import entry_kernel
from ...core.work import AllToAll, Amount
from ..sharding import Parts, Pieces, Shares, distinct_pieces, shares, weight_widths


class Crossing(NamedTuple):
    """Bytes that parts send to each other in one exchange.

    nbytes: bytes that leave a part, summed over all parts.
    fabric, network: bytes that the busiest part sends or receives over the fabric, and over the network.
    hosts: True if the parts are the hosts of nodes, which send a message to each other node.
    """

    nbytes: float
    fabric: float
    network: float
    hosts: bool = False

    def work(self, share: Amount = 1.0) -> AllToAll:
        """Return a `share` of the exchange as work of the device network."""
        return AllToAll(share * self.nbytes, share * self.fabric, share * self.network, self.hosts)


NO_CROSSING = Crossing(0.0, 0.0, 0.0)


def even_crossing(parts: Parts, nbytes: float) -> Crossing:
    """Return the traffic if each part sends the same bytes to each part.

    `nbytes` is the sum over all pairs of parts; what a part has for itself does not cross.
    """
    part_bytes, group_sizes = nbytes / parts.number, parts.group_sizes
    fabric_share, network_share = (group_sizes - 1) / parts.number, (parts.number - group_sizes) / parts.number
    return Crossing(
        part_bytes * float((fabric_share + network_share).sum()),
        part_bytes * float(fabric_share.max()),
        part_bytes * float(network_share.max()),
    )


def vector_crossing(parts: Parts, pieces: Pieces, nbytes: float | Floats) -> Crossing:
    """Return the traffic of a batch's pooled vectors, one way.

    `nbytes`: the bytes of each table's pooled vectors, one number for all tables or (T,).
    """
    return busiest(*vector_routes(parts, pieces, nbytes))


def index_crossing(parts: Parts, index_nbytes: Floats) -> Crossing:
    """Return the traffic of indices; each part receives `index_nbytes`, (P,).

    The indices come in equal shares from all parts, as each part has an equal share of the samples.
    """
    return busiest(*index_routes(parts, index_nbytes))


def busiest(sent_bytes: Floats, received: Floats) -> Crossing:
    """Return the traffic of the bytes that each part sends and receives, (2, P) each.

    The rows are fabric and network.
    """
    fabric, network = np.maximum(sent_bytes, received).max(axis=1).tolist()
    return Crossing(float(sent_bytes.sum()), fabric, network)


def vector_routes(parts: Parts, pieces: Pieces, nbytes: Any) -> tuple[Floats, Floats]:
    """Return the bytes of pooled vectors that each part sends and receives, (2, P) each.

    The rows are fabric and network.
    """
    sent_bytes, received = np.zeros((2, 2, parts.number))
    if np.ndim(nbytes):
        pieces, nbytes = weight_widths(pieces, nbytes)
    widths, place = distinct_pieces(pieces)
    piece_shares = shares(place, [sorted(set(run)) for run in pieces.runs], parts.number)
    owns, members = np.zeros(parts.number, dtype=np.bool_), np.zeros(parts.groups, dtype=np.int64)
    _cross(widths * nbytes, piece_shares, parts.group, parts.group_sizes, owns, members, sent_bytes, received)
    return sent_bytes, received


@entry_kernel
def _cross(
    nbytes: Floats,
    piece_shares: Shares,
    group: Ints,
    group_sizes: Ints,
    owns: Flags,
    members: Ints,
    sent_bytes: Floats,
    received: Floats,
) -> None:
    """Add the bytes of each piece's vectors that every part sends and receives.

    Whether a part `owns` a piece, and how many `members` of each group do, are False and 0 before and after.
    """
    parts = len(group)
    for piece in range(len(nbytes)):
        sample_bytes, groups = nbytes[piece] / parts, 0
        owners = piece_shares.owner[
            piece_shares.first_share[piece] : piece_shares.first_share[piece] + piece_shares.share_count[piece]
        ]
        for part in owners:
            owns[part] = True
            groups += members[group[part]] == 0
            members[group[part]] += 1
        for part in owners:
            co_owners, group_size = members[group[part]], group_sizes[part]
            summed = (co_owners - 1) / co_owners * nbytes[piece]
            sent_bytes[0, part] += summed + (group_size - co_owners) / co_owners * sample_bytes
            sent_bytes[1, part] += (parts - group_size) / co_owners * sample_bytes
            received[0, part] += summed
        for part in range(parts):
            in_group = members[group[part]] > 0
            if in_group and not owns[part]:
                received[0, part] += sample_bytes
            received[1, part] += (groups - in_group) * sample_bytes
        for part in owners:
            owns[part], members[group[part]] = False, 0


def index_routes(parts: Parts, index_nbytes: Floats) -> tuple[Floats, Floats]:
    """Return the bytes of indices that each part sends and receives, (2, P) each.

    The rows are fabric and network.
    """
    part_bytes, group_sizes, group = index_nbytes / parts.number, parts.group_sizes, parts.group
    group_bytes = np.bincount(group, weights=part_bytes)[group]
    sent_bytes = np.array([group_bytes - part_bytes, part_bytes.sum() - group_bytes])
    return sent_bytes, np.array([(group_sizes - 1) * part_bytes, (parts.number - group_sizes) * part_bytes])
