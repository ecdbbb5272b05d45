"""The curve in a part's file: measured latency at given shares of the part's bandwidth."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ..constants import Confidence
from ..figures import count, exact
from .tables import MAX_NUMBER, check_keys, confidence_and_source, refuse

CURVE = "latency-under-load"
REQUIRED_KEYS = ("loads", "latencies", "unit", "confidence", "source")


class LatencyPoints(NamedTuple):
    """Measured latencies at rising loads; between two points, latency is linear in the load.

    loads: shares of the part's bandwidth, rising.
    latencies: the latency at each load [ns].
    confidence, source: how sure the latencies are, and where they come from.
    """

    loads: tuple[float, ...]
    latencies: tuple[float, ...]
    confidence: Confidence
    source: str

    @property
    def times(self) -> tuple[tuple[float, float], ...]:
        """Pairs of a load and its latency as a multiple of the first latency."""
        return tuple((load, latency / self.latencies[0]) for load, latency in zip(self.loads, self.latencies, strict=True))


def curve(path: Path | str, table: Any) -> LatencyPoints:
    """Return the latencies in the table of a curve; raises BadFile."""
    check_keys(path, CURVE, table, (*REQUIRED_KEYS, "note"), REQUIRED_KEYS)
    if table["unit"] != "ns":
        refuse(path, f"gives {CURVE} in {table['unit']!r:.40}, but the unit must be 'ns'; convert the values.")
    loads, latencies = (_numbers(path, key, table[key], limit) for key, limit in (("loads", 1.0), ("latencies", MAX_NUMBER)))
    if len(loads) != len(latencies):
        refuse(
            path,
            f"gives {count(len(loads), 'load')} and {count(len(latencies), 'latency')} of {CURVE}; give one latency "
            "for each load.",
        )
    if any(next_load <= load for load, next_load in pairwise(loads)):
        refuse(path, f"gives {CURVE}.loads that do not rise; sort them, and give each load once.")
    if not latencies[0]:
        refuse(path, f"gives {CURVE}.latencies that begin at 0; write the latency of an access at the first load.")
    in_flight = [load * latency for load, latency in zip(loads, latencies, strict=True)]
    if any(next_accesses <= accesses for accesses, next_accesses in pairwise(in_flight)):
        refuse(path, f"gives {CURVE} where a higher load has fewer accesses in flight; remove that point.")
    return LatencyPoints(loads, latencies, *confidence_and_source(path, CURVE, table))


def _numbers(path: Path | str, key: str, number_list: Any, limit: float) -> tuple[float, ...]:
    """Return a list of two numbers or more, from 0 to `limit`; raises BadFile."""
    numbers: Sequence[Any] = number_list if isinstance(number_list, list) else ()
    valid = [isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= limit for number in numbers]
    if len(valid) < 2 or not all(valid):
        refuse(path, f"gives {CURVE}.{key} = {number_list!r:.60}; write two numbers or more, each from 0 to {exact(limit)}.")
    return tuple(float(number) for number in numbers)
