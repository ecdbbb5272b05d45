"""Constants of parts, fitted to timings of single operators, never to a training step."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls

from ..core.arrays import Floats
from ..core.constants import Confidence
from ..core.figures import count, percent
from ..units import GB, NS, US
from .timing import Timing

LAYER_KERNELS = 6  # kernels of a layer with its update, as `hardware.layers` counts them
START_SAMPLES = (16.0, 256.0)


class TimedOperator(NamedTuple):
    """The kind, amounts and timing of one operator.

    Amounts are calls, FLOP, bytes or lookups by name.
    """

    kind: str
    amounts: dict[str, float]
    timing: Timing


class MeasuredFigure(NamedTuple):
    """A fitted constant with its range, a note and its confidence.

    value: the constant, in the catalogue's unit.
    low, high: a range by the spread of timings and the fit's own error.
    note: the operators that the constant was fitted to.
    confidence: a confidence of the catalogue; "derived" or "unsourced" where nothing was timed.
    """

    value: float
    low: float
    high: float
    note: str
    confidence: Confidence = "measured"


def fit_figures(timed: Sequence[TimedOperator], cores: int) -> dict[str, MeasuredFigure]:
    """Return the fitted constants by key, in the catalogue's units.

    They belong to the host, its memory, the library and the framework.
    """
    return {**_fit_layers(timed, cores), **_call_costs(timed), **_fit_tables(timed), **_fit_vector_pairs(timed)}


def operators_of_kind(timed: Sequence[TimedOperator], *kinds: str) -> list[TimedOperator]:
    """Return the operators whose kind is one of `kinds`."""
    return [operator for operator in timed if operator.kind in kinds]


def uncertain_figure(constant: float, error: float, note: str) -> MeasuredFigure:
    """Return a constant with the range of a relative `error` to both sides."""
    error = min(max(error, 0.02), 0.9)
    return MeasuredFigure(constant, constant * (1 - error), constant * (1 + error), note)


def share_figure(share: float, error: float, note: str) -> MeasuredFigure:
    """Return a share, at most 1, with the range of a relative `error` to both sides."""
    figure = uncertain_figure(min(share, 1.0), error, note)
    return figure._replace(high=min(figure.high, 1.0))


def median_spread(operators: Sequence[TimedOperator]) -> float:
    """Return the median of the operators' spreads, as a share of their times."""
    return float(np.median([operator.timing.spread for operator in operators])) if operators else 0.0


def _fit_layers(timed: Sequence[TimedOperator], cores: int) -> dict[str, MeasuredFigure]:
    """Fit products of layers: a fixed time, a rate, and samples to fetch weights again.

    The samples are those for which a core fetches a layer's weights anew.
    """
    products = operators_of_kind(timed, "product")
    flop, weights, seconds = (
        np.array(values)
        for values in zip(
            *((product.amounts["flop"], product.amounts["weights"], product.timing.seconds) for product in products), strict=True
        )
    )

    def predicted(logs: Floats) -> Floats:
        fixed, rate, samples = np.exp(logs)
        call_seconds: Floats = fixed + (flop + 2 * samples * weights) / rate
        return call_seconds

    def error(logs: Floats) -> float:
        return float(np.abs(np.log(predicted(logs) / seconds)).sum())

    fastest = float((flop / seconds).max())
    starts = [np.log([5e-6, 0.8 * fastest, samples]) for samples in START_SAMPLES]
    best_fit = min(
        (minimize(error, start, method="Nelder-Mead", options={"maxiter": 4000}) for start in starts), key=lambda fit: fit.fun
    )
    _, rate, samples = np.exp(best_fit.x)
    fit_error = float(np.median(np.abs(predicted(best_fit.x) / seconds - 1)))
    note = f"{count(len(products), 'product')} of layers, off by {percent(fit_error)} in the median"
    peak = max(fastest, rate)
    return {
        "fp32-peak-a-core": uncertain_figure(peak / cores / 1e9, median_spread(products), "the fastest product of a layer"),
        "GEMM-share-of-peak": share_figure(rate / peak, min(fit_error, 1 - 1e-9), note),
        "GEMM-extra-samples": uncertain_figure(samples, fit_error, note),
    }


def _call_costs(timed: Sequence[TimedOperator]) -> dict[str, MeasuredFigure]:
    """Return the costs of a layer's kernel and of the loss.

    A kernel's share is even over forward, backward and update.
    """
    layer_calls, update = (operators_of_kind(timed, kind)[0] for kind in ("layer calls", "update calls"))
    layer = layer_calls.timing.seconds / layer_calls.amounts["layers"] + 2 * update.timing.seconds / update.amounts["parameters"]
    loss = operators_of_kind(timed, "loss calls")[0]
    return {
        "layer-launch": uncertain_figure(
            layer / LAYER_KERNELS / US, layer_calls.timing.spread, "tiny layers, forward, backward and update by SGD"
        ),
        "training-loop": uncertain_figure(
            loss.timing.seconds / 1e-3, loss.timing.spread, "the loss of two samples, forward and backward"
        ),
    }


def unit_costs(operators: Sequence[TimedOperator], *amounts: str) -> Floats:
    """Return the seconds of one unit of each amount, none below 0.

    A fit by least relative errors: an operator's seconds are the sum of its amounts times these costs.
    """
    matrix = np.array([[operator.amounts[name] for name in amounts] for operator in operators])
    seconds = np.array([operator.timing.seconds for operator in operators])
    scale = np.maximum(matrix.max(axis=0), 1e-30)
    costs: Floats = nnls(matrix / scale / seconds[:, None], np.ones(len(operators)))[0] / scale
    return costs


def _fit_tables(timed: Sequence[TimedOperator]) -> dict[str, MeasuredFigure]:
    """Fit lookups and updates of tables by calls, lookups, bytes and new lines.

    A new line is one of a row that the batch has not touched yet.
    """
    parts = "calls", "lookups", "bytes", "new lines"
    lookup, gradient = (unit_costs(operators_of_kind(timed, kind), *parts) for kind in ("lookup", "gradient"))
    spread = median_spread(operators_of_kind(timed, "lookup", "gradient", "update SGD", "update Adagrad"))
    constants = {
        "lookup-of-a-table": uncertain_figure(lookup[0] / US, spread, "lookups of a batch"),
        "embedding-software-per-lookup": uncertain_figure(2 * lookup[1] / NS, spread, "lookups, for both halves"),
        "EmbeddingBag-rate": uncertain_figure(0.5 / max(lookup[2], 1e-12) / GB, spread, "lookups, for both halves"),
        "lookup-of-a-new-line": uncertain_figure(lookup[3] / NS, spread, "lookups of tables that no cache holds"),
    }
    for name, kind in (("plain", "SGD"), ("stateful", "Adagrad")):
        costs = gradient + unit_costs(operators_of_kind(timed, f"update {kind}"), *parts)
        extra_costs = np.maximum(costs - (0.0, *lookup[1:3], 0.0), 0.0)
        note = f"gradient and {kind} of tables, less a lookup"
        constants |= {
            f"{name}-update-of-a-table": uncertain_figure(extra_costs[0] / US, spread, note),
            f"{name}-update-of-a-lookup": uncertain_figure(extra_costs[1] / NS, spread, note),
            f"{name}-update-of-a-byte": uncertain_figure(extra_costs[2] / NS, spread, note),
            f"{name}-update-of-a-new-line": uncertain_figure(extra_costs[3] / NS, spread, note),
        }
    return constants


def _fit_vector_pairs(timed: Sequence[TimedOperator]) -> dict[str, MeasuredFigure]:
    products, pairs = operators_of_kind(timed, "vector products"), operators_of_kind(timed, "pairs")
    return {
        "vector-products": uncertain_figure(
            unit_costs(products, "flop")[0] / NS, median_spread(products), "products of all pairs of vectors, three a batch"
        ),
        "pair-of-vectors": uncertain_figure(
            unit_costs(pairs, "pairs")[0] / NS, median_spread(pairs), "taking half of the products, and back"
        ),
    }
