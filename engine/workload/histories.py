"""Lengths of users' histories: a log-normal law, cut at the longest history that is kept.

The law is given by the mean and the spread of the kept lengths, as knobs and files have them. Its parameters follow from both: a
history longer than the cap counts as one of the cap's length.
"""

from collections import Counter
from functools import lru_cache
from math import erfc, exp, fsum, inf, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

from ..core.arithmetic import total
from ..core.figures import exact
from ..core.points.numbers import as_float
from ..core.work import SequenceShape
from ..errors import BadKnob
from ..scenario.scenario import Scenario, is_sequential, per_table
from .bags import length_cv

MOST_SIGMA, STEPS = 12.0, 200
POINTS = 4001  # of the integral over the largest of several normal numbers


class HistoryLaw(NamedTuple):
    """The law of history lengths, in events.

    mean: the mean length. cv: the standard deviation over the mean. cap: the longest history, infinite without one.
    mu, sigma: mean and standard deviation of the logarithm of lengths before the cut; sigma is 0 for equal lengths.
    """

    mean: float
    cv: float
    cap: float
    mu: float
    sigma: float

    def moment(self, power: int) -> float:
        """Return the mean of length to the `power`."""
        if not self.sigma:
            return self.mean**power
        return _clipped_moment(self.mu, self.sigma, self.cap, power)

    def share_up_to(self, events: int) -> float:
        """Return the share of histories of at most `events`, rounded to whole events."""
        if events >= self.cap or not self.sigma:
            return float(events >= min(self.mean, self.cap))
        return _below((log(events + 0.5) - self.mu) / self.sigma)


def history_law(s: Scenario) -> HistoryLaw:
    """Return the law of the longest sequence feature's lengths; raises BadKnob for an impossible spread."""
    columns = zip(per_table(s.model, "feature_kind"), per_table(s.model, "pooling"), length_cv(s), strict=True)
    mean, cv = max((float(lookups), cv) for kind, lookups, cv in columns if kind == "sequence")
    return cut_law(mean, cv, float(s.data.history_cap or inf))


def widest_spread(mean: float, cap: float) -> float:
    """Return the largest coefficient of variation with this mean and cap."""
    return _spread(mean, MOST_SIGMA, cap) if mean < cap else 0.0


@lru_cache(maxsize=64)
def cut_law(mean: float, cv: float, cap: float) -> HistoryLaw:
    """Return the law with this mean and spread of lengths up to `cap`; raises BadKnob."""
    if mean > cap:
        raise BadKnob(
            f"data.history_cap={cap:g} is below the mean history of {exact(mean)} events; raise it or lower model.pooling."
        )
    if not cv:
        return HistoryLaw(mean, 0.0, cap, log(mean), 0.0)
    if cap == inf:
        sigma = sqrt(log(1 + cv**2))
        return HistoryLaw(mean, cv, cap, log(mean) - sigma**2 / 2, sigma)
    most_cv = sqrt(cap / mean - 1)
    low, high = 0.0, MOST_SIGMA
    if cv >= _spread(mean, high, cap):
        raise BadKnob(
            f"data.bag_length_cv={cv:g} is too wide for histories of {exact(mean)} events on average and at most {exact(cap)}; "
            f"lower it below {exact(round(most_cv, 3))}, or raise data.history_cap."
        )
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _spread(mean, middle, cap) < cv else (low, middle)
    return HistoryLaw(mean, cv, cap, _location(mean, high, cap), high)


def _spread(mean: float, sigma: float, cap: float) -> float:
    """Return the coefficient of variation of clipped lengths with this mean."""
    square = _clipped_moment(_location(mean, sigma, cap), sigma, cap, 2)
    return sqrt(max(square / mean**2 - 1, 0.0))


def _location(mean: float, sigma: float, cap: float) -> float:
    """Return the mean logarithm at which clipped lengths have this mean."""
    low, high = log(mean) - sigma**2 - 1, log(cap) + 40 * (1 + sigma)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _clipped_moment(middle, sigma, cap, 1) < mean else (low, middle)
    return high


def _clipped_moment(mu: float, sigma: float, cap: float, power: int) -> float:
    """Return the mean of min(length, cap) to the `power` for a log-normal length."""
    whole = power * mu + power**2 * sigma**2 / 2
    if cap == inf:
        return exp(whole)
    distance = (log(cap) - mu) / sigma
    log_below = whole + log(max(_below(distance - power * sigma), 1e-300))
    return exp(min(log_below, 700.0)) + cap**power * _below(-distance)


def _below(x: float) -> float:
    """Return the probability that a standard normal number is below `x`."""
    return erfc(-x / sqrt(2)) / 2


@lru_cache(maxsize=256)
def largest_normal(parts: int) -> float:
    """Return the expected largest of `parts` independent standard normal numbers."""
    normal, quantiles = NormalDist(), ((point + 0.5) / POINTS for point in range(POINTS))
    return fsum(normal.inv_cdf(quantile ** (1 / parts)) for quantile in quantiles) / POINTS if parts > 1 else 0.0


def history_shape(s: Scenario) -> SequenceShape | None:
    """Return the layers that read histories; None for a model without histories."""
    model = s.model
    if not is_sequential(model):
        return None
    columns = zip(*(per_table(model, name) for name in ("feature_kind", "pooling", "embedding_dim", "features")), strict=True)
    contexts, histories = Counter[int]({model.bottom_mlp[-1]: 1}), list[tuple[int, int]]()
    for kind, lookups, dim, features in columns:
        if kind == "sequence":
            histories.append((lookups, dim))
        else:
            contexts[dim] += features
    events = max(lookups for lookups, _ in histories)
    others, law, times = total(contexts.values()), history_law(s), model.event_positions
    users = s.data.batch_size / s.machine.num_gpus / s.data.samples_per_user
    spread = 0.0 if s.policy.balanced_histories else largest_normal(s.machine.num_gpus) / sqrt(max(users, 1.0))
    return SequenceShape(
        events=as_float(events),
        positions=as_float(times * events + others),
        squares=as_float(times**2 * law.moment(2) + 2 * times * events * others + others**2),
        uneven_events=1 + spread * law.cv,
        uneven_squares=1 + spread * sqrt(max(law.moment(4) / law.moment(2) ** 2 - 1, 0.0)),
        event_width=total(dim for _, dim in histories),
        contexts=tuple((count, dim) for dim, count in sorted(contexts.items())),
        layers=model.hstu_layers,
        dim=model.hstu_dim,
        heads_dim=model.hstu_heads * model.hstu_head_dim,
        gated=3 if model.hstu_concat else 1,
    )
