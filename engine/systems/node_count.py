"""How many nodes a model needs: for its capacity, and for a throughput asked for."""

from collections.abc import Callable
from dataclasses import replace

from ..registry import load
from ..scenario.scenario import KNOBS, Scenario, with_values
from .capacity import Fit, fit

MOST_NODES = 128
PATIENCE = 2  # nodes are added until this many times the best count has brought no more


def on(scenario: Scenario, count: int) -> Scenario:
    """Return the scenario on `count` whole nodes, with no throughput to reach."""
    gpus = count * scenario.machine.gpus_per_node
    return with_values(scenario, {"machine.num_gpus": gpus, "machine.target_throughput": None})


def for_capacity(scenario: Scenario, most: int = MOST_NODES) -> int | None:
    """Return the fewest nodes whose memories hold the model; None if it takes more than `most`."""
    if fit(on(scenario, most)).problems:
        return None
    return _least(0, most, lambda count: not fit(on(scenario, count)).problems)


def sized(scenario: Scenario, throughput: Callable[[Scenario], float]) -> Fit:
    """Fit a scenario on the fewest nodes that hold it and reach its target, by `throughput` of a settled scenario.

    A second node can be slower than one alone, because the two have to talk: so counts are tried upwards, one by one
    at first, later in steps of an eighth, within which more nodes are taken to be faster.
    """
    target, most = scenario.machine.target_throughput, _most(scenario)
    if target is None or not load("systems", scenario.system).scales:
        return fit(scenario)
    first = for_capacity(scenario, most)
    if first is None:
        return fit(on(scenario, most))

    def reached(count: int) -> float:
        return throughput(fit(on(scenario, count)).scenario)

    low, high, best, fastest = first - 1, first, first, 0.0
    while high <= min(most, PATIENCE * best + 1):
        rate = reached(high)
        if rate >= target:
            return fit(on(scenario, _least(low, high, lambda count: reached(count) >= target)))
        best, fastest = (high, rate) if rate > fastest else (best, fastest)
        low, high = high, high + max(1, high // 8)
    return replace(fit(on(scenario, best)), problems=(_too_much(scenario, best, fastest),))


def _least(low: int, high: int, enough: Callable[[int], bool]) -> int:
    """Return the least count above `low` that is enough; `high` is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _most(scenario: Scenario) -> int:
    return max(1, min(MOST_NODES, int(KNOBS["machine.num_gpus"].high or 1) // scenario.machine.gpus_per_node))


def _too_much(scenario: Scenario, nodes: int, fastest: float) -> str:
    return (
        f"machine.target_throughput={scenario.machine.target_throughput:g} samples/s is out of reach: system={scenario.system} "
        f"trains {fastest:.3g} samples/s on {nodes} node{'s' if nodes > 1 else ''}, and more do not help; lower it, or choose "
        "a faster network."
    )
