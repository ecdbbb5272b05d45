"""Timing of a device's operators: by its own clock around calls that are queued behind a long product, and by the host's."""

from collections.abc import Callable
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

from ..operators import Operator
from ..timing import LEAST

LONG = 4096  # rows and columns of the product behind which calls are queued
MOST_CALLS, MOST_LONG = 100, 50  # calls between two events, fewer than a stream takes; products that they wait for
QUEUED_CALLS = 10  # so few that no queue fills
Rounds = Callable[[Operator, int], list[float]]  # seconds of a call, in each of so many rounds


class DeviceTimer(NamedTuple):
    """Functions that time an operator for some rounds.

    working: seconds of the device. queueing: seconds of the host until a call is queued, the device not awaited.
    waiting: seconds of the host until a call is done.
    """

    working: Rounds
    queueing: Rounds
    waiting: Rounds


def cuda_timer(torch: Any, device: str) -> DeviceTimer:
    """Return the timer of a GPU, by CUDA events; the GPU has to be the current one."""
    factor = torch.randn(LONG, LONG, device=device)
    product = torch.empty_like(factor)

    def synchronise() -> None:
        torch.cuda.synchronize(device)

    def between_events(work: Callable[[], object], before: int = 0) -> float:
        """Return the seconds of some work on the device, queued behind so many long products."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(before):
            torch.mm(factor, factor, out=product)
        start.record()
        work()
        end.record()
        synchronise()
        return float(start.elapsed_time(end)) / 1e3

    def working(operator: Operator, rounds: int) -> list[float]:
        operator.kernel()
        between_events(lambda: torch.mm(factor, factor, out=product))
        ahead = between_events(lambda: torch.mm(factor, factor, out=product))
        (call,) = _queued(operator, 1, synchronise)
        calls = max(1, min(MOST_CALLS, round(LEAST / max(between_events(operator.kernel), 1e-7))))
        before = min(MOST_LONG, ceil(2 * calls * call / max(ahead, 1e-5)))

        def repeated() -> None:
            for _ in range(calls):
                operator.kernel()

        return [between_events(repeated, before) / calls for _ in range(rounds)]

    def queueing(operator: Operator, rounds: int) -> list[float]:
        return _queued(operator, rounds, synchronise)

    def waiting(operator: Operator, rounds: int) -> list[float]:
        def done() -> None:
            operator.kernel()
            synchronise()

        return _queued(operator._replace(kernel=done), rounds, synchronise)

    return DeviceTimer(working, queueing, waiting)


def _queued(operator: Operator, rounds: int, synchronise: Callable[[], None]) -> list[float]:
    """Return the host's seconds of a call in each round, after a call that warms up; the device is idle when a round begins."""
    operator.kernel()
    times: list[float] = []
    for _ in range(rounds):
        synchronise()
        begun = perf_counter()
        for _ in range(QUEUED_CALLS):
            operator.kernel()
        times.append((perf_counter() - begun) / QUEUED_CALLS)
    synchronise()
    return times
