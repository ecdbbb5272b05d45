"""The main idea on one screen: scenario, accesses, task graph, timeline, run with faults, result.

Timing never depends on weights, so each segment is scheduled first and trained after; at a fault both meet in
the log protocol, which decides where training resumes.
"""

from functools import partial
from pathlib import Path

import numpy as np

from engine.counts import Amounts, recalled
from engine.crash import in_miniature
from engine.errors import CannotRun
from engine.expected import settle
from engine.found import finder
from engine.functional_class import functional_class, strikes_matter
from engine.lessons import Learned, first_lesson, follow, learned
from engine.meter import Meter
from engine.outage import Outage
from engine.progress import Watcher
from engine.report import report
from engine.result import Result
from engine.run import Found, Machinery, Resolve, Run, Segment, machinery, run
from engine.scenario import Scenario, with_values
from engine.serving import served
from engine.shared import shared
from engine.single_thread import single_thread
from engine.steady import steady
from engine.story import cannot_run, tell
from engine.traffic import BY_BATCH, LEVELS, Traffic, traffic
from engine.trainings import Shelf
from engine.workload.criteo import CriteoFile, read
from engine.workload.hot import hot_set, popular
from engine.workload.recent import recent, tally
from engine.workload.source import Source, num_batches, source


def simulate(scenario: Scenario, data: Path | None = None, progress: Watcher | None = None, shelf: Shelf | None = None) -> Result:
    """Run a scenario in full: every batch's real ids, the schedule, faults, and training unless it is off.

    `data` is a Criteo file. `progress` is told now and then, and stops the run by answering True (Cancelled). With a
    `shelf` a run takes the training of its functional class from there, or leaves it there; its result is the same.
    What cannot run comes back as a result that says why; BadInput is raised for what cannot be read.
    """
    file = read(data) if data else None
    if file and not scenario.data.digest:
        scenario = with_values(scenario, {"data.digest": file.digest})
    settled = settle(scenario)
    ready = machinery(settled.scenario)
    if settled.problems:
        return cannot_run(scenario, settled.problems)
    try:
        with single_thread():
            return _simulate(scenario, ready, file, progress, shelf)
    except CannotRun as error:
        return cannot_run(scenario, (str(error),))


def _simulate(asked: Scenario, m: Machinery, file: CriteoFile | None, progress: Watcher | None, shelf: Shelf | None) -> Result:
    given, batches = source(m.scenario, file), num_batches(m.scenario, file)
    meter, one = Meter(progress, batches), functional_class(m.scenario)
    known = bool(shelf is not None and one and shelf.get(one.name))
    trains = m.scenario.run.training and not known
    counts = partial(_count, m, given, batches, meter, trains)
    amounts = traffic(m.scenario, **(counts() if shelf is None else recalled(m, batches, counts)))
    near = (amounts.hit_rate if m.system.cache else None, amounts.drives_share if m.system.caches else None)
    done = _untrained_to_its_end(m, amounts) if shelf is not None and one else None
    if done and one and shelf is not None:
        found = shared(one, done, file, meter, shelf)
    elif m.scenario.run.training:
        done, lessons = run(m, amounts, first_lesson(m, given, batches, meter), follow)
        found = learned(lessons)
    else:
        (done, _), found = run(m, amounts, None, untrained(m)), Learned()
    accounts = report(done, steady(done.planned, m.devices), batches, found.scores, *near)
    return tell(asked, done, accounts, found.rows, _notes(asked, given, found.note))


def _untrained_to_its_end(m: Machinery, amounts: Traffic) -> Run | None:
    """Return the run without training; None where it comes to no end, or what struck it may change what is trained."""
    try:
        done, _ = run(m, amounts, None, untrained(m))
    except CannotRun:
        return None  # training may fail before
    other = (done.crashes or done.strikes) and strikes_matter(m.scenario, m.ways)
    return done if done.completed and not other else None


def _notes(asked: Scenario, given: Source, *others: str) -> tuple[str, ...]:
    """Return what a reader must know of this run, among it that a batch larger than its file holds samples several times."""
    size, samples = asked.data.batch_size, given.training_samples or asked.data.batch_size
    short = f"Each batch of {size:,} samples repeats the file's {samples:,}; lower data.batch_size to see its own rows."
    return tuple(filter(None, (*others, short if size > samples else "")))


def _count(m: Machinery, given: Source, batches: int, meter: Meter, trains: bool) -> Amounts:
    """Count each batch's rows from its real ids, what the system's cache moves, and samples that meet hot rows alone."""
    amounts = {name: np.zeros(batches) for name in BY_BATCH} | {"levels": np.zeros((batches, LEVELS))}
    near = recent(m.scenario.model, m.scenario.data.batch_size)
    flow = served(m.scenario, m.system.cache, given, batches) if m.system.cache else None
    hot = hot_set(m.scenario, m.system.hot(m.scenario), given) if m.system.hot else None
    find = finder(m.scenario, m.system.caches(m.scenario), bool(given.digest)) if m.system.caches else None
    for n in range(batches):
        ids = given.ids(n)
        unique, shared, raw = tally(near, ids)
        counted = {"rows": unique.sum(), "raw_share": raw.sum() / ids.size, "cold": unique.sum() - shared.sum()}
        if flow:
            moves = next(flow)
            counted |= {
                "misses": moves.misses,
                "evicted": moves.evicted,
                "missed": moves.missed_lookups,
                "refused": moves.refused,
            }
        if find:
            amounts["levels"][n] = find(n, unique, ids)
        if hot:
            counted["popular"] = popular(hot, ids)
        for name, value in counted.items():
            amounts[name][n] = value
        meter.step(f"counted rows of batch {n}", counts=not trains)
    return amounts


def untrained(m: Machinery) -> Resolve[None]:
    """Return what follows and recovers segments without training; a system without a log starts again at batch 0."""

    def resolve(segment: Segment, down: Outage | None, state: None) -> tuple[Found, None]:
        if down is None:
            return Found(segment.last, segment.last), None
        try:
            return Found(*in_miniature(m, segment, down)) if m.ways.log else Found(0, 0), None
        except CannotRun as error:
            return Found(0, 0, str(error)), None

    return resolve
