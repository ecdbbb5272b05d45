"""The error bar of an estimate: the difference of a full run by chance.

A full run draws ids; an estimate only has the expected number of each event. Rows that are used, missed, or found in some memory
are counts of events with unequal probabilities, whose variance is at most their mean; popular samples are binomial. The estimate
is repeated with each of these amounts raised, and lowered, by three standard deviations of its mean over the run's batches. The
larger of the two differences counts, and the squares of all differences are summed. Where parts share a table's rows, the
busiest part of each batch has more than the expected rows of any part; that adds to the bar. A cache smaller than a batch keeps
the rows of the last tables, which the expected number of misses does not know.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..amounts.expected import deal_batches, expected_amounts, unlike_batch_shares
from ..core.arrays import Floats
from ..estimates import averages_of_points
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, NotScheduled, evaluate, plan
from ..schedule.machine import ready_machine
from ..schedule.window import run_window
from ..systems.system import Settled, cache_policy
from ..systems.table_placement import TablePlacement
from ..systems.traffic import SKEWS, Traffic

METRICS = ("Step time [ms]", "Energy per batch [J]")
DEVIATIONS = 3.0
FORM = 2.5  # %; the formulas of caches and popular samples err by at most 2.1 over all presets, systems, lengths
ORDER = 0.12  # of the misses of a cache smaller than a batch, by the tables' order; measured, .2 % where it holds a batch
MISSED = ("misses", "evicted", "missed_lookups", "refused")
POPULAR = ("popular", "popular_lookups")


def error_bar(scenario: Scenario) -> Mapping[str, float]:
    """Return the percentage by which a full run may differ from its estimate, by result.

    Raises CannotRun where the scenario does not fit.
    """
    m, batches = ready_machine(scenario), scenario.run.batches
    traffic, samples = expected_amounts(m.settled), m.scenario.data.batch_size
    window_batches, stretch = run_window(m.log_policy, batches, unlike_batch_shares(traffic, samples))
    traffic_variants = (
        *_chance_variants(traffic, samples, batches - 2 if batches > 2 else batches, _order(m.settled, traffic)),
        *_uneven_traffic(m.settled.placement, traffic),
    )
    amounts = [deal_batches(variant, samples, window_batches) for variant in (traffic, *traffic_variants)]
    plans = [plan(m.settled, batch_amounts, batch_amounts, stretch) for batch_amounts in amounts]
    outcomes = evaluate([DesignPoint(scenario, m, batch_plan) for batch_plan in plans], averages_of_points)
    pairs = np.array([(outcome.step, outcome.energy) for outcome in outcomes if not isinstance(outcome, NotScheduled)])
    deviations = np.abs(pairs[1:] / pairs[0] - 1).reshape(-1, 2, len(METRICS)).max(axis=1)
    return dict(zip(METRICS, (FORM + 100 * np.sqrt((deviations**2).sum(axis=0))).tolist(), strict=True))


def _order(settled: Settled, traffic: Traffic) -> float:
    """Return the share of misses that depends on the order of a batch's tables."""
    s, cache = settled.scenario, settled.system.cache
    depends = cache is not None and cache_policy(s, cache) == "lru" and cache.rows(s) < traffic.rows.min()
    return ORDER if depends else 0.0


def _chance_variants(traffic: Traffic, samples: int, batches: int, order: float) -> Iterator[Traffic]:
    """Yield the traffic with each random amount higher, then lower.

    The amounts are rows used, rows missed, rows by memory, and popular samples. Misses differ by the share `order`, too.
    """
    for names, mean, spread in (
        (("rows", "cold"), traffic.rows, 1.0),
        (MISSED, traffic.misses, 1.0),
        (("missed_lines", "written_back_lines"), traffic.missed_lines, 1.0),
        (("clean_lines",), traffic.clean_lines, 1.0),
        (("levels",), traffic.levels, 1.0),
        (POPULAR, traffic.popular * samples, np.sqrt(1 - traffic.popular)),
    ):
        if not mean.any():
            continue
        deviation = DEVIATIONS * spread / np.sqrt(np.maximum(mean, 1e-9) * batches) + order * (names == MISSED)
        for factor in (1 + deviation, np.maximum(1 - deviation, 0.0)):
            scaled_amounts: dict[str, Any] = {name: _scaled_amount(traffic, name, factor) for name in names}
            yield replace(traffic, **scaled_amounts)


def _uneven_traffic(placement: TablePlacement, traffic: Traffic) -> Iterator[Traffic]:
    """Yield the traffic with the load of the busiest part, then as it is.

    Only where parts share rows: one of them has more in each batch. The largest of P counts of mean n is expected some
    sqrt(2 n ln P) above n.
    """
    balance = placement.balance
    if balance and (balance.pieces.place < 0).any():
        skew_factors = (
            1 + np.sqrt(2 * np.log(balance.parts.number) / amounts.max()) for amounts in (balance.lookups, balance.rows)
        )
        yield replace(
            traffic, **{name: getattr(traffic, name) * factor for name, factor in zip(SKEWS, skew_factors, strict=True)}
        )
        yield traffic


def _scaled_amount(traffic: Traffic, name: str, factor: Floats) -> Floats:
    """Return an amount of the traffic times a factor, at most its limit.

    No more rows are missed than used, and no more samples are popular than there are.
    """
    limit = 1.0 if name in POPULAR else traffic.rows if name in ("misses", "evicted", "refused") else np.inf
    scaled_amount: Floats = np.minimum(getattr(traffic, name) * factor, limit)
    return scaled_amount
