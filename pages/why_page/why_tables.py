"""The insights as plain tables, for charts and CSV files."""

from math import isinf

import pandas as pd

from engine.core.figures import percent, signed
from engine.hardware.devices.cxl import payload_rate
from engine.insight.cost import BatchCost
from engine.insight.decomposition import Decomposition
from engine.insight.relaxation import Relaxation
from engine.insight.saturation import Saturation
from engine.scenario.scenario import Scenario
from engine.schedule.machine import sized_scenario
from engine.units import GB, MS
from pages.ui.numbers import result_text

METRICS = ("Step time", "Energy")
ORDERS = ("As in the paper", "The other way round")
UNITS = {"Step time": "ms", "Energy": "J"}
LOG_ENDS = {"pmem": "PMEM varied", "cxl": "CXL link varied"}
STEP_FORMATS = {
    "Before [ms]": "%.4g",
    "After [ms]": "%.4g",
    "Saved [ms]": "%.3f",
    "Saved [% of pmem]": "%.1f",
    "Factor": "%.3f",
    "Saved, other order [ms]": "%.3f",
    "Saved, mean of orders [ms]": "%.3f",
    "Saved [J]": "%.3f",
    "Saved, other order [J]": "%.3f",
}
TIMES = (
    "One log [ms]",
    "Its time in a batch [ms]",
    "Strict step [ms]",
    "Step with the bound asked for [ms]",
    "Step at best [ms]",
)
LOG_FORMATS = {"Log bandwidth [GB/s]": "%.3g", **dict.fromkeys(TIMES, "%.4g")}
CARRIED_FORMATS = {"Busy [ms]": "%.4f", "Waited for [ms]": "%.4f", "From [GB/s]": "%.3g"}


def _amount(cost: BatchCost, metric: str) -> float:
    return cost.seconds / MS if metric == "Step time" else cost.joules


def finding(decomposition: Decomposition, metric: str) -> str:
    """Return a clause with a batch's first and last amount, and the change in percent.

    metric: time or energy.
    """
    start, end, unit = _amount(decomposition.start_cost, metric), _amount(decomposition.end_cost, metric), UNITS[metric]
    change = f"{percent(abs(1 - end / start))} {'less' if end <= start else 'more'}"
    return f"From {result_text(start, unit)} to {result_text(end, f'{unit} a batch')}, {change}."


def waterfall(decomposition: Decomposition, metric: str) -> pd.DataFrame:
    """Return a row for each bar: name, system, low, high, label, says, costs.

    `system` is the system to which a step leads; `costs` says whether the step increases the metric.
    """
    total = _amount(decomposition.start_cost, metric)
    rows = [_end_bar("pmem", decomposition.start_cost, metric, "PMEM, before all changes")]
    for step in decomposition.steps:
        cost_before, cost_after = _amount(step.cost_before, metric), _amount(step.cost_after, metric)
        change = cost_after - cost_before
        share = f" ({'+' * (change > 0)}{percent(change / total)})" if abs(change) >= 0.005 * total else ""
        label = "not possible" if step.refused else f"{signed(change, UNITS[metric])}{share}"
        rows.append(
            {
                "name": step.name,
                "system": step.scenario.system,
                "low": min(cost_before, cost_after),
                "high": max(cost_before, cost_after),
                "label": label,
                "says": step.refused or step.description,
                "costs": cost_after > cost_before * (1 + 1e-9),
            }
        )
    return pd.DataFrame([*rows, _end_bar("cxl", decomposition.end_cost, metric, "CXL, after all changes")])


def _end_bar(system: str, cost: BatchCost, metric: str, description: str) -> dict[str, object]:
    high = _amount(cost, metric)
    label = f"{result_text(high, UNITS[metric])}"
    return {"name": system, "system": system, "low": 0.0, "high": high, "label": label, "says": description, "costs": False}


def steps(decomposition: Decomposition) -> pd.DataFrame:
    """Return a row for each step, with time and energy in both orders."""
    return pd.DataFrame(
        [
            {
                "Step": step.name,
                "Leads to": step.scenario.system,
                "Before [ms]": step.cost_before.seconds / MS,
                "After [ms]": step.cost_after.seconds / MS,
                "Saved [ms]": step.saved.seconds / MS,
                "Saved [% of pmem]": 100 * step.saved.seconds / decomposition.start_cost.seconds,
                "Factor": step.factor,
                "Saved, other order [ms]": step.swapped.saved.seconds / MS if step.swapped else None,
                "Saved, mean of orders [ms]": step.mean_seconds / MS,
                "Saved [J]": step.saved.joules,
                "Saved, other order [J]": step.swapped.saved.joules if step.swapped else None,
                "What changes": step.refused or step.description,
            }
            for step in decomposition.steps
        ]
    )


def logs(relaxation: Relaxation) -> pd.DataFrame:
    """Return a row for each log bandwidth: the present one first, then both curves."""
    named_points = [("This machine", relaxation.present_log), *((LOG_ENDS[point.limit], point) for point in relaxation.curves)]
    return pd.DataFrame(
        [
            {
                "Curve": curve,
                "Log bandwidth [GB/s]": point.rate / GB,
                "Staleness needed [batches]": point.needed_bound,
                "One log [ms]": point.write_seconds / MS,
                "Its time in a batch [ms]": point.gate_seconds / MS,
                "One log [batches]": None if isinf(point.batches) else point.batches,
                "Strict step [ms]": point.strict_step / MS,
                "Step with the bound asked for [ms]": point.own_step / MS,
                "Step at best [ms]": point.unlimited_step / MS,
            }
            for curve, point in named_points
        ]
    )


def staleness(relaxation: Relaxation) -> pd.DataFrame:
    """Return points of log bandwidth and needed staleness; points that need none are left out.

    Columns: curve, rate, needed, bound, now (whether the point is the present machine).
    """
    rows = [(LOG_ENDS[point.limit], point.rate / GB, point.needed_bound, False) for point in relaxation.curves]
    rows.append(
        (LOG_ENDS[relaxation.present_log.limit], relaxation.present_log.rate / GB, relaxation.present_log.needed_bound, True)
    )
    frame = pd.DataFrame(rows, columns=["curve", "rate", "needed", "now"])
    return frame[frame.needed > 0].assign(bound=relaxation.bound)


def strict_and_relaxed(relaxation: Relaxation) -> pd.DataFrame:
    """Return step times with a strict and a relaxed MLP log, over the rate of the device that limits the log.

    The columns are how (strict or relaxed), rate [GB/s], step [ms], and now, which marks the scenario's own machine.
    """
    points = [(point, False) for point in relaxation.curves if point.limit == relaxation.present_log.limit] + [
        (relaxation.present_log, True)
    ]
    relaxed = f"bound {relaxation.bound}"
    rows = [
        {"how": log_kind, "rate": point.rate / GB, "step": seconds / MS, "now": is_present}
        for point, is_present in points
        for log_kind, seconds in (("strict", point.strict_step), (relaxed, point.own_step))[: 2 if relaxation.bound else 1]
    ]
    return pd.DataFrame(rows)


def links(saturations: tuple[Saturation, ...], scenario: Scenario) -> pd.DataFrame:
    """Return step times over bandwidth: system, bandwidth, step, enough, present.

    `enough` marks the saturation, `present` is this machine's bandwidth.
    """
    rows = [(saturation.system, *point, False) for saturation in saturations for point in saturation.curve]
    rows += [
        (saturation.system, saturation.sufficient_bandwidth, saturation.step_at_sufficient, True)
        for saturation in saturations
        if saturation.sufficient_bandwidth is not None
    ]
    frame = pd.DataFrame(rows, columns=["system", "bandwidth", "step", "enough"])
    return frame.assign(step=frame.step / MS, present=payload_rate(sized_scenario(scenario).machine) / GB)


def link_task_rows(saturations: tuple[Saturation, ...]) -> pd.DataFrame:
    """Return each task's time on the link, at the bandwidth beyond which more has no effect."""
    return pd.DataFrame(
        [
            {
                "Training system": saturation.system,
                "From [GB/s]": saturation.sufficient_bandwidth,
                "Task on the link": task.task,
                "Busy [ms]": task.busy_seconds / MS,
                "Waited for [ms]": task.exposed_seconds / MS,
                "Hidden": task.hidden_by,
            }
            for saturation in saturations
            for task in saturation.link_tasks
        ]
    )
