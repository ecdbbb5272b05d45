"""The report: the amounts, times and energies of a run or estimate, in SI units.

Metrics are computed from a report.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import InColumns, Ints, Number
from ..persistence.protocol import DIGEST_FAILURE
from ..run.run import Crash, Run
from ..run.upcoming_faults import FULL_SPEED
from ..schedule.evaluate import DesignPoint, Observations, UncutRuns
from ..schedule.machine import Machine
from ..schedule.steady_state import Steady
from ..schedule.timeline import EndSeconds, Timeline, WorkDone, work_done
from ..systems.traffic import Traffic
from ..training.loop import Scores
from .ledger import RunLedger, run_ledger, undisturbed_ledger


@dataclass(frozen=True)
class Report(InColumns):
    """The amounts, times and energies of a run or an estimate.

    A report can be for many machines that share a plan, a system, device names and a log policy; each number is then an array.

    machines: the machine, or all machines that share the plan.
    amounts: the rows and bytes that batches need.
    steady: the averages per batch in the steady state.
    stale: the largest age of an MLP log at a commit [batches].
    batches: the number of batches whose training survives to the end.
    elapsed: the time of the whole run [s].
    static, dynamic: static and dynamic energy by device [J].
    busy: busy time by device [s], that of its busiest lane.
    pmem_written, pmem_media_written: bytes that training writes to persistent memory, and bytes that its media store for them.
    ledger: seconds and joules by account.
    crashes: the faults that stopped the run, with their recoveries.
    strikes: the number of faults that struck.
    undetected_flips: the number of flipped bits that no checksum has detected.
    unrecoverable: True if the run ended without its result.
    scores: loss, AUC and accuracy of training.
    """

    machines: tuple[Machine, ...]
    amounts: Traffic
    steady: Steady
    stale: Number
    batches: Number
    elapsed: Number
    static: Mapping[str, Number]
    dynamic: Mapping[str, Number]
    busy: Mapping[str, Number]
    pmem_written: Number
    pmem_media_written: Number
    ledger: RunLedger
    crashes: tuple[Crash, ...] = ()
    strikes: int = 0
    undetected_flips: int = 0
    unrecoverable: bool = False
    scores: Scores = field(default_factory=Scores)

    @property
    def machine(self) -> Machine:
        """The machine, or the first of many machines, for values that all machines share."""
        return self.machines[0]

    @property
    def batch_size(self) -> Number:
        """The samples of a batch; of each machine where they differ."""
        sizes = [machine.scenario.data.batch_size for machine in self.machines]
        return sizes[0] if all(size == sizes[0] for size in sizes) else np.array(sizes)

    @property
    def joules(self) -> Number:
        """The energy of the whole run [J]."""
        return total(self.static.values()) + total(self.dynamic.values())

    def point(self, i: int) -> "Report":
        """Return the report of machine number `i`."""
        return replace(super().point(i), machines=self.machines[i : i + 1])


def run_report(run: Run, amounts: Traffic, scores: Scores) -> Report:
    """Return the report of a simulated run with its faults."""
    busy, joules, *written_bytes = (total(column) for column in zip(*starmap(work_done, _worked(run)), strict=True))
    work = WorkDone(busy.tolist(), joules.tolist(), *written_bytes)
    batches = amounts.batches if run.completed else run.crashes[-1].resumption.embedding_batch
    return Report(
        **_accounts([run.machine], run.elapsed, [device.idle_watts for device in run.machine.devices.values()], work),
        amounts=amounts,
        steady=run.fault_free_timeline.steady,
        stale=_stale(run),
        batches=batches,
        ledger=run_ledger(run),
        crashes=run.crashes,
        strikes=sum(len(crash.outage.strikes) for crash in run.crashes)
        + sum(strike.fault != FULL_SPEED for strike in run.passed_strikes),
        undetected_flips=undetected_flips(run),
        unrecoverable=not run.completed,
        scores=scores,
    )


def undisturbed_report(
    points: Sequence[DesignPoint], observed: Observations, whole_run: UncutRuns, batches: Ints | int
) -> Report:
    """Return the report of runs of `batches` batches without a fault.

    The amounts are counted from row ids, or are an estimate's expected amounts, scaled to the run.
    """
    watts = total(observed.idle_watts)
    all_joules, logs = (
        watts * whole_run.elapsed + total(whole_run.work.joules),
        watts * whole_run.checkpoint_seconds + whole_run.checkpoint_joules,
    )
    return Report(
        **_accounts([point.machine for point in points], whole_run.elapsed, observed.idle_watts, whole_run.work),
        amounts=points[0].plan.amounts_of(points),
        steady=observed.average,
        stale=observed.staleness,
        batches=batches,
        ledger=undisturbed_ledger(whole_run.elapsed, whole_run.checkpoint_seconds, all_joules, logs),
    )


def _accounts(machines: Sequence[Machine], elapsed: Number, idle_watts: Iterable[Number], work: WorkDone) -> dict[str, Any]:
    names = machines[0].devices
    return {
        "machines": tuple(machines),
        "elapsed": elapsed,
        "static": {name: watts * elapsed for name, watts in zip(names, idle_watts, strict=True)},
        "dynamic": dict(zip(names, work.joules, strict=True)),
        "busy": dict(zip(names, work.busy, strict=True)),
        "pmem_written": work.written_bytes,
        "pmem_media_written": work.media_bytes,
    }


def _worked(run: Run) -> Iterator[tuple[Timeline, EndSeconds]]:
    """Yield every timeline that ran, recoveries too, with the seconds that were run of it."""
    for segment in run.segments:
        yield segment.timeline, segment.length_seconds
        if segment.pause:
            yield segment.pause, segment.length_seconds - segment.timeline.makespan
    for crash in run.crashes:
        yield crash.outage.restore_timeline, crash.outage.restore_seconds_by_attempt


def _stale(run: Run) -> int:
    """Return the largest age of the MLP log at any commit that happened, in batches."""
    ages = [0]
    for segment in run.segments:
        commits = segment.cut.committed_batch + 1 if segment.cut else segment.timeline.batches
        ages += [int(segment.timeline.course.staleness[:commits].max(initial=0))]
    return max(ages)


def undetected_flips(run: Run) -> int:
    """Return the number of flipped bits that no checksum has detected.

    A flipped bit in a log is detected, or the log is never read. A flipped bit in a table is detected if the table's digest is
    verified later; this ends the run.
    """
    corrupted_part, fatal = (
        run.machine.scenario.faults.silent_corruption_where,
        run.crashes[-1].resumption.fatal if run.crashes else "",
    )
    if corrupted_part == "log" or (corrupted_part == "table" and DIGEST_FAILURE in fatal):
        return 0
    return run.segments[-1].num_flipped
