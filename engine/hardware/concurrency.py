"""Little's law: random accesses are as fast as a device serves them, or as those in flight come back, whichever is slower.

The latency of an access rises with the load that the accesses in flight make themselves; what else the device serves meanwhile
is not counted. Both forms are those of single requests: each waits for a place among those in flight, then to be served.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats
from ..core.constants import Constant
from ..core.part_files.curves import LatencyPoints
from ..core.part_files.tables import quantity

LINE = 64  # bytes that a processor, a GPU or a link asks for at a time
FULL = 0.85  # about the highest share of a bandwidth at which a latency is published; it is taken to rise no further
LOADS = 200


# By default latency rises as that of the one expander whose latency under load is published.
SOURCE = "hyperscale DDR4 expander: 250 ns idle, 269 at 10 % of its bandwidth, 292 at 30 %"
RISE = quantity("latency rise", "of idle", zero=True, default=Constant("", 0.249, "", 0.1, 0.5, "derived", SOURCE))
BEND = quantity("rise over load", "power", default=Constant("", 0.55, "", 0.4, 1, "derived", "the same expander"))
WALL = quantity("rise near full load", "power", default=Constant("", 0.75, "", 0.5, 1, "unsourced", "form assumed"))


class LoadCurve(NamedTuple):
    """How a part's latency rises with its load: through measured `points` of load and times idle, where there are any.

    Else it is idle × (1 + rise load^bend / (1 - load)^wall).
    """

    rise: float
    bend: float
    wall: float
    points: tuple[tuple[float, float], ...] = ()


def load_curve(part: Any, measured: LatencyPoints | None) -> LoadCurve:
    """Return the curve of a part that has the constants of the form, and maybe a measured curve in its file."""
    return LoadCurve(part.rise.value, part.bend.value, part.wall.value, measured.times if measured else ())


def access_seconds(accesses: Any, service: Any, latency: Any, in_flight: Any) -> Any:
    """Return the seconds of so many random accesses of which `in_flight` wait at most at a time; 0 for none.

    One alone takes `latency`, of which `service` is the device's own time for it; it serves one after the other. Exact for
    single requests, of which a part is a whole one; where `service` alone is longer than `latency`, it is all there is.
    """
    n = np.asarray(accesses, dtype=np.float64)
    n = np.where(n > 0, np.maximum(n, 1.0), 0.0)
    over = np.maximum(latency - service, 0.0)
    if np.isinf(in_flight).all():
        return (n > 0) * over + n * service
    rounds = np.maximum(np.ceil(n / in_flight) - 1, 0.0)
    waited = rounds * (service + over) + (n - rounds * in_flight) * service
    return (n > 0) * over + np.maximum(n * service, waited)


def loaded(idle: Any, service: Any, accesses: Any, in_flight: Any, curve: LoadCurve) -> Any:
    """Return the latency of an access beside those in flight with it: their load × the latency = their number × `service`."""
    waiting, latency = _curve(*curve)
    beside = np.clip(np.asarray(accesses, dtype=np.float64), 1.0, in_flight) - 1
    return idle * np.interp(beside * service / np.maximum(idle, 1e-3), waiting, latency)


def at_load(load: Any, rise: float, bend: float, wall: float, points: tuple[tuple[float, float], ...] = ()) -> Any:
    """Return how many times its idle latency a device takes that is so far loaded, 0 to 1."""
    if points:
        return np.interp(load, [at for at, _ in points], [times for _, times in points])
    published = np.minimum(load, FULL)
    return 1 + rise * published**bend / np.maximum((1 - published) ** wall, 1e-12)


@lru_cache(maxsize=1024)
def _curve(rise: float, bend: float, wall: float, points: tuple[tuple[float, float], ...]) -> tuple[Floats, Floats]:
    """Return latencies, times idle, and the service waiting in flight at each, of so many loads."""
    if points:
        load = np.union1d(np.linspace(0, points[-1][0], LOADS), [at for at, _ in points])
    else:
        load = FULL * np.linspace(0, 1, LOADS) ** 2  # most where it bends most
    latency = at_load(load, rise, bend, wall, points)
    return load * latency, latency
