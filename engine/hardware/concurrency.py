"""Little's law: random accesses go at the device's service rate or at in_flight / latency.

The slower of the two holds. The latency of an access rises with the load that the accesses in flight make themselves; other work
of the device is not counted. Both forms are exact for single requests: each waits for a place among those in flight, then for
service.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats
from ..core.constants import Constant
from ..core.part_files.curves import LatencyPoints
from ..core.part_files.tables import quantity

LINE = 64  # bytes of one access of a processor, a GPU or a link
MAX_PUBLISHED_LOAD = 0.85  # highest published load, about; beyond it the latency is taken as constant
LOADS = 200


# Default: the rise of the one expander whose latency under load is published.
SOURCE = "hyperscale DDR4 expander: 250 ns idle, 269 at 10 % of its bandwidth, 292 at 30 %"
RISE = quantity("latency rise", "of idle", zero=True, default=Constant("", 0.249, "", 0.1, 0.5, "derived", SOURCE))
BEND = quantity("rise over load", "power", default=Constant("", 0.55, "", 0.4, 1, "derived", "the same expander"))
WALL = quantity("rise near full load", "power", default=Constant("", 0.75, "", 0.5, 1, "unsourced", "form assumed"))


class LoadCurve(NamedTuple):
    """The rise of a part's latency with its load.

    If there are measured `points` of (load, latency over idle latency), the curve runs through them. Else the latency is
    idle × (1 + rise load^bend / (1 - load)^wall).
    """

    rise: float
    bend: float
    wall: float
    points: tuple[tuple[float, float], ...] = ()


def load_curve(part: Any, points: LatencyPoints | None) -> LoadCurve:
    """Return the load curve of a part, through measured points where its file has them."""
    return LoadCurve(part.rise.value, part.bend.value, part.wall.value, points.times if points else ())


def access_seconds(accesses: Any, service: Any, latency: Any, in_flight: Any) -> Any:
    """Return the seconds of random accesses of which at most `in_flight` wait at a time.

    0 for no access. A single access takes `latency`, of which `service` is the device's own time; the device serves one access
    after the other. Exact for single requests; a part of a request counts as a whole one. If `service` is longer than `latency`,
    only `service` counts.
    """
    n = np.asarray(accesses, dtype=np.float64)
    n = np.where(n > 0, np.maximum(n, 1.0), 0.0)
    wait_seconds = np.maximum(latency - service, 0.0)
    if np.isinf(in_flight).all():
        return (n > 0) * wait_seconds + n * service
    rounds = np.maximum(np.ceil(n / in_flight) - 1, 0.0)
    waited = rounds * (service + wait_seconds) + (n - rounds * in_flight) * service
    return (n > 0) * wait_seconds + np.maximum(n * service, waited)


def loaded_latency(idle: Any, service: Any, accesses: Any, in_flight: Any, curve: LoadCurve) -> Any:
    """Return the latency of an access beside the other accesses in flight.

    Little's law: their load × the latency = their number × `service`.
    """
    waiting, latency = _curve(*curve)
    neighbours = np.clip(np.asarray(accesses, dtype=np.float64), 1.0, in_flight) - 1
    return idle * np.interp(neighbours * service / np.maximum(idle, 1e-3), waiting, latency)


def latency_ratio(load: Any, rise: float, bend: float, wall: float, points: tuple[tuple[float, float], ...] = ()) -> Any:
    """Return latency over idle latency at a load between 0 and 1."""
    if points:
        return np.interp(load, [load_point for load_point, _ in points], [times for _, times in points])
    published = np.minimum(load, MAX_PUBLISHED_LOAD)
    return 1 + rise * published**bend / np.maximum((1 - published) ** wall, 1e-12)


@lru_cache(maxsize=1024)
def _curve(rise: float, bend: float, wall: float, points: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    """Return latencies over idle latency, and the service waiting in flight at each, by load."""
    if points:
        load = np.union1d(np.linspace(0, points[-1][0], LOADS), [load_point for load_point, _ in points])
    else:
        load = MAX_PUBLISHED_LOAD * np.linspace(0, 1, LOADS) ** 2  # most where it bends most
    latency = latency_ratio(load, rise, bend, wall, points)
    return load * latency, latency
