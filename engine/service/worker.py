"""The worker: a process that computes some points and stores each result itself.

A worker never raises: each point ends with a result or a sentence. The worker has a low priority (nice), ignores Ctrl-C in the
terminal, which its owner handles, and ends soon after its owner has died.
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
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from pkgutil import resolve_name

from .. import version
from ..core.arithmetic import NUMPY, PYTHON
from ..core.process import TOO_LARGE
from ..errors import BadFile, Cancelled, EmberpoolError
from ..results.result import Result
from ..run.progress import Progress, Watcher
from ..run.shared_training import TrainingShelf
from ..run.training_curve import RunStopped, StoppedRun
from ..scenario import knobs
from ..scenario.keys import Fidelity
from ..scenario.scenario import KNOBS, Scenario, with_values
from ..store.database import open_store
from ..store.result_rows import knob_texts, row_text
from ..store.trainings import StoreShelf
from . import computations
from .kernels import await_compiled
from .queue import LiveRequest, OpenPoint
from .stopped_runs import StoppedRunFile

COMPUTE = f"{__name__}:compute_point"
CODE_CHANGED = "Emberpool's files have changed while it ran; start it again. Finished points are kept."
NOT_KEPT = "what it had learned is not kept by workers on other computers"
CHUNK_SECONDS = 0.25  # a worker asks for its next chunk after so long
NICENESS = 10
AUTOGROUP = Path("/proc/self/autogroup")
WATCH_SECONDS = 0.5
PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Chunk:
    """Some points of one request for one worker, which may not reach all of them.

    store: the path of the store.
    turn: the request.
    points: the points; a full run that shares the training of its `functional_class` is alone in its chunk.
    compute: the function that computes a point, as module:function.
    code: the digest of the owner's code.
    python, numpy: the owner's releases of Python and NumPy, such as 3.11 and 2.4.
    """

    store: str
    turn: LiveRequest
    points: tuple[OpenPoint, ...]
    compute: str = COMPUTE
    code: str = field(default_factory=lambda: version.CODE)
    python: str = PYTHON
    numpy: str = NUMPY

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the chunk's points."""
        return tuple(point.key for point in self.points)

    @property
    def functional_class(self) -> str | None:
        """The functional class whose training the chunk's point shares, or None."""
        return self.points[0].functional_class if self.points and self.turn.fidelity == "full" else None

    @property
    def trains(self) -> bool:
        """Whether a point of the chunk trains its model."""
        scenarios = (_with_changes(_scenario(self.turn.base), point.changes) for point in self.points)
        return self.turn.fidelity == "full" and any(scenario.run.training for scenario in scenarios)

    def parts(self) -> Iterator[tuple[str, ...]]:
        """Yield groups of keys to compute together, until CHUNK_SECONDS have passed.

        All estimates are one group. Of full runs the first group has one, and each next group twice as many.
        """
        rest, end = self.keys, time.monotonic() + CHUNK_SECONDS
        size = len(rest) if self.turn.fidelity == "estimate" else 1
        while rest:
            yield rest[:size]
            rest, size = rest[size:] if time.monotonic() < end else (), 2 * size


@dataclass(frozen=True)
class ChunkAnswer:
    """The answer of a worker about a chunk.

    keys: the keys of the chunk.
    trouble: a sentence on an error of the whole chunk, or "".
    endings: the endings of the points, if the worker has no store.
    training: name and JSON text of a new training, if the worker has no store.
    """

    keys: tuple[str, ...] = ()
    trouble: str = ""
    endings: tuple[computations.Ending, ...] = ()
    training: tuple[str, str] = ("", "")


def compute_point(
    scenario: Scenario,
    method: Fidelity,
    data_path: Path | None,
    progress: Watcher,
    shelf: TrainingShelf | None = None,
    resume: StoppedRun | None = None,
) -> Result:
    """Return the result of a full run or of an estimate.

    Modules are imported in the function, so that waiting workers use little memory.
    """
    if method == "estimate":
        from ..estimate import estimate

        estimate_result: Result = estimate(scenario)
        return estimate_result
    from ..simulate import simulate

    full_result: Result = simulate(scenario, data_path, progress, shelf, resume)
    return full_result


def prepare_worker(owner: int) -> None:
    """Prepare a new worker process, which the process `owner` has started."""
    lower_priority(owner)
    await_compiled()  # so that not every worker compiles the same


def lower_priority(owner: int) -> None:
    """Lower this process's priority, ignore Ctrl-C, and end when its owner dies.

    `owner` is the number of the owner's process.
    """
    os.nice(NICENESS)
    if AUTOGROUP.exists():  # then Linux divides the processor between sessions first: niceness counts within one
        with suppress(OSError):
            os.setsid()
            AUTOGROUP.write_text(str(NICENESS), encoding="ascii")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":  # at once, and even if this process is stopped or busy in a kernel
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:  # the owner died before that
        os._exit(1)
    threading.Thread(target=_watch, args=(owner,), daemon=True).start()


def _watch(owner: int) -> None:
    while os.getppid() == owner:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def compute_chunk(chunk: Chunk) -> ChunkAnswer:
    """Claim the wanted points of a chunk, compute them, and store their results.

    The worker begins no further group of points after CHUNK_SECONDS. If its code differs from the owner's, or its files have
    changed since its start, it stores no result.
    """
    if chunk.code != version.CODE:
        return ChunkAnswer(chunk.keys, CODE_CHANGED)
    try:
        with open_store(Path(chunk.store)) as store:
            shelf = StoreShelf(store) if chunk.functional_class else None
            stopped = partial(StoppedRunFile, Path(chunk.store))
            for names in chunk.parts():
                claimed_keys = computations.claim_points(store, chunk.turn.request, names)
                chunk_endings = point_endings(chunk, claimed_keys, partial(_watcher, store), shelf, stopped)
                if version.code_has_changed():
                    return ChunkAnswer(chunk.keys, CODE_CHANGED)
                computations.close_claims(store, chunk_endings)
                for key, ending, _ in chunk_endings if chunk.turn.fidelity == "full" else ():
                    if ending != "cancelled":
                        stopped(key).remove()
    except EmberpoolError as error:
        return ChunkAnswer(chunk.keys, str(error))
    return ChunkAnswer(chunk.keys)


def point_endings(
    chunk: Chunk,
    wanted_keys: Collection[str],
    watcher: Callable[[str], Watcher],
    shelf: TrainingShelf | None = None,
    stopped: Callable[[str], StoppedRunFile] | None = None,
) -> tuple[computations.Ending, ...]:
    """Compute the wanted points of a chunk, together where possible; return their endings.

    The function needs no store, so that any computer can run it.
    stopped: a function that returns the file of a point's cancelled run, from which the run continues.
    """
    key_set = set(wanted_keys)
    points = {point.key: point.changes for point in chunk.points if point.key in key_set}
    one_by_one = chunk.compute != COMPUTE or len(points) < (1 if chunk.turn.fidelity == "estimate" else 2)
    joint_endings = {} if one_by_one else _joint_endings(chunk, points, watcher)
    return tuple(
        (key, *(joint_endings.get(key) or _ending(chunk, text, watcher(key), shelf, stopped(key) if stopped else None)))
        for key, text in points.items()
    )


def _joint_endings(chunk: Chunk, points: Mapping[str, str], watcher: Callable[[str], Watcher]) -> dict[str, tuple[str, str]]:
    """Return the endings of points computed together, by key.

    Points in trouble are left out, to run alone.
    """
    try:
        scenarios = {key: _with_changes(_scenario(chunk.turn.base), changes) for key, changes in points.items()}
        results = _results(chunk.turn.fidelity, scenarios, watcher)
        return {key: ("kept", row_text(result)) for key, result in results.items() if result.results}
    except Cancelled:  # the watcher of one point cancelled all; the others may still be wanted
        return {key: ("cancelled", "") for key in points if watcher(key)(Progress(0, 1, note="waits for others"))}
    except Exception:  # the error of one point: each will run alone
        return {}


def _results(method: Fidelity, scenarios: Mapping[str, Scenario], watcher: Callable[[str], Watcher]) -> dict[str, Result]:
    if method == "estimate":
        from ..estimates import estimates

        return dict(zip(scenarios, estimates(list(scenarios.values())), strict=True))
    from ..full_runs import can_run_together, full_runs

    joint_scenarios = {key: scenario for key, scenario in scenarios.items() if can_run_together(scenario)}
    return (
        dict(
            zip(
                joint_scenarios,
                full_runs(list(joint_scenarios.values()), True, watcher(next(iter(joint_scenarios)))),
                strict=True,
            )
        )
        if joint_scenarios
        else {}
    )


def _ending(
    chunk: Chunk, changes: str, watcher: Watcher, shelf: TrainingShelf | None, stopped: StoppedRunFile | None = None
) -> tuple[str, str]:
    """Return one point's ending, and its result or sentence. Every error ends here as a row of the store."""
    data_path = Path(chunk.turn.data_path) if chunk.turn.data_path else None
    try:
        scenario = _with_changes(_scenario(chunk.turn.base), changes)
        data_path = (
            Path(chunk.turn.data_path) if chunk.turn.data_path and scenario.data.digest else None
        )  # only the key of a point with a digest depends on the file
        resume = stopped.load() if stopped and chunk.turn.fidelity == "full" else None
        options = {name: argument for name, argument in (("shelf", shelf), ("resume", resume)) if argument is not None}
        result = resolve_name(chunk.compute)(scenario, chunk.turn.fidelity, data_path, watcher, **options)
        return "kept", row_text(result)
    except RunStopped as stop:
        return "cancelled", stopped.save(stop.run) if stopped else NOT_KEPT
    except Cancelled:
        return "cancelled", ""
    except BadFile as error:
        return "failed", _outline_text(error, data_path) if data_path else str(error)
    except EmberpoolError as error:
        return "failed", str(error)
    except MemoryError:
        return "failed", TOO_LARGE
    except Exception as error:  # a bug in one point must not end the others
        traceback.print_exc()
        detail = "" if data_path else f": {error}"  # Python's message may quote the file, as a refusal does
        return "bug", f"{type(error).__name__}{detail}. This is a bug in Emberpool; please report it with this scenario's link."


def _outline_text(error: BadFile, data_path: Path) -> str:
    """Return a refusal without any content of the data file.

    Every visitor can read the store's texts.
    """
    from .outline import outline_refusal

    return str(outline_refusal(error, data_path))


def _watcher(store: sqlite3.Connection, key: str) -> Watcher:
    """Return a watcher that writes progress for viewers and returns whether to stop.

    Errors of the store are ignored, so that the run is not lost.
    """

    def watch(progress: Progress) -> bool:
        try:
            computations.report_progress(store, key, progress)
            return not computations.is_wanted(store, key)
        except sqlite3.Error:
            return False

    return watch


@lru_cache(maxsize=8)
def _scenario(base: str) -> Scenario:
    return _with_changes(Scenario(), base)


def _with_changes(scenario: Scenario, changes: str) -> Scenario:
    return with_values(scenario, {path: knobs.parse(KNOBS[path], text) for path, text in knob_texts(changes).items()})
