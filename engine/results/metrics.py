"""The table of metrics: a metric is one number of a report.

Each metric has a unit and a direction in which it is better.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Literal

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Number
from ..core.points.per_point import PerPoint
from ..hardware.device import nodes
from ..hardware.money.bill import bill_price
from ..schedule.machine import Machine
from ..units import GB, MINUTE, MS, GiB
from .ledger import RECOVERY
from .report import Report


@dataclass(frozen=True)
class Metric:
    """A metric: a number that is computed from a report.

    title, unit: the metric's title, and its unit, "" for none.
    better: the direction in which the metric is better.
    help: a sentence that explains the metric.
    compute: a function that returns the number of a report in `unit`, or None if the metric does not apply. For a report of many
        machines it returns an array, or a list with a number or None for each machine.
    """

    title: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    help: str
    compute: Callable[[Report], Number]

    @cached_property
    def name(self) -> str:
        """The title with the unit in brackets, as results and tables show it."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title


def _mean_of_faults(*phases: str) -> Callable[[Report], Number]:
    """Return a function from a report to the mean seconds of some accounts per fault; None without a fault."""
    return lambda r: total(r.ledger.seconds[name] for name in phases) / len(r.crashes) if r.crashes else None


def _share(part: Number, total: Number) -> Number:
    """Return a part's share of the total, None where the total is 0; for columns a list, point by point."""
    if isinstance(total, np.ndarray):
        return [*map(_share, np.broadcast_to(part, total.shape).tolist(), total.tolist())]
    return part / total if total > 0 else None


def _checkpoint_overhead(r: Report) -> Number:
    exposed = r.steady.stage("Checkpoint")
    return _share(100 * exposed, r.steady.step - exposed)


def _capital(machine: Machine) -> float | None:
    """Return the USD of all devices, None where one has no price."""
    return bill_price(item for device in machine.devices.values() for item in device.bill)


def _time_to_target(machine: Machine, step: float) -> float | None:
    """Return the minutes until a model has trained on its samples to target, None without a target."""
    run, batch_size = machine.scenario.run, machine.scenario.data.batch_size
    if run.target_samples is None:
        return None
    evaluations = run.target_samples // run.evaluation_samples if run.evaluation_samples else 0
    seconds = run.setup_seconds + run.target_samples / batch_size * step + evaluations * run.evaluation_seconds
    return seconds / MINUTE


# A result that is measured on samples, and the result that is its standard error.
ERRORS: Mapping[str, str] = {"AUC": "AUC error", "AUC (training)": "AUC error (training)"}

# A row keeps its parts together: name, unit and direction, help, computation.
# fmt: off
METRICS: Mapping[str, Metric] = {
    "step-time": Metric("Step time", "ms", "lower",
        "Mean time between the ends of two batches, without the first two batches, faults and recoveries.",
        lambda r: r.steady.step / MS),
    "throughput": Metric("Throughput", "samples/s", "higher",
        "Samples trained per second in the steady state.", lambda r: r.batch_size / r.steady.step),
    "elapsed": Metric("Elapsed", "s", "lower",
        "Simulated time of the whole run, faults and recoveries included.", lambda r: r.elapsed),
    "energy": Metric("Energy", "J", "lower",
        "Energy of all powered devices in the whole run, counted at machine.energy_level.", lambda r: r.joules),
    "energy-useful": Metric("Useful energy", "J", "neither",
        "Energy of batches that survive to the end, at most that of a fault-free batch, without checkpoints.",
        lambda r: r.ledger.joules["useful"]),
    "energy-checkpoint": Metric("Checkpoint energy", "J", "lower",
        "Energy of the checkpoints of batches that survive to the end, and of waiting for these checkpoints.",
        lambda r: r.ledger.joules["checkpoint"]),
    "energy-lost": Metric("Lost energy", "J", "lower",
        "Energy of batches that a fault undid, and of waiting for slow devices.",
        lambda r: r.ledger.joules["lost"] + r.ledger.joules["stalled"]),
    "energy-recovery": Metric("Recovery energy", "J", "lower",
        "Energy of detection, repair, restart, restore and replay.", lambda r: total(r.ledger.joules[name] for name in RECOVERY)),
    "energy-per-batch": Metric("Energy per batch", "J", "lower",
        "Energy of one steady-state batch, of all powered devices, counted at machine.energy_level.", lambda r: r.steady.energy),
    "static-energy-share": Metric("Static energy share", "%", "neither",
        "Share of the energy that devices draw even when idle; near 100 %, energy ranks machines in the order of time.",
        lambda r: _share(100 * total(r.static.values()), r.joules)),
    "average-power": Metric("Average power", "W", "lower",
        "Energy of the run divided by elapsed time, counted at machine.energy_level.", lambda r: _share(r.joules, r.elapsed)),
    "checkpoint-overhead": Metric("Checkpoint overhead", "%", "lower",
        "Checkpoint time for which batches wait, divided by the rest of the step.", _checkpoint_overhead),
    "effective-training-time-ratio": Metric("Effective training time ratio", "", "higher",
        "Share of the elapsed time in which batches that survive were trained: without exposed checkpoints, lost work, recovery "
            "and replay.",
        lambda r: _share(np.maximum(r.ledger.seconds["useful"], 0.0), r.elapsed)),
    "goodput": Metric("Goodput", "samples/s", "higher",
        "Samples of surviving batches per second of the whole run, faults included.",
        lambda r: _share(r.batches * r.batch_size, r.elapsed)),
    "faults": Metric("Faults", "", "lower", "Number of faults, also of those during recoveries.", lambda r: float(r.strikes)),
    "lost-batches": Metric("Lost batches", "", "lower",
        "Batches that had begun and had to be run again after a fault.",
        lambda r: float(total(crash.batches_lost for crash in r.crashes))),
    "lost-work": Metric("Lost work", "s", "lower",
        "Training time that faults undid: of batches that were lost, and of batches that were trained again.",
        lambda r: r.ledger.seconds["lost"] + r.ledger.seconds["replay"]),
    "rpo-embeddings": Metric("RPO embeddings", "batches", "lower",
        "Largest number of batches whose embedding updates one fault undid.",
        lambda r: max((float(crash.batches_begun - crash.resumption.embedding_batch) for crash in r.crashes), default=None)),
    "rpo-mlp": Metric("RPO MLP", "batches", "lower",
        "Largest number of batches whose MLP updates one fault undid.",
        lambda r: max((float(crash.batches_begun - crash.resumption.mlp_batch) for crash in r.crashes), default=None)),
    "unrecoverable": Metric("Unrecoverable", "", "lower",
        "1 if the run ended without its result, else 0.", lambda r: float(r.unrecoverable)),
    "undetected-corruptions": Metric("Undetected corruptions", "", "lower",
        "Number of bits that flipped in tables and MLPs where no checksum covers them.", lambda r: float(r.undetected_flips)),
    "recovery-time": Metric("Recovery time", "s", "lower",
        "Time of detection, repair, restart and restore, without replay; mean over faults.",
        _mean_of_faults("detect", "repair", "restart", "restore")),
    "detection-time": Metric("Detection time", "s", "lower",
        "Time from a fault to its detection, mean over faults.", _mean_of_faults("detect")),
    "repair-time": Metric("Repair time", "s", "lower",
        "Time from detection to restart, mean over faults.", _mean_of_faults("repair")),
    "restart-time": Metric("Restart time", "s", "lower",
        "Time in which processes start, before the restore; mean over faults.", _mean_of_faults("restart")),
    "restore-time": Metric("Restore time", "s", "lower",
        "Time in which logs are read and rows put back, mean over faults.", _mean_of_faults("restore")),
    "replay-time": Metric("Replay time", "s", "lower",
        "Time in which finished batches are run again, mean over faults.", _mean_of_faults("replay")),
    "mlp-staleness": Metric("MLP staleness", "batches", "lower",
        "Largest age, in batches, of the newest complete MLP log when a batch commits.",
        lambda r: 1.0 * r.stale if r.machine.log_policy.log else None),
    "pmem-written": Metric("PMEM written", "GB", "lower",
        "Bytes stored into persistent memory: updates and logs.",
        lambda r: r.pmem_written / GB if "pmem" in r.machine.devices else None),
    "pmem-media-written": Metric("PMEM media written", "GB", "lower",
        "Bytes that the PMEM media itself stores, in whole lines and with rewrites; they wear it out.",
        lambda r: r.pmem_media_written / GB if "pmem" in r.machine.devices else None),
    "pmem-modules": Metric("PMEM modules", "", "lower",
        "Number of modules of all nodes for the PMEM capacity; it sets bandwidth, idle power and price.",
        lambda r: [float(m.devices["pmem"].modules) for m in r.machines] if "pmem" in r.machine.devices else None),
    "nodes": Metric("Nodes", "", "lower",
        "Number of hosts with their GPUs; with a target throughput, as many as the system needs.",
        lambda r: [float(nodes(m.scenario.machine)) for m in r.machines]),
    "gpu-memory": Metric("GPU memory", "GiB", "lower",
        "Memory that one GPU needs between batches, for rows, index maps and parameters.",
        lambda r: [m.settled.sizes.gpu_bytes / GiB for m in r.machines]),
    "cache-hit-rate": Metric("Cache hit rate", "%", "higher",
        "Share of lookups in cached tables whose row was in the cache when their batch began; refused rows were not.",
        lambda r: 100 * r.amounts.hit_rate if r.machine.system.cache else None),
    "rows-from-drives": Metric("Rows from drives", "%", "lower",
        "Share of a batch's unique rows that neither HBM, DRAM nor SCM holds.",
        lambda r: 100 * r.amounts.drives_share if r.machine.system.caches else None),
    "capital-cost": Metric("Capital cost", "USD", "lower",
        "Price of all devices in the year of machine.prices, without a protection's storage; empty if one has no price.",
        lambda r: [_capital(m) for m in r.machines]),
    "time-to-target": Metric("Time to target", "min", "lower",
        "Set-up, training and evaluations until run.target_samples samples are trained; empty if these are not stated.",
        lambda r: [*map(_time_to_target, r.machines, np.broadcast_to(r.steady.step, len(r.machines)).tolist())]),
    "loss": Metric("Loss", "", "lower", "Binary cross-entropy on held-out samples after the run.", lambda r: r.scores.loss),
    "auc": Metric("AUC", "", "higher", "Area under the ROC curve on held-out samples after the run.", lambda r: r.scores.auc),
    "auc-error": Metric("AUC error", "", "lower",
        "One standard error of AUC, ±, due to the number of held-out samples alone (Hanley and McNeil, 1982); another seed "
            "changes AUC by more.", lambda r: r.scores.auc_error),
    "accuracy": Metric("Accuracy", "%", "higher",
        "Share of held-out samples whose click is predicted correctly at a probability of one half.",
        lambda r: None if r.scores.accuracy is None else 100 * r.scores.accuracy),
    "loss-training": Metric("Loss (training)", "", "lower",
        "Mean loss over the samples of the last pass, before each was trained on.", lambda r: r.scores.training_loss),
    "auc-training": Metric("AUC (training)", "", "higher",
        "AUC over the samples of the last pass, predicted before each was trained on.", lambda r: r.scores.training_auc),
    "auc-training-error": Metric("AUC error (training)", "", "lower",
        "One standard error of AUC (training), ±, due to the number of samples of that pass alone.",
        lambda r: r.scores.training_auc_error),
}
# fmt: on


def all_metrics() -> tuple[Metric, ...]:
    """Return all metrics, in the order in which they are shown."""
    return tuple(METRICS.values())


def error_of(name: str, results: Mapping[str, float | None]) -> float | None:
    """Return the standard error of the metric `name`, or None if none is known."""
    return results.get(ERRORS[name]) if name in ERRORS else None


def metric_rows(report: Report) -> Iterator[dict[str, float | None]]:
    """Yield {metric name: number or None} for each machine of a report."""
    metric_numbers = ((metric.name, metric.compute(report)) for metric in all_metrics())
    columns = {
        name: column.tolist() if isinstance(column, np.ndarray | np.generic | PerPoint) else column
        for name, column in metric_numbers
    }
    rows = zip(
        *(column if isinstance(column, list) else repeat(column, len(report.machines)) for column in columns.values()),
        strict=True,
    )
    return (dict(zip(columns, numbers, strict=True)) for numbers in rows)
