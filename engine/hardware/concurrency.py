"""Random accesses by Little's law: the slower of service rate and in_flight / latency.

The latency of an access rises with the load that the other accesses in flight put on the device; other work of the device is not
counted. The formulas are exact for single requests: each request waits until fewer than `in_flight` accesses are in flight, and
then until the device serves it.
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
    """How the latency of a part rises with its load.

    points: measured (load, latency over idle latency); the latency is interpolated between them.
    rise, bend, wall: without measured points, latency = idle latency × (1 + rise × load^bend / (1 - load)^wall).
    """

    rise: float
    bend: float
    wall: float
    points: tuple[tuple[float, float], ...] = ()


def load_curve(part: Any, points: LatencyPoints | None) -> LoadCurve:
    """Return the load curve of a part, with the measured points of its file.

    `points` is None if the file has no measured points.
    """
    return LoadCurve(part.rise.value, part.bend.value, part.wall.value, points.times if points else ())


def access_seconds(accesses: Any, service: Any, latency: Any, in_flight: Any) -> Any:
    """Return the seconds of random accesses of which at most `in_flight` wait at a time.

    accesses: the number of accesses; a part of an access counts as a whole access; for 0 accesses the time is 0.
    service: seconds that the device itself works on an access; it serves accesses one after the other.
    latency: seconds of an access without other accesses; if `service` is longer, `service` is taken.
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
    """Return the latency of an access while other accesses are in flight.

    `idle` and `service` are in the unit of the result. By Little's law, the load × the latency = the number of other accesses in
    flight × `service`.
    """
    waiting, latency = _curve(*curve)
    neighbours = np.clip(np.asarray(accesses, dtype=np.float64), 1.0, in_flight) - 1
    return idle * np.interp(neighbours * service / np.maximum(idle, 1e-3), waiting, latency)


def latency_ratio(load: Any, rise: float, bend: float, wall: float, points: tuple[tuple[float, float], ...] = ()) -> Any:
    """Return latency over idle latency at a load from 0 to 1.

    The other arguments are the fields of LoadCurve.
    """
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
