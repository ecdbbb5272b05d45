"""A benchmark: the same work by us and by a peer, interleaved in one process, results compared before time counts."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any, Literal

ROUNDS = 5


@dataclass(frozen=True)
class Benchmark:
    """What a benchmark file exports: `run` returns our seconds, the peer's, and whether results were equal.

    `needs` is the peer's module; without it the benchmark is skipped with a sentence. Ratio = peer / ours.
    `clock` is what the seconds are of: one process's "processor", or the "wall", where browsers and workers take part.
    """

    name: str
    title: str
    peer_name: str
    needs: str
    target: float
    stretch: float
    run: Callable[[], tuple[float, float, bool]]
    clock: Literal["processor", "wall"] = "processor"


@contextmanager
def by_itself() -> Iterator[None]:
    """Set what is there aside from the garbage collector, which a peer's objects let run: it shall go through these alone."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def interleaved(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the median CPU seconds of both, run in turns after one warm-up of each."""
    ours()
    peer()
    times: tuple[list[float], list[float]] = ([], [])
    with by_itself():
        for _ in range(rounds):
            for spent, work in zip(times, (ours, peer), strict=True):
                start = process_time()
                work()
                spent.append(process_time() - start)
    return median(times[0]), median(times[1])
