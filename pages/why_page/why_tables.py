"""The insights as plain tables: what the charts of the page Why draw, and what its CSV files hold."""

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
from pages.ui.numbers import readable

OF = ("Step time", "Energy")
ORDERS = ("As in the paper", "The other way round")
UNITS = {"Step time": "ms", "Energy": "J"}
ENDS = {"pmem": "PMEM varied", "cxl": "CXL link varied"}
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


def _amount(cost: BatchCost, of: str) -> float:
    return cost.seconds / MS if of == "Step time" else cost.joules


def finding(found: Decomposition, of: str) -> str:
    """Return from how much to how much, and the change in percent."""
    start, end, unit = _amount(found.start, of), _amount(found.end, of), UNITS[of]
    change = f"{percent(abs(1 - end / start))} {'less' if end <= start else 'more'}"
    return f"From {readable(start, unit)} to {readable(end, f'{unit} a batch')}, {change}."


def waterfall(found: Decomposition, of: str) -> pd.DataFrame:
    """Return a bar a row: name, system (that it leads to), low, high, label, says, costs (whether it adds)."""
    total = _amount(found.start, of)
    rows = [_whole("pmem", found.start, of, "Where the way begins")]
    for step in found.steps:
        before, after = _amount(step.before, of), _amount(step.after, of)
        change = after - before
        share = f" ({'+' * (change > 0)}{percent(change / total)})" if abs(change) >= 0.005 * total else ""
        label = "not taken" if step.refused else f"{signed(change, UNITS[of])}{share}"
        rows.append(
            {
                "name": step.name,
                "system": step.scenario.system,
                "low": min(before, after),
                "high": max(before, after),
                "label": label,
                "says": step.refused or step.says,
                "costs": after > before * (1 + 1e-9),
            }
        )
    return pd.DataFrame([*rows, _whole("cxl", found.end, of, "Where the way ends")])


def _whole(system: str, cost: BatchCost, of: str, says: str) -> dict[str, object]:
    high = _amount(cost, of)
    label = f"{readable(high, UNITS[of])}"
    return {"name": system, "system": system, "low": 0.0, "high": high, "label": label, "says": says, "costs": False}


def steps(found: Decomposition) -> pd.DataFrame:
    """Return one row a step, time and energy, in this order and the other."""
    return pd.DataFrame(
        [
            {
                "Step": step.name,
                "Leads to": step.scenario.system,
                "Before [ms]": step.before.seconds / MS,
                "After [ms]": step.after.seconds / MS,
                "Saved [ms]": step.saved.seconds / MS,
                "Saved [% of pmem]": 100 * step.saved.seconds / found.start.seconds,
                "Factor": step.factor,
                "Saved, other order [ms]": step.swapped.saved.seconds / MS if step.swapped else None,
                "Saved, mean of orders [ms]": step.mean_seconds / MS,
                "Saved [J]": step.saved.joules,
                "Saved, other order [J]": step.swapped.saved.joules if step.swapped else None,
                "What changes": step.refused or step.says,
            }
            for step in found.steps
        ]
    )


def logs(found: Relaxation) -> pd.DataFrame:
    """Return one row a log bandwidth: the present one first, then both curves."""
    named = [("This machine", found.now), *((ENDS[one.limit], one) for one in found.curves)]
    return pd.DataFrame(
        [
            {
                "Curve": curve,
                "Log bandwidth [GB/s]": one.rate / GB,
                "Staleness needed [batches]": one.needed,
                "One log [ms]": one.writing / MS,
                "Its time in a batch [ms]": one.gate / MS,
                "One log [batches]": None if isinf(one.batches) else one.batches,
                "Strict step [ms]": one.strict / MS,
                "Step with the bound asked for [ms]": one.own / MS,
                "Step at best [ms]": one.unlimited / MS,
            }
            for curve, one in named
        ]
    )


def staleness(found: Relaxation) -> pd.DataFrame:
    """Return points of log bandwidth and needed staleness: curve, rate, needed, bound, now; without those that need none."""
    rows = [(ENDS[one.limit], one.rate / GB, one.needed, False) for one in found.curves]
    rows.append((ENDS[found.now.limit], found.now.rate / GB, found.now.needed, True))
    frame = pd.DataFrame(rows, columns=["curve", "rate", "needed", "now"])
    return frame[frame.needed > 0].assign(bound=found.bound)


def strict_and_relaxed(found: Relaxation) -> pd.DataFrame:
    """Return step times of the present limit's curve: how, rate, step, now."""
    points = [(one, False) for one in found.curves if one.limit == found.now.limit] + [(found.now, True)]
    relaxed = f"bound {found.bound}"
    rows = [
        {"how": how, "rate": one.rate / GB, "step": seconds / MS, "now": now}
        for one, now in points
        for how, seconds in (("strict", one.strict), (relaxed, one.own))[: 2 if found.bound else 1]
    ]
    return pd.DataFrame(rows)


def links(found: tuple[Saturation, ...], scenario: Scenario) -> pd.DataFrame:
    """Return step times over bandwidth: system, bandwidth, step, enough (the marked point), present (this machine's)."""
    rows = [(one.system, *point, False) for one in found for point in one.curve]
    rows += [(one.system, one.enough, one.at_enough, True) for one in found if one.enough is not None]
    frame = pd.DataFrame(rows, columns=["system", "bandwidth", "step", "enough"])
    return frame.assign(step=frame.step / MS, present=payload_rate(sized_scenario(scenario).machine) / GB)


def carried(found: tuple[Saturation, ...]) -> pd.DataFrame:
    """Return what each task does on the link once more bandwidth has stopped helping."""
    return pd.DataFrame(
        [
            {
                "Training system": one.system,
                "From [GB/s]": one.enough,
                "Task on the link": task.task,
                "Busy [ms]": task.busy / MS,
                "Waited for [ms]": task.exposed / MS,
                "Hidden": task.hidden_by,
            }
            for one in found
            for task in one.carried
        ]
    )
