"""Where the joules of a run went: static power of every powered device, and the work done until each cut."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..core.work import Amount, Work, written
from ..hardware.device import Device
from .timeline import Timeline

Floats = NDArray[np.float64]
Until = float | Floats  # an instant of a timeline in seconds, or those at which several runs of it ended


def dynamic(timeline: Timeline, devices: Mapping[str, Device], until: Until) -> dict[str, float]:
    """Return joules by device, beyond static power, of the work done in the first `until` seconds."""
    joules = dict.fromkeys(devices, 0.0)
    done = fraction_done(timeline, until)
    for (task, name), busy, energy in zip(timeline.demands, timeline.busy, timeline.dynamic, strict=True):
        joules[name] += float(done[:, task] @ (energy + busy * devices[name].busy_watts))
    return joules


def busy(timeline: Timeline, devices: Mapping[str, Device], until: Until) -> dict[str, float]:
    """Return by device the seconds of work done in the first `until` seconds."""
    seconds = dict.fromkeys(devices, 0.0)
    done = fraction_done(timeline, until)
    for (task, name), spent in zip(timeline.demands, timeline.busy, strict=True):
        seconds[name] += float(done[:, task] @ spent)
    return seconds


def pmem_written(timeline: Timeline, until: Until, bytes_of: Callable[[Work], Amount] = written) -> float:
    """Return the bytes stored into persistent memory in the first `until` seconds; `bytes_of` says what counts."""
    done = fraction_done(timeline, until)
    return sum(float(np.sum(done[:, k] * bytes_of(work))) for k, work in pmem_work(timeline))


def pmem_work(timeline: Timeline) -> Iterator[tuple[int, Work]]:
    """Yield what is asked of persistent memory, with the position of its task."""
    for k, task in enumerate(timeline.graph.tasks):
        yield from ((k, demand.work) for demand in task.demands if demand.device == "pmem")


def fraction_done(timeline: Timeline, until: Until) -> Floats:
    """Return for each task, (N, K), the share of its work done by `until`, summed over several; skipped logs did nothing."""
    at, start, end, whole = np.reshape(until, (-1, 1, 1)), timeline.start, timeline.end, timeline.template.durations
    spent = np.where(np.isnan(end), np.minimum(at - start, whole - timeline.state.left), at - start)
    part: Floats = np.divide(spent, whole, out=np.zeros_like(spent), where=(start < at) & (whole > 0))
    done: Floats = np.where(end <= at, 1.0, np.minimum(part, 1.0))
    total: Floats = done[0] if len(done) == 1 else done.sum(axis=0)
    return total
