"""A benchmark: Emberpool and a peer do the same work, in turn, in one process.

Times only count if both have the same results.
"""

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
    """The definition that a benchmark file exports.

    name, title: the benchmark's name, and its title.
    peer_name, needs: the peer's name and its module; without the module the benchmark is skipped with a sentence.
    target, stretch: the ratio to reach, and a more ambitious one. The ratio is the peer's seconds over Emberpool's.
    run: returns Emberpool's seconds, the peer's seconds, and whether results were equal.
    clock: "processor" for seconds of one process, "wall" for elapsed time where browsers and workers take part.
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
    """Hide all existing objects from the garbage collector during the block.

    A peer's objects may trigger a collection, which shall then only visit objects of the block.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def interleaved(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the median CPU seconds of `ours` and of `peer`.

    Both are run in turn for some rounds, after one warm-up of each.
    """
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
