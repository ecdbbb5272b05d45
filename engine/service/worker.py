"""The worker: computes a few points and writes each one's row itself, so that an answer is never lost.

A worker never raises: a point ends as a result or as a sentence. It is polite to viewers (nice), ignores the
terminal's Ctrl-C, which its owner handles, and leaves soon after its owner has died.
"""

import ctypes
import os
import signal
import sqlite3
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from pkgutil import resolve_name

from .. import version
from ..core.process import TOO_LARGE
from ..errors import BadFile, Cancelled, EmberpoolError
from ..results.result import Result
from ..run.progress import Progress, Watcher
from ..run.shared_training import TrainingShelf
from ..run.training_curve import RunStopped, StoppedRun
from ..scenario import knobs
from ..scenario.keys import How
from ..scenario.scenario import KNOBS, Scenario, with_values
from ..store.database import opened
from ..store.kept import knob_texts, row_text
from ..store.trainings import StoreShelf
from . import computations
from .kernels import await_compiled
from .queue import OpenPoint, Turn
from .stopped_runs import StoppedRunFile

COMPUTE = f"{__name__}:computed"
CHANGED = "Emberpool's files have changed while it ran; start it again. Finished points are kept."
NOT_HERE = "what it had learned is not kept by workers on other computers"
CHUNK_SECONDS = 0.25  # after which a worker asks for its next chunk
NICENESS = 10
WATCH_SECONDS = 0.5
PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Chunk:
    """The next points of a request, perhaps more than are reached, and `compute` as module:function; `code` is the owner's.

    A full run that shares the training of its `functional_class` is alone in its chunk.
    """

    store: str
    turn: Turn
    points: tuple[OpenPoint, ...]
    compute: str = COMPUTE
    code: str = field(default_factory=lambda: version.CODE)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its points."""
        return tuple(point.key for point in self.points)

    @property
    def functional_class(self) -> str | None:
        """The class whose training its point shares, if it does."""
        return self.points[0].functional_class if self.points and self.turn.how == "full" else None

    def parts(self) -> Iterator[tuple[str, ...]]:
        """Yield keys to compute together until CHUNK_SECONDS are over: all estimates, one full run and then twice as many."""
        rest, end = self.keys, time.monotonic() + CHUNK_SECONDS
        size = len(rest) if self.turn.how == "estimate" else 1
        while rest:
            yield rest[:size]
            rest, size = rest[size:] if time.monotonic() < end else (), 2 * size


@dataclass(frozen=True)
class ChunkEnd:
    """What a worker answers: the keys that it was given, and what troubles them all.

    A worker without the store brings its points' `endings` along, for the owner to keep, and the name and text of a
    `training` that is new.
    """

    keys: tuple[str, ...] = ()
    trouble: str = ""
    endings: tuple[computations.Ending, ...] = ()
    training: tuple[str, str] = ("", "")


def computed(
    scenario: Scenario,
    how: How,
    data: Path | None,
    progress: Watcher,
    shelf: TrainingShelf | None = None,
    resume: StoppedRun | None = None,
) -> Result:
    """Run the scenario in full, or estimate it; imported late, so that waiting workers stay small."""
    if how == "estimate":
        from ..estimate import estimate

        quick: Result = estimate(scenario)
        return quick
    from ..simulate import simulate

    full: Result = simulate(scenario, data, progress, shelf, resume)
    return full


def settle(owner: int) -> None:
    """Prepare a fresh worker process that the process `owner` has started."""
    polite(owner)
    await_compiled()  # lest each worker compiles the same


def polite(owner: int) -> None:
    """Yield the processor to others, leave Ctrl-C to the process `owner`, and leave soon after it has died."""
    os.nice(NICENESS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":  # at once, and even if this process is stopped or busy in a kernel
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:  # it died before that
        os._exit(1)
    threading.Thread(target=_watch, args=(owner,), daemon=True).start()


def _watch(owner: int) -> None:
    while os.getppid() == owner:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def compute_chunk(chunk: Chunk) -> ChunkEnd:
    """Claim the chunk's points that are still wanted, compute them as long as it is time, and keep what they gave.

    Nothing is kept by a process of other code than its owner's, or one whose late imports may be of other code than it is.
    """
    if chunk.code != version.CODE:
        return ChunkEnd(chunk.keys, CHANGED)
    try:
        with opened(Path(chunk.store)) as store:
            shelf = StoreShelf(store) if chunk.functional_class else None
            stopped = partial(StoppedRunFile, Path(chunk.store))
            for names in chunk.parts():
                mine = computations.claim(store, chunk.turn.request, names)
                found = endings(chunk, mine, partial(_watcher, store), shelf, stopped)
                if version.code_has_changed():
                    return ChunkEnd(chunk.keys, CHANGED)
                computations.close(store, found)
                for key, ending, _ in found if chunk.turn.how == "full" else ():
                    if ending != "cancelled":
                        stopped(key).remove()
    except EmberpoolError as error:
        return ChunkEnd(chunk.keys, str(error))
    return ChunkEnd(chunk.keys)


def endings(
    chunk: Chunk,
    wanted: Collection[str],
    watcher: Callable[[str], Watcher],
    shelf: TrainingShelf | None = None,
    stopped: Callable[[str], StoppedRunFile] | None = None,
) -> tuple[computations.Ending, ...]:
    """Compute the wanted points of a chunk, together where that can be; needs no store, so it can be done on any computer.

    `stopped` names the file in which a point's cancelled training is kept, and from which it goes on.
    """
    these = set(wanted)
    points = {point.key: point.changes for point in chunk.points if point.key in these}
    alone = chunk.compute != COMPUTE or len(points) < (1 if chunk.turn.how == "estimate" else 2)
    together = {} if alone else _together(chunk, points, watcher)
    return tuple(
        (key, *(together.get(key) or _ending(chunk, text, watcher(key), shelf, stopped(key) if stopped else None)))
        for key, text in points.items()
    )


def _together(chunk: Chunk, points: Mapping[str, str], watcher: Callable[[str], Watcher]) -> dict[str, tuple[str, str]]:
    """How points ended that were computed together, by key; those in trouble are left out, to be tried alone."""
    try:
        scenarios = {key: _changed(_scenario(chunk.turn.base), changes) for key, changes in points.items()}
        found = _results(chunk.turn.how, scenarios, watcher)
        return {key: ("kept", row_text(result)) for key, result in found.items() if result.results}
    except Cancelled:  # by what one of them was told; others may still be wanted
        return {key: ("cancelled", "") for key in points if watcher(key)(Progress(0, 1, note="waits for others"))}
    except Exception:  # one of them: alone, each ends in its own way
        return {}


def _results(how: How, scenarios: Mapping[str, Scenario], watcher: Callable[[str], Watcher]) -> dict[str, Result]:
    if how == "estimate":
        from ..estimates import estimates

        return dict(zip(scenarios, estimates(list(scenarios.values())), strict=True))
    from ..full_runs import goes_along, runs

    some = {key: scenario for key, scenario in scenarios.items() if goes_along(scenario)}
    return dict(zip(some, runs(list(some.values()), True, watcher(next(iter(some)))), strict=True)) if some else {}


def _ending(
    chunk: Chunk, changes: str, watcher: Watcher, shelf: TrainingShelf | None, stopped: StoppedRunFile | None = None
) -> tuple[str, str]:
    """How one point ended, and its result or sentence. Every error ends here: a row, never a lost sweep."""
    data = Path(chunk.turn.data) if chunk.turn.data else None
    try:
        scenario = _changed(_scenario(chunk.turn.base), changes)
        data = Path(chunk.turn.data) if chunk.turn.data and scenario.data.digest else None  # no other key says so
        resume = stopped.load() if stopped and chunk.turn.how == "full" else None
        more = {name: found for name, found in (("shelf", shelf), ("resume", resume)) if found is not None}
        result = resolve_name(chunk.compute)(scenario, chunk.turn.how, data, watcher, **more)
        return "kept", row_text(result)
    except RunStopped as stop:
        return "cancelled", stopped.save(stop.run) if stopped else NOT_HERE
    except Cancelled:
        return "cancelled", ""
    except BadFile as error:
        return "failed", _outlined(error, data) if data else str(error)
    except EmberpoolError as error:
        return "failed", str(error)
    except MemoryError:
        return "failed", TOO_LARGE
    except Exception as error:  # a bug in one point must not end the others
        traceback.print_exc()
        said = "" if data else f": {error}"  # what Python says may quote the file, as a refusal does
        return "bug", f"{type(error).__name__}{said}. This is a bug in Emberpool; please report it with this scenario's link."


def _outlined(error: BadFile, data: Path) -> str:
    """Return a refusal without a byte of the data file: every visitor of a page reads what the store keeps."""
    from .outline import outlined

    return str(outlined(error, data))


def _watcher(store: sqlite3.Connection, key: str) -> Watcher:
    """Shows progress to viewers and answers whether to stop; a store in trouble is no reason to lose the run."""

    def watch(progress: Progress) -> bool:
        try:
            computations.report(store, key, progress)
            return not computations.wanted(store, key)
        except sqlite3.Error:
            return False

    return watch


@lru_cache(maxsize=8)
def _scenario(base: str) -> Scenario:
    return _changed(Scenario(), base)


def _changed(scenario: Scenario, changes: str) -> Scenario:
    return with_values(scenario, {path: knobs.parse(KNOBS[path], text) for path, text in knob_texts(changes).items()})
