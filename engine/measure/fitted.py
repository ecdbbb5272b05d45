"""Constants of parts from the timings of operators: each a fit of its own operators, never of a training step."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, nnls

from ..core.arrays import Floats
from ..core.constants import Confidence
from ..core.figures import percent
from ..units import GB, NS, US
from .timing import Timing

LAYER_KERNELS = 6  # of a layer with its update, as `hardware.layers` counts them
STARTS = (16.0, 256.0)


class Timed(NamedTuple):
    """An operator's kind and amounts with its timing."""

    kind: str
    amounts: dict[str, float]
    timing: Timing


class MeasuredFigure(NamedTuple):
    """A fitted constant: its value, a range by the spread and the fit's own error, what it was fitted to, and its confidence."""

    value: float
    low: float
    high: float
    note: str
    confidence: Confidence = "measured"


def figures(timed: Sequence[Timed], cores: int) -> dict[str, MeasuredFigure]:
    """Return the constants of host, memory, library and framework by their key, in the units of the catalogue."""
    return {**_layers(timed, cores), **_calls(timed), **_tables(timed), **_pairs(timed)}


def of_kind(timed: Sequence[Timed], *kinds: str) -> list[Timed]:
    """Return the operators of some kinds."""
    return [one for one in timed if one.kind in kinds]


def uncertain(value: float, error: float, note: str) -> MeasuredFigure:
    """Return a constant that may be wrong by a share `error`, both ways."""
    error = min(max(error, 0.02), 0.9)
    return MeasuredFigure(value, value * (1 - error), value * (1 + error), note)


def median_spread(found: Sequence[Timed]) -> float:
    """Return the median spread of some operators, as a share."""
    return float(np.median([one.timing.spread for one in found])) if found else 0.0


def _layers(timed: Sequence[Timed], cores: int) -> dict[str, MeasuredFigure]:
    """Fit products of layers: a fixed time, a rate, and the samples for which a core fetches weights anew."""
    products = of_kind(timed, "product")
    flop, weights, seconds = (
        np.array(values)
        for values in zip(*((one.amounts["flop"], one.amounts["weights"], one.timing.seconds) for one in products), strict=True)
    )

    def predicted(logs: Floats) -> Floats:
        fixed, rate, samples = np.exp(logs)
        found: Floats = fixed + (flop + 2 * samples * weights) / rate
        return found

    def error(logs: Floats) -> float:
        return float(np.abs(np.log(predicted(logs) / seconds)).sum())

    fastest = float((flop / seconds).max())
    begun = [np.log([5e-6, 0.8 * fastest, samples]) for samples in STARTS]
    best = min((minimize(error, one, method="Nelder-Mead", options={"maxiter": 4000}) for one in begun), key=lambda one: one.fun)
    _, rate, samples = np.exp(best.x)
    wrong = float(np.median(np.abs(predicted(best.x) / seconds - 1)))
    note = f"{len(products)} products of layers, off by {percent(wrong)} in the median"
    peak = max(fastest, rate)
    return {
        "fp32-peak-a-core": uncertain(peak / cores / 1e9, median_spread(products), "the fastest product of a layer"),
        "GEMM-share-of-peak": uncertain(rate / peak, min(wrong, 1 - 1e-9), note),
        "GEMM-extra-samples": uncertain(samples, wrong, note),
    }


def _calls(timed: Sequence[Timed]) -> dict[str, MeasuredFigure]:
    """Return what calls cost: a kernel of a layer, forward, backward and update together shared evenly, and the loss."""
    both, update = (of_kind(timed, kind)[0] for kind in ("layer calls", "update calls"))
    layer = both.timing.seconds / both.amounts["layers"] + 2 * update.timing.seconds / update.amounts["parameters"]
    loss = of_kind(timed, "loss calls")[0]
    return {
        "layer-launch": uncertain(
            layer / LAYER_KERNELS / US, both.timing.spread, "tiny layers, forward, backward and update by SGD"
        ),
        "training-loop": uncertain(
            loss.timing.seconds / 1e-3, loss.timing.spread, "the loss of two samples, forward and backward"
        ),
    }


def unit_costs(found: Sequence[Timed], *amounts: str) -> Floats:
    """Return what a unit of each amount costs in seconds, none below 0: the least relative errors."""
    matrix = np.array([[one.amounts[name] for name in amounts] for one in found])
    seconds = np.array([one.timing.seconds for one in found])
    scale = np.maximum(matrix.max(axis=0), 1e-30)
    costs: Floats = nnls(matrix / scale / seconds[:, None], np.ones(len(found)))[0] / scale
    return costs


def _tables(timed: Sequence[Timed]) -> dict[str, MeasuredFigure]:
    """Fit lookups and updates of tables: a call, a lookup, a byte, and a line of a row that the batch has not touched yet."""
    parts = "calls", "lookups", "bytes", "new lines"
    lookup, gradient = (unit_costs(of_kind(timed, kind), *parts) for kind in ("lookup", "gradient"))
    spread = median_spread(of_kind(timed, "lookup", "gradient", "update SGD", "update Adagrad"))
    found = {
        "lookup-of-a-table": uncertain(lookup[0] / US, spread, "lookups of a batch"),
        "embedding-software-per-lookup": uncertain(2 * lookup[1] / NS, spread, "lookups, for both halves"),
        "EmbeddingBag-rate": uncertain(0.5 / max(lookup[2], 1e-12) / GB, spread, "lookups, for both halves"),
        "lookup-of-a-new-line": uncertain(lookup[3] / NS, spread, "lookups of tables that no cache holds"),
    }
    for name, kind in (("plain", "SGD"), ("stateful", "Adagrad")):
        costs = gradient + unit_costs(of_kind(timed, f"update {kind}"), *parts)
        more = np.maximum(costs - (0.0, *lookup[1:3], 0.0), 0.0)
        note = f"gradient and {kind} of tables, less a lookup"
        found |= {
            f"{name}-update-of-a-table": uncertain(more[0] / US, spread, note),
            f"{name}-update-of-a-lookup": uncertain(more[1] / NS, spread, note),
            f"{name}-update-of-a-byte": uncertain(more[2] / NS, spread, note),
            f"{name}-update-of-a-new-line": uncertain(more[3] / NS, spread, note),
        }
    return found


def _pairs(timed: Sequence[Timed]) -> dict[str, MeasuredFigure]:
    products, pairs = of_kind(timed, "vector products"), of_kind(timed, "pairs")
    return {
        "vector-products": uncertain(
            unit_costs(products, "flop")[0] / NS, median_spread(products), "products of all pairs of vectors, three a batch"
        ),
        "pair-of-vectors": uncertain(
            unit_costs(pairs, "pairs")[0] / NS, median_spread(pairs), "taking half of the products, and back"
        ),
    }
