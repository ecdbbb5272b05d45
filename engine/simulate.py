"""The main idea on one screen: scenario, accesses, task graph, timeline, run with faults, result.

Timing never depends on weights, so each segment is scheduled first and trained after; at a fault both meet in
the log protocol, which decides where training resumes.
"""

from pathlib import Path

import numpy as np

from engine.crash import in_miniature
from engine.errors import CannotRun
from engine.expected import settle
from engine.found import finder
from engine.learner import learner
from engine.lessons import Lessons, follow, scores
from engine.meter import Meter
from engine.outage import Outage
from engine.progress import Watcher
from engine.report import Scores, report
from engine.result import Result
from engine.run import Found, Machinery, Resolve, Segment, machinery, run
from engine.scenario import Scenario, with_values
from engine.serving import served
from engine.single_thread import single_thread
from engine.steady import steady
from engine.story import cannot_run, tell
from engine.traffic import BY_BATCH, LEVELS, Traffic, traffic
from engine.training import boundaries, rows_of, scale_note, twin
from engine.workload.criteo import CriteoFile, read
from engine.workload.hot import hot_set, popular
from engine.workload.recent import recent, tally
from engine.workload.source import Source, num_batches, source

MOST_PREDICTIONS = 10_000


def simulate(scenario: Scenario, data: Path | None = None, progress: Watcher | None = None) -> Result:
    """Run a scenario in full: every batch's real ids, the schedule, faults, and training unless it is off.

    `data` is a Criteo file. `progress` is told now and then, and stops the run by answering True (Cancelled).
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
            return _simulate(scenario, ready, file, progress)
    except CannotRun as error:
        return cannot_run(scenario, (str(error),))


def _simulate(asked: Scenario, m: Machinery, file: CriteoFile | None, progress: Watcher | None) -> Result:
    given, batches = source(m.scenario, file), num_batches(m.scenario, file)
    meter = Meter(progress, batches)
    amounts = _count(m, given, batches, meter)
    near = (amounts.hit_rate if m.system.cache else None, amounts.drives_share if m.system.caches else None)
    if not m.scenario.run.training:
        done, _ = run(m, amounts, None, untrained(m))
        accounts = report(done, steady(done.planned, m.devices), batches, Scores(), *near)
        return tell(asked, done, accounts, (), _notes(asked, given))
    first = _first_lesson(m, given, batches, meter)
    done, lessons = run(m, amounts, first, follow)
    accounts = report(done, steady(done.planned, m.devices), batches, scores(lessons), *near)
    return tell(asked, done, accounts, lessons.rows, _notes(asked, given, scale_note(first.pupil.shape)))


def _notes(asked: Scenario, given: Source, *others: str) -> tuple[str, ...]:
    """Return what a reader must know of this run, among it that a batch larger than its file holds samples several times."""
    size, samples = asked.data.batch_size, given.training_samples or asked.data.batch_size
    short = f"Each batch of {size:,} samples repeats the file's {samples:,}; lower data.batch_size to see its own rows."
    return tuple(filter(None, (*others, short if size > samples else "")))


def _count(m: Machinery, given: Source, batches: int, meter: Meter) -> Traffic:
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
        meter.step(f"counted rows of batch {n}", counts=not m.scenario.run.training)
    return traffic(m.scenario, **amounts)


def _first_lesson(m: Machinery, given: Source, batches: int, meter: Meter) -> Lessons:
    held_out = given.held_out()
    touched = rows_of([*(given.ids(n) for n in range(batches)), held_out.ids])
    pupil = learner(twin(m.scenario, touched), given, held_out, touched, m.scenario)
    one_pass = -(-given.training_samples // m.scenario.data.batch_size) if given.training_samples else batches
    last_pass = batches - min(one_pass, batches, MOST_PREDICTIONS)
    return Lessons(m, pupil, meter, boundaries(batches, m.scenario.run.evaluations), last_pass)


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
