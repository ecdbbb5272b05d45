"""P10: what recovery would restore at every persisted line of a run of 10,000 rows, beside copy, recover and compare."""

from collections.abc import Callable
from functools import cache
from statistics import median
from time import process_time

from benchmarks.benchmark import Benchmark
from benchmarks.crash_trace import Trace
from engine.crashcheck.judge import mismatch
from engine.crashcheck.reference_run import Configuration, Journal, ReferenceRun, Size, reference_run, train, write_start
from engine.persistence.crash_media import CrashMedia
from engine.persistence.media import FunctionalMedia
from engine.persistence.recovery import recover

# Rows of dlrm-terabyte's length, and an MLP about as large as dlrm-kaggle's.
SIZE = Size(num_rows=10_000, dim=128, mlp_bytes=2 * 1024 * 1024, batches=6, touched_rows=1000)
ROUNDS, SAMPLES = 5, 12


@cache
def reference() -> ReferenceRun:
    """Return the run."""
    return reference_run(Configuration(), 1, SIZE)


class Stopwatch:
    """Calls a watch, and adds up the CPU seconds that it takes."""

    def __init__(self, watch: Callable[[CrashMedia], None]) -> None:
        self.watch, self.spent = watch, 0.0

    def __call__(self, media: CrashMedia) -> None:
        """Time one call."""
        before = process_time()
        self.watch(media)
        self.spent += process_time() - before


def train_through(traced: bool) -> tuple[float, float, Trace, CrashMedia]:
    """Train without a crash; returns CPU seconds of the run and of following it, and what was followed."""
    start = FunctionalMedia(reference().layout.nbytes)
    write_start(reference(), start)
    journal = Journal()
    trace = Trace(reference(), journal)
    watch = Stopwatch(trace)
    media = CrashMedia(start.durable, watch=watch if traced else None)
    if traced:
        trace.begin(media)
    before = process_time()
    train(reference(), media, 0, journal)
    return process_time() - before, watch.spent, trace, media


def one_by_one(media: CrashMedia) -> tuple[float, bool]:
    """Copy, recover and compare at some points; returns CPU seconds of one, and whether it was right."""
    spent, right = [], True
    for _ in range(SAMPLES):
        before = process_time()
        copied = FunctionalMedia(media.durable)
        found = recover(copied, reference().layout, "undo", scan="always")
        right &= not mismatch(reference(), found, 0)
        spent.append(process_time() - before)
    return median(spent), right


def run() -> tuple[float, float, bool]:
    """Follow a run; seconds are of one point. It must not cost half as much again as the run alone."""
    plain = min(train_through(False)[0] for _ in range(ROUNDS))
    runs = [train_through(True) for _ in range(ROUNDS)]
    _, _, trace, media = runs[0]
    ours, traced = (median(spent) for spent in zip(*((follow, whole) for whole, follow, _, _ in runs), strict=True))
    peer, right = one_by_one(media)
    return ours / trace.points, peer, right and not trace.problem and traced <= 1.5 * plain


BENCHMARK = Benchmark("P10", "one crash point of 10,000 rows", "copy, recover, compare", "", 1e5, 1e6, run)
