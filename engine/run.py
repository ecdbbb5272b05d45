"""A run is a fold over segments: run, cut, recover, resume."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from engine import assumptions, system
from engine.cut import Cut, cut
from engine.device import Device
from engine.fault import strikes
from engine.graph import check
from engine.parts import powered
from engine.power import counted, within_host
from engine.registry import every, load
from engine.scenario import Scenario
from engine.system import Recovery, System, Ways
from engine.timeline import Timeline, timeline
from engine.traffic import INDEX_BYTES, Traffic, part

State = TypeVar("State")
MOST_CRASHES = 10_000
HOPELESS = 50


@dataclass(frozen=True)
class Machinery:
    """A scenario made ready to run: its system, policies in force, and devices by name."""

    scenario: Scenario
    system: System
    ways: Ways
    devices: Mapping[str, Device]


@dataclass(frozen=True)
class Segment:
    """One stretch of training from batch `first`, begun at `begin` seconds, run for `length` seconds."""

    first: int
    begin: float
    length: float
    timeline: Timeline
    cut: Cut | None


@dataclass(frozen=True)
class Crash:
    """A power loss at `at` seconds in batch `batch`, and where training went on, at `resumed` seconds.

    `embedding_batch` and `mlp_batch` are the recovered states; `lost` batches had begun and are run again.
    `restoring` is the restore's timeline, `attempts` how many seconds of it each attempt got through: a further
    power loss during the recovery starts it over, and only the last attempt is whole.
    """

    at: float
    batch: int
    embedding_batch: int
    mlp_batch: int
    lost: int
    restoring: Timeline
    attempts: tuple[float, ...]
    resumed: float

    @property
    def restore(self) -> float:
        """Seconds of an undisturbed restore."""
        return self.restoring.makespan

    @property
    def again(self) -> int:
        """How often power failed again during the recovery."""
        return len(self.attempts) - 1


@dataclass(frozen=True)
class Run:
    """Everything that happened: segments and the crashes that cut them, in `elapsed` simulated seconds.

    `outcome` is a sentence. The last segment is cut too where the power loss came after the last commit.
    """

    machinery: Machinery
    segments: tuple[Segment, ...]
    crashes: tuple[Crash, ...]
    elapsed: float
    completed: bool
    outcome: str


# Recovers a cut segment: the embeddings' batch, the MLP's batch, and the learner's state to go on with.
Resolve = Callable[[Segment, State], tuple[int, int, State]]


def machinery(scenario: Scenario) -> Machinery:
    """Build the devices of a settled scenario; raises BadKnob for a policy that its system cannot have."""
    chosen: System = load("systems", scenario.system)
    devices = powered(scenario.system, scenario.machine)
    assumptions.check(scenario.machine, _catalogue())
    behind_link = chosen.memory == "dram" and "cxl" in chosen.devices
    known = devices if behind_link else within_host(devices)
    return Machinery(scenario, chosen, system.ways(scenario, chosen), counted(scenario.machine, known))


@cache
def _catalogue() -> tuple[str, ...]:
    """Return the names of all constants of all devices, as `machine.assume` knows them."""
    kinds = every("devices").items()
    return tuple(
        sorted({assumptions.name_of(device, one) for device, kind in kinds for part in kind.parts().values() for one in part})
    )


def schedule(m: Machinery, traffic: Traffic) -> Timeline:
    """Plan the batches of `traffic` and schedule them."""
    graph = m.system.plan(m.scenario, m.ways, traffic)
    check(graph, frozenset(m.devices))
    return timeline(graph, m.devices, traffic.batches)


def run(m: Machinery, traffic: Traffic, state: State, resolve: Resolve[State]) -> tuple[Run, State]:
    """Run all batches of `traffic`; `resolve` recovers each cut segment and carries the learner's state on."""
    stops = _stops(m.scenario)
    strike = next(stops, None)
    segments: list[Segment] = []
    crashes: list[Crash] = []
    first, begin = 0, 0.0
    while first < traffic.batches:
        line = schedule(m, part(traffic, first, traffic.batches))
        if strike is None or strike - begin >= line.makespan:
            segments.append(Segment(first, begin, line.makespan, line, None))
            first, begin = traffic.batches, begin + line.makespan
            break
        segment = Segment(first, begin, strike - begin, line, cut(line, strike - begin))
        segments.append(segment)
        embedding, mlp, state = resolve(segment, state)
        crash, strike = _crash(m, traffic, segment, (embedding, mlp), stops)
        crashes.append(crash)
        first, begin = crash.embedding_batch, crash.resumed
        if len(crashes) + crash.again >= MOST_CRASHES or _hopeless(crashes):
            break
    completed = first == traffic.batches and not (crashes and crashes[-1].again >= MOST_CRASHES)
    outcome = _completed(crashes) if completed else _gave_up(crashes)
    return Run(m, tuple(segments), tuple(crashes), begin, completed, outcome), state


def _stops(scenario: Scenario) -> Iterator[float]:
    return (strike.at for strike in strikes(scenario) if strike.kind.stops)


def _crash(
    m: Machinery, traffic: Traffic, segment: Segment, batches: tuple[int, int], strikes: Iterator[float]
) -> tuple[Crash, float | None]:
    """Recover; a power loss during the recovery starts it over. Returns also the next strike after it."""
    at = segment.begin + segment.length
    restoring = timeline(m.system.recover(m.scenario, _recovery(m, traffic, segment)), m.devices, 1)
    attempts, resumed, strike = _attempts(m.scenario, at, restoring.makespan, strikes)
    started = segment.first + (segment.cut.started if segment.cut else 0)
    embedding, mlp = batches
    crash = Crash(at, max(started - 1, segment.first), embedding, mlp, started - embedding, restoring, attempts, resumed)
    return crash, strike


def _attempts(
    scenario: Scenario, at: float, restore: float, strikes: Iterator[float]
) -> tuple[tuple[float, ...], float, float | None]:
    """Return the seconds of restore in each attempt at recovery, when the last one ends, and the next strike after it."""
    wait = scenario.faults.detect_seconds + scenario.faults.restart_seconds
    attempts: list[float] = []
    strike = next(strikes, None)
    while strike is not None and strike < at + wait + restore and len(attempts) < MOST_CRASHES:
        attempts.append(max(strike - at - wait, 0.0))
        at, strike = strike, next(strikes, None)
    return (*attempts, restore), at + wait + restore, strike


def _recovery(m: Machinery, traffic: Traffic, segment: Segment) -> Recovery:
    """Return what recovery reads and writes: the newest committed batch's rows; nothing without a log."""
    committed = segment.cut.committed if segment.cut else -1
    if not m.ways.log or committed < 0:
        return Recovery(0.0, traffic.row_bytes, 0.0, traffic.mlp_bytes)
    rows = float(traffic.rows[segment.first + committed])
    return Recovery(rows, traffic.row_bytes, rows * (traffic.row_bytes + INDEX_BYTES), traffic.mlp_bytes)


def _hopeless(crashes: list[Crash]) -> bool:
    """Tell whether no progress is made: a recovery never ends, or the last many all resumed at the same batch."""
    last = crashes[-HOPELESS:]
    stuck = len(last) == HOPELESS and len({crash.embedding_batch for crash in last}) == 1
    return stuck or last[-1].again >= MOST_CRASHES


def _completed(crashes: list[Crash]) -> str:
    if not crashes:
        return "completed without a fault"
    lost = sum(crash.lost for crash in crashes)
    again = "1 batch was" if lost == 1 else f"{lost} batches were"
    return f"completed after {len(crashes)} power loss{'es' if len(crashes) > 1 else ''}; {again} run again"


def _gave_up(crashes: list[Crash]) -> str:
    if crashes[-1].again >= MOST_CRASHES:
        return (
            f"unrecoverable: power failed {crashes[-1].again} times during one recovery; lengthen "
            "faults.power_loss_mtbf_hours, or shorten faults.detect_seconds and faults.restart_seconds."
        )
    return (
        f"unrecoverable: power failed {sum(1 + crash.again for crash in crashes)} times and training no longer got past "
        f"batch {crashes[-1].embedding_batch}; lengthen faults.power_loss_mtbf_hours, shorten the run, "
        "or choose a system that logs every batch."
    )
