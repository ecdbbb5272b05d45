"""An estimate's own error bar: how far a run may be from it by chance, as a run draws ids that an estimate expects, and by form.

Rows that are used, missed, or found in some memory are counts of unlike events, whose variance is at most their mean; samples
that are popular are binomial. The estimate is made again with each of them three standard deviations of their mean over the
run's batches higher, and lower: the larger of the two differences counts, and the squares of all add up. Where parts share a
table's rows, the part that has most of a batch has more than any is expected to have, in every batch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..amounts.expected import dealt, expected_amounts, unlike
from ..core.arrays import Floats
from ..estimates import averages
from ..scenario.scenario import Scenario
from ..schedule.evaluate import DesignPoint, NotScheduled, evaluate, plan
from ..schedule.machine import ready
from ..schedule.window import run_window
from ..systems.table_placement import TablePlacement
from ..systems.traffic import SKEWS, Traffic

METRICS = ("Step time [ms]", "Energy per batch [J]")
DEVIATIONS = 3.0
FORM = 2.5  # %; beyond chance caches' and popular samples' mathematics left at most 2.1 over all presets, systems, lengths
MISSED = ("misses", "evicted", "missed", "refused")
POPULAR = ("popular", "popular_lookups")


def error_bar(scenario: Scenario) -> Mapping[str, float]:
    """Return by how many percent a run may differ from its estimate, by result; raises CannotRun where it does not fit."""
    m, batches = ready(scenario), scenario.run.batches
    one, samples = expected_amounts(m.settled), m.scenario.data.batch_size
    shown, stretch = run_window(m.log_policy, batches, unlike(one, samples))
    drawn = *_drawn(one, samples, batches - 2 if batches > 2 else batches), *_uneven(m.settled.placement, one)
    amounts = [dealt(each, samples, shown) for each in (one, *drawn)]
    plans = [plan(m.settled, each, each, stretch) for each in amounts]
    found = evaluate([DesignPoint(scenario, m, each) for each in plans], averages)
    pairs = np.array([(each.step, each.energy) for each in found if not isinstance(each, NotScheduled)])
    apart = np.abs(pairs[1:] / pairs[0] - 1).reshape(-1, 2, len(METRICS)).max(axis=1)
    return dict(zip(METRICS, (FORM + 100 * np.sqrt((apart**2).sum(axis=0))).tolist(), strict=True))


def _drawn(one: Traffic, samples: int, batches: int) -> Iterator[Traffic]:
    """Yield the traffic with more rows used, and with fewer; then so with rows missed, rows by memory, and popular samples."""
    for names, mean, spread in (
        (("rows", "cold"), one.rows, 1.0),
        (MISSED, one.misses, 1.0),
        (("fetched", "returned"), one.fetched, 1.0),
        (("clean",), one.clean, 1.0),
        (("levels",), one.levels, 1.0),
        (POPULAR, one.popular * samples, np.sqrt(1 - one.popular)),
    ):
        if not mean.any():
            continue
        far = DEVIATIONS * spread / np.sqrt(np.maximum(mean, 1e-9) * batches)
        for factor in (1 + far, np.maximum(1 - far, 0.0)):
            changed: dict[str, Any] = {name: _scaled(one, name, factor) for name in names}
            yield replace(one, **changed)


def _uneven(placement: TablePlacement, one: Traffic) -> Iterator[Traffic]:
    """Yield the traffic with one part having more, as of parts that share rows one always has, batch by batch; and as it is.

    The largest of P counts of mean n is expected some sqrt(2 n ln P) above it.
    """
    balance = placement.balance
    if balance and (balance.pieces.place < 0).any():
        more = (1 + np.sqrt(2 * np.log(balance.parts.number) / each.max()) for each in (balance.lookups, balance.rows))
        yield replace(one, **{name: getattr(one, name) * factor for name, factor in zip(SKEWS, more, strict=True)})
        yield one


def _scaled(one: Traffic, name: str, factor: Floats) -> Floats:
    """Return an amount times a factor; no more rows are missed than used, and no more samples popular than there are."""
    most = 1.0 if name in POPULAR else one.rows if name in ("misses", "evicted", "refused") else np.inf
    found: Floats = np.minimum(getattr(one, name) * factor, most)
    return found
