"""Checkpoint relaxation: the staleness that the MLP log needs, over write bandwidth.

The MLP log advances only while the top MLP runs. Its rate is what the slower of link and PMEM has left at that time. When one
log is complete, the next begins at once with the MLP of that batch. So when a log completes, its MLP is one writing time old,
and just before the next log completes it is two writing times old: hence the factor of two in `closed_form`.
"""

from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from ..core.work import Stream
from ..hardware.device import seconds
from ..hardware.devices.cxl import joint_rate
from ..registry import load_variant
from ..scenario.scenario import KNOBS, Scenario, with_values
from ..schedule.machine import expected_timeline, machine_of, ready_machine
from ..schedule.timeline import Timeline
from ..schedule.window import MAX_WINDOW
from ..systems.capacity import fit
from ..systems.sizing import with_sizes_chosen
from ..systems.traffic import mlp_bytes
from ..units import GB
from .cost import cost
from .decomposition import BOUND, RELAXED, cxl_policies

SLACK = 0.01  # a log is hidden if the step is within this share of the step without any wait for the log
RATE, LINK = "pmem.sequential-write-rate", "machine.cxl_bandwidth_GBps"
WIDEST_LINK = KNOBS[LINK].high or 0.0
UNLIMITED_BOUND = int(KNOBS[BOUND].high or 0)
SLOWEST, FASTEST, SLOWER, POINTS = 0.1, 400.0, 100.0, 13  # GB/s; PMEM's curve goes this much below the present rate
HUNDRED_BATCHES = 100
STEADY_BATCHES = 32  # batches show the steady state of a run in which nobody waits for the log
ENDLESS_BATCHES = 10**6  # batches: a run's ends are then nothing beside it
MAX_SEEN_BOUND = MAX_WINDOW - 2  # the largest bound whose waits an estimate is long enough to see


@dataclass(frozen=True)
class MlpLog:
    """The MLP log on one machine.

    rate: bandwidth with which the log is written [bytes/s].
    limit: the device that limits the rate, "pmem" or "cxl".
    write_seconds: time to write one whole log [s].
    gate_seconds: time that the log gets during each batch's top MLP [s].
    needed_bound: smallest staleness bound whose step is within 1 % of the unlimited one [batches].
    strict_step, own_step, unlimited_step: step time with a bound of 0, with the scenario's bound, and without a bound [s].
    """

    rate: float
    limit: str
    write_seconds: float
    gate_seconds: float
    needed_bound: int
    strict_step: float
    own_step: float
    unlimited_step: float

    @property
    def batches(self) -> float:
        """The number of batches that writing one log takes.

        It is infinite if the log gets no time during the top MLP.
        """
        return self.write_seconds / self.gate_seconds if self.gate_seconds > 1e-6 * self.write_seconds else inf

    @property
    def saved_seconds(self) -> float:
        """Seconds of a batch that the scenario's staleness bound saves against a bound of 0."""
        return self.strict_step - self.own_step

    @property
    def pays(self) -> bool:
        """Whether a staleness bound above 0 can save more than 1 % of the step."""
        return self.strict_step > (1 + SLACK) * self.unlimited_step


@dataclass(frozen=True)
class Relaxation:
    """The MLP log of the scenario's machine, and the logs of slower or faster machines.

    On each curve either PMEM or the link changes its speed, and the other one is never the limit.

    bound: the scenario's staleness bound [batches].
    present_log: the log of the scenario's machine.
    curves: the logs of the other machines.
    sufficient_rate: log bandwidth from which a bound above 0 saves at most 1 % of the step [bytes/s].
    hundred_batches_rate: log bandwidth below which a log needs a staleness bound of a hundred batches [bytes/s].
    Both rates are None where the curve of `present_log.limit` has no such point.
    """

    bound: int
    present_log: MlpLog
    curves: tuple[MlpLog, ...]
    sufficient_rate: float | None
    hundred_batches_rate: float | None


def closed_form(writing: float, gate: float, unlimited: float) -> int:
    """Return the least staleness bound whose exposed log time is within 1 % of the step.

    writing: seconds to write one log.
    gate: seconds of each batch in which the log advances.
    unlimited: step seconds without a bound.

    In bound + 1 batches two logs must be written; the step waits for the seconds that the gates lack. With a bound of 0 the log
    is another one, which contains its own batch's rows; only an estimate can judge that case.
    """
    return max(ceil(2 * writing / (gate + SLACK * unlimited)) - 1, 0)


def relaxation(scenario: Scenario) -> Relaxation:
    """Return the MLP log of the scenario's machine, and those along both curves.

    Raises CannotRun or BadKnob where system cxl cannot run.
    """
    base, bound = relaxable(scenario), cxl_policies(scenario)[0]
    present_log = mlp_log(base, bound)
    lowest = {"pmem": min(SLOWEST, present_log.rate / GB / SLOWER), "cxl": SLOWEST}
    rates = ((limit, float(rate)) for limit, slowest in lowest.items() for rate in np.geomspace(slowest, FASTEST, POINTS))
    curves = tuple(mlp_log(machine_with_log_rate(base, limit, rate), bound) for limit, rate in rates)
    present_curve = [point for point in curves if point.limit == present_log.limit]
    return Relaxation(bound, present_log, curves, _enough_rate(base, present_curve), _hundreds_below(base, present_curve))


def relaxable(scenario: Scenario) -> Scenario:
    """Return the scenario under system cxl, with settled PMEM and one link.

    The links of several expanders are joined into one, so that its bandwidth can be varied.
    The scenario trains without end, since a short run ends before training waits for a log.
    """
    base = with_values(scenario, {"system": "cxl", "policy.log": None, BOUND: 0, RELAXED: cxl_policies(scenario)[1]})
    settled = with_sizes_chosen(base, load_variant("systems", base.system))
    link = min(joint_rate(settled.machine) / GB, WIDEST_LINK)
    return with_values(settled, {LINK: link, "machine.num_expanders": 1, "run.batches": ENDLESS_BATCHES})


def log_rates(base: Scenario) -> dict[str, float]:
    """Return the bytes per second at which PMEM and the link can write a log.

    The keys are "pmem" and "cxl".
    """
    nbytes = mlp_bytes(base)
    pmem = float(seconds(machine_of(fit(base)).devices["pmem"], Stream(nbytes)))
    return {"pmem": nbytes / pmem, "cxl": joint_rate(base.machine)}


def machine_with_log_rate(base: Scenario, limit: str, rate: float) -> Scenario:
    """Return the base scenario with a log rate of `rate` GB/s, limited by `limit`.

    The other of PMEM and link is at least twice as fast.
    """
    modules, rates = machine_of(fit(base)).devices["pmem"].modules, log_rates(base)
    gbps = {end: rate if end == limit else max(own_rate / GB, 2 * rate) for end, own_rate in rates.items()}
    assumed = {**dict(base.machine.assume), RATE: gbps["pmem"] / modules}
    return with_values(base, {LINK: gbps["cxl"], "machine.assume": tuple(assumed.items())})


def mlp_log(base: Scenario, bound: int) -> MlpLog:
    """Return the MLP log of one machine, with its step times by staleness bound.

    `base` is a settled scenario with a bound of 0; `bound` is the scenario's own bound.
    """
    unlimited_line, strict = _unlimited(base), cost(base)
    writing, gate, unlimited = (
        float(unlimited_line.durations[0, unlimited_line.template.roll]),
        gate_seconds(unlimited_line),
        middle_step(unlimited_line),
    )
    rates = log_rates(base)
    limit = min(rates, key=rates.__getitem__)
    return MlpLog(
        rate=rates[limit],
        limit=limit,
        write_seconds=writing,
        gate_seconds=gate,
        needed_bound=_needed_bound(base, closed_form(writing, gate, unlimited), (1 + SLACK) * unlimited),
        strict_step=strict.seconds,
        own_step=cost(with_values(base, {BOUND: bound})).seconds,
        unlimited_step=unlimited,
    )


def _unlimited(base: Scenario) -> Timeline:
    return expected_timeline(ready_machine(with_values(base, {BOUND: UNLIMITED_BOUND})), STEADY_BATCHES)


def middle_step(line: Timeline) -> float:
    """Return the mean interval between batch ends in the second half of a timeline.

    The last batch is left out, as it looks up no rows for a next batch.
    """
    ends = line.batch_ends
    first_batch, last_batch = len(ends) // 2, len(ends) - 2
    return float(ends[last_batch] - ends[first_batch]) / (last_batch - first_batch)


def gate_seconds(line: Timeline) -> float:
    """Return the seconds of a batch's top MLP in which the log's device is idle."""
    g, batch = line.template, line.start.shape[0] // 2
    gate_start, gate_end = line.start[batch, g.gate], line.end[batch, g.gate]
    server = g.tasks["server"]
    device_tasks = (server == server[g.roll]) & (np.arange(len(server)) != g.roll)
    batches = slice(batch - 1, batch + 2)
    pieces = zip(line.start[batches, device_tasks].ravel(), line.end[batches, device_tasks].ravel(), strict=True)
    free_seconds, instant = 0.0, gate_start
    for start, stop in sorted(pieces):
        free_seconds += max(min(start, gate_end) - instant, 0.0)
        instant = max(instant, stop)
    return float(free_seconds + max(gate_end - instant, 0.0))


def _needed_bound(base: Scenario, guess: int, max_seconds: float) -> int:
    """Return the smallest bound whose step takes at most `max_seconds`, or the guess where estimates are too short for it."""

    def holds(bound: int) -> bool:
        return bound >= 0 and cost(with_values(base, {BOUND: bound})).seconds <= max_seconds

    reach, high = 1, guess
    while high < MAX_SEEN_BOUND and not holds(high):
        high, reach = high + reach, 2 * reach
    if high >= MAX_SEEN_BOUND:
        return max(guess, MAX_SEEN_BOUND)
    low = high - reach
    while holds(low):
        low, reach = low - 2 * reach, 2 * reach
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _enough_rate(base: Scenario, curve: list[MlpLog]) -> float | None:
    """Return the bytes per second from which on relaxing saves at most 1 %."""
    paying = [point.rate for point in curve if point.pays]
    if not paying or paying[-1] == curve[-1].rate:
        return None if paying else 0.0
    return _edge(base, curve, paying[-1], 0)


def _hundreds_below(base: Scenario, curve: list[MlpLog]) -> float | None:
    """Return the bytes per second below which a bound of a hundred batches is needed."""
    slow = [point.rate for point in curve if point.needed_bound >= HUNDRED_BATCHES]
    return _edge(base, curve, slow[-1], HUNDRED_BATCHES - 1) if slow and slow[-1] < curve[-1].rate else None


def _edge(base: Scenario, curve: list[MlpLog], low: float, bound: int) -> float:
    """Return, to 1 %, the rate between `low` and the curve's next from which on `bound` batches are enough."""
    high = next(point.rate for point in curve if point.rate > low)
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        machine = machine_with_log_rate(base, curve[0].limit, middle / GB)
        is_enough = cost(with_values(machine, {BOUND: bound})).seconds <= (1 + SLACK) * middle_step(_unlimited(machine))
        low, high = (low, middle) if is_enough else (middle, high)
    return high
