"""libCacheSim, the peer of benchmarks P2 and P3, and the reference in tests of caches.

It is installed separately; no part of it is shipped with Emberpool.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

POLICIES = {"lru": "LRU", "lfu": "LFU"}
REQUEST = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])  # its "oracleGeneral" record
NEVER = 2**62


def zipf(number: int, rows: int, exponent: float, seed: int) -> np.ndarray:
    """Return `number` ids by a Zipf law; the rows' popularity ranks are permuted."""
    rng = np.random.default_rng(seed)
    reached = np.cumsum(np.arange(1, rows + 1) ** -exponent)
    ranks = np.searchsorted(reached / reached[-1], rng.random(number))
    return rng.permutation(rows)[np.minimum(ranks, rows - 1)].astype(np.int64)


def write(path: Path, ids: np.ndarray) -> None:
    """Write ids as a trace file of libCacheSim.

    Each request has the number of the next request for the same id.
    """
    order = np.argsort(ids, kind="stable")
    following = np.full(len(ids), NEVER)
    same = ids[order][1:] == ids[order][:-1]
    following[order[:-1][same]] = order[1:][same]
    request = np.zeros(len(ids), dtype=REQUEST)
    request["time"], request["id"], request["size"], request["next"] = 1, ids + 1, 1, following
    request.tofile(path)


def misses(path: Path, number: int, policy: str, capacities: Sequence[int]) -> list[int]:
    """Return the misses for each capacity, each by a run over a trace of `number` ids."""
    import libcachesim as peer

    reader = peer.TraceReader(str(path), peer.TraceType.ORACLE_GENERAL_TRACE, peer.ReaderInitParam())
    runs = (getattr(peer, POLICIES[policy])(rows).process_trace(reader)[0] for rows in capacities)
    return [round(ratio * number) for ratio in runs]
