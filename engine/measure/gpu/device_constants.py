"""Constants of a GPU, its software and copies, fitted to operators, never to a step."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import least_squares, nnls

from ...core.arithmetic import total
from ...core.arrays import Floats
from ...core.figures import count, percent
from ...hardware.devices.gpu import SECTOR
from ...systems.traffic import INDEX_BYTES, SORT_PASSES
from ...units import FLOAT32, GB, MS, US
from ..fitted import (
    LAYER_KERNELS,
    MeasuredFigure,
    TimedOperator,
    median_spread,
    operators_of_kind,
    share_figure,
    uncertain_figure,
    unit_costs,
)
from .device_operators import PAGEABLE, PINNED

LOSS_KERNELS = 3  # kernels of the loss, as `hardware.layers` counts them
QUEUED = "queued"  # suffix of the kind of operators whose queueing is timed
UPDATE = "update Adagrad"
PRODUCTS = tuple(f"product {precision}" for precision in ("fp32", "tf32", "bf16", "fp16"))
Constants = dict[str, MeasuredFigure]


def device_constants(timed: Sequence[TimedOperator]) -> dict[str, Constants]:
    """Return the fitted constants by kind of part and key, in the catalogue's units."""
    gpu = _gpu_constants(timed)
    copies = {
        "software-hand-off": _figure_per_unit(
            operators_of_kind(timed, "hand-off")[0], 1.0, US, "a tiny copy, queued and waited for"
        ),
        "unpinned-copy-rate": _copy_rate(timed, PAGEABLE),
        "pinned-copy-rate": _copy_rate(timed, PINNED),
    }
    gpu["port"] = copies["pinned-copy-rate"]
    fabric = (
        {"fabric": {"fabric-bandwidth": _rate_figure(timed, "to another GPU")}}
        if operators_of_kind(timed, "to another GPU")
        else {}
    )
    return {"gpu": gpu, "framework": _framework_constants(timed, gpu), "copy-path": copies, **fabric}


def _figure_per_unit(operator: TimedOperator, count: float, unit: float, note: str) -> MeasuredFigure:
    return uncertain_figure(operator.timing.seconds / count / unit, operator.timing.spread, note)


def _rate_figure(timed: Sequence[TimedOperator], kind: str) -> MeasuredFigure:
    """Return the GB/s of copies, their fixed time fitted separately."""
    copies = operators_of_kind(timed, kind)
    seconds = unit_costs(copies, "calls", "bytes")[1]
    return uncertain_figure(1 / max(seconds, 1e-14) / GB, median_spread(copies), f"copies {kind}, their fixed time apart")


def _copy_rate(timed: Sequence[TimedOperator], kind: str) -> MeasuredFigure:
    """Return the GB/s of copies between host and device by the slower of both ways."""
    return min((_rate_figure(timed, f"{way} the GPU, {kind}") for way in ("to", "from")), key=lambda figure: figure.value)


def _gpu_constants(timed: Sequence[TimedOperator]) -> Constants:
    """Return the GPU's constants: memory, kernels, and products in every precision of the GPU."""
    copy, elementwise = operators_of_kind(timed, "memory copy")[0], operators_of_kind(timed, "elementwise")
    bandwidth = copy.amounts["bytes"] / copy.timing.seconds
    sustained = min(bandwidth, 1 / max(unit_costs(elementwise, "calls", "bytes")[1], 1e-14))
    launch = operators_of_kind(timed, "tiny kernel")[0]
    constants = {
        "memory-bandwidth": uncertain_figure(bandwidth / GB, copy.timing.spread, "a large copy within memory, read and written"),
        "GEMM-share-of-bandwidth": share_figure(sustained / bandwidth, median_spread(elementwise), "elementwise kernels"),
        "kernel-launch": _figure_per_unit(launch, 1.0, US, "tiny kernels that wait in a queue"),
    }
    for graph in operators_of_kind(timed, "graph"):
        constants["kernel-in-a-graph"] = _figure_per_unit(graph, graph.amounts["kernels"], US, "tiny kernels of a graph")
    return constants | _fit_products(timed, sustained)


def _fit_products(timed: Sequence[TimedOperator], bandwidth: float) -> Constants:
    """Fit products: a fixed time, rows of padding, and a rate in each precision.

    Bytes move at the known bandwidth.
    """
    kinds = [kind for kind in PRODUCTS if operators_of_kind(timed, kind)]
    products = operators_of_kind(timed, *kinds)
    m, k, n, word = (np.array([product.amounts[name] for product in products]) for name in ("m", "k", "n", "word"))
    seconds, precision = (
        np.array([product.timing.seconds for product in products]),
        [kinds.index(product.kind) for product in products],
    )
    by_bytes, flop = word * (m * k + k * n + m * n) / bandwidth, 2 * m * k * n
    fastest = np.array([(flop / seconds)[np.array(precision) == number].max() for number in range(len(kinds))])

    def log_errors(logs: Floats) -> Floats:
        fixed, rows, *rates = np.exp(logs)
        by_flop = 2 * (m + rows) * k * n / np.array(rates)[precision]
        errors: Floats = np.log((fixed + np.maximum(by_flop, by_bytes)) / seconds)
        return errors

    starts = [np.log([0.8 * seconds.min(), rows, *fastest]) for rows in (16.0, 128.0)]
    fits = [least_squares(log_errors, start, loss="soft_l1", f_scale=0.1) for start in starts]
    fit = min(fits, key=lambda solution: float(solution.cost))
    fixed, rows, *rates = np.exp(fit.x)
    error = float(np.median(np.abs(np.expm1(fit.fun))))
    note = f"{count(len(products), 'product')} of layers, off by {percent(error)} in the median"
    share = min(1.0, *(rate / fastest_rate for rate, fastest_rate in zip(rates, fastest, strict=True)))
    peaks = {
        f"{kind.removeprefix('product ')}-peak": uncertain_figure(
            rate / share / 1e12, median_spread(operators_of_kind(timed, kind)), "so that the share of it is the rate of products"
        )
        for kind, rate in zip(kinds, rates, strict=True)
    }
    return {
        **peaks,
        "GEMM-share-of-peak": share_figure(share, error, note),
        "GEMM-fixed-time": uncertain_figure(fixed / US, error, note),
        "GEMM-extra-rows": uncertain_figure(rows, error, note),
    }


def _framework_constants(timed: Sequence[TimedOperator], gpu: Mapping[str, MeasuredFigure]) -> Constants:
    """Return the host's costs of driving the GPU, and the GPU's of updating single tables."""
    layer_calls, update = (operators_of_kind(timed, kind)[0] for kind in ("layer calls", "update calls"))
    layer = layer_calls.timing.seconds / layer_calls.amounts["layers"] + 2 * update.timing.seconds / update.amounts["parameters"]
    call = layer / LAYER_KERNELS
    loss = operators_of_kind(timed, "loss calls")[0]
    queued = [operators_of_kind(timed, f"{kind} {QUEUED}") for kind in ("lookup", "gradient", "update SGD")]
    table = total(float(np.median([operator.timing.seconds for operator in kind])) for kind in queued)
    fixed = max(0.0, loss.timing.seconds - LOSS_KERNELS * call)
    return {
        "training-loop": uncertain_figure(fixed / MS, loss.timing.spread, "the loss of two samples, queued, less its kernels"),
        "kernel-call": uncertain_figure(
            call / US, layer_calls.timing.spread, "tiny layers forward, backward and update by SGD, queued"
        ),
        "table-in-Python": uncertain_figure(
            table / US,
            median_spread([operator for kind in queued for operator in kind]),
            "lookup, gradient and SGD of a table, queued",
        ),
        **_fit_updates(timed, gpu),
    }


def _fit_updates(timed: Sequence[TimedOperator], gpu: Mapping[str, MeasuredFigure]) -> Constants:
    """Fit stateful sparse updates: seconds a table and a lookup.

    These come on top of the bytes that the model counts for gradients and rows.
    """
    bandwidth = gpu["memory-bandwidth"].value * gpu["GEMM-share-of-bandwidth"].value * GB
    gradients, updates = operators_of_kind(timed, "gradient"), operators_of_kind(timed, UPDATE)
    seconds = np.array(
        [gradient.timing.seconds + update.timing.seconds for gradient, update in zip(gradients, updates, strict=True)]
    )
    lookups, nbytes = (np.array([update.amounts[name] for update in updates]) for name in ("lookups", "bytes"))
    row = nbytes / lookups
    rows = np.array([update.amounts["new lines"] for update in updates]) / (1 + row / FLOAT32 / 16)
    moved_bytes = nbytes + SORT_PASSES * INDEX_BYTES * lookups + 2 * rows * SECTOR * np.ceil(2 * row / SECTOR)
    extra_seconds = np.maximum(seconds - moved_bytes / bandwidth - 2 * gpu["kernel-launch"].value * US, 0.0)
    counts = np.stack([np.ones_like(lookups), lookups / lookups.max()], axis=1)
    table, lookup_seconds = nnls(counts / seconds[:, None], extra_seconds / seconds)[0]
    note, spread = "gradient and Adagrad of tables, beyond the bytes that the model counts", median_spread(updates)
    return {
        "sparse-update-of-a-table": uncertain_figure(table / US, spread, note),
        "sparse-update-of-a-lookup": uncertain_figure(lookup_seconds / lookups.max() * bandwidth, spread, note),
    }
