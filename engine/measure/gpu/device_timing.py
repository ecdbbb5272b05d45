"""Timing of a device's operators, by the device's clock and by the host's clock.

For the device's clock, calls are queued behind a long product, so that the host's delays do not count.
"""

from collections.abc import Callable
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

from ..operators import Operator
from ..timing import MIN_SECONDS

PRODUCT_SIZE = 4096  # rows and columns of the product behind which calls are queued
MOST_CALLS, MAX_PRODUCTS = 100, 50  # calls between two events, fewer than a stream takes; products that they wait for
QUEUED_CALLS = 10  # calls of a round, few enough that no queue fills
Rounds = Callable[[Operator, int], list[float]]  # seconds of a call, in each of so many rounds


class DeviceTimer(NamedTuple):
    """Functions that time an operator; each returns the seconds of each round.

    working: seconds by the device's clock.
    queueing: seconds by the host's clock until a call is queued; the host does not wait for the device.
    waiting: seconds by the host's clock until a call is done.
    """

    working: Rounds
    queueing: Rounds
    waiting: Rounds


def cuda_timer(torch: Any, device: str) -> DeviceTimer:
    """Return the timer of the current GPU, by CUDA events."""
    factor = torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, device=device)
    product = torch.empty_like(factor)

    def synchronise() -> None:
        torch.cuda.synchronize(device)

    def between_events(work: Callable[[], object], num_products: int = 0) -> float:
        """Return the seconds of some work on the device, queued behind so many long products."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(num_products):
            torch.mm(factor, factor, out=product)
        start.record()
        work()
        end.record()
        synchronise()
        return float(start.elapsed_time(end)) / 1e3

    def working(operator: Operator, rounds: int) -> list[float]:
        operator.kernel()
        between_events(lambda: torch.mm(factor, factor, out=product))
        product_seconds = between_events(lambda: torch.mm(factor, factor, out=product))
        (call,) = _queueing_seconds(operator, 1, synchronise)
        calls = max(1, min(MOST_CALLS, round(MIN_SECONDS / max(between_events(operator.kernel), 1e-7))))
        num_products = min(MAX_PRODUCTS, ceil(2 * calls * call / max(product_seconds, 1e-5)))

        def repeated() -> None:
            for _ in range(calls):
                operator.kernel()

        return [between_events(repeated, num_products) / calls for _ in range(rounds)]

    def queueing(operator: Operator, rounds: int) -> list[float]:
        return _queueing_seconds(operator, rounds, synchronise)

    def waiting(operator: Operator, rounds: int) -> list[float]:
        def synchronised_call() -> None:
            operator.kernel()
            synchronise()

        return _queueing_seconds(operator._replace(kernel=synchronised_call), rounds, synchronise)

    return DeviceTimer(working, queueing, waiting)


def _queueing_seconds(operator: Operator, rounds: int, synchronise: Callable[[], None]) -> list[float]:
    """Return the host's seconds of a call in each round, after a warm-up call.

    The device is idle when a round begins.
    """
    operator.kernel()
    times: list[float] = []
    for _ in range(rounds):
        synchronise()
        start_time = perf_counter()
        for _ in range(QUEUED_CALLS):
            operator.kernel()
        times.append((perf_counter() - start_time) / QUEUED_CALLS)
    synchronise()
    return times
