"""What latency and near-data compute do, as plain tables and sentences: what the charts draw, and what the CSV files hold."""

from collections.abc import Mapping
from itertools import pairwise
from math import log

import pandas as pd

from engine.core.figures import exact, figure, percent
from engine.hardware.concurrency import LINE
from engine.hardware.devices.cxl import link_latency
from engine.insight.memory.latency import LATENCIES, LOSS, Curve, Sensitivity
from engine.insight.memory.near_data import Pair
from engine.insight.memory.under_load import LOADS, UnderLoad
from engine.insight.memory.working_set import WorkingSet
from engine.scenario.scenario import Scenario
from engine.schedule.machine import sized_scenario
from engine.units import GB, MS, NS
from pages.ui import palette
from pages.ui.numbers import change, milliseconds

APART = 0.07  # of the axis: lines that end nearer to each other share one name
TELLING = 0.005  # of a step: smaller changes have no sign
LATENCY = {
    "system": "Training system",
    "ns": "CXL latency [ns]",
    "step": "Step time [ms]",
    "fewest": "Step time, fewest in flight [ms]",
    "most": "Step time, most in flight [ms]",
}
NEAR = {
    "memory": "Memory",
    "controllers": "Memory controllers",
    "on": "Step time, near-data on [ms]",
    "off": "Step time, near-data off [ms]",
    "logic": "Logic busy [ms]",
    "link_on": "Link busy, near-data on [ms]",
    "link_off": "Link busy, near-data off [ms]",
}
SIZES = {"memory": "Memory", "size": "Tables [GB]", "step": "Step time [ms]"}
LOAD = {"part": "Part", "load": "Load [% of bandwidth]", "ns": "Latency [ns]", "source": "Published by"}


def sizes(found: tuple[WorkingSet, ...]) -> pd.DataFrame:
    """Return step times over table size: the columns of SIZES, full where a cache is, and name at a line's end."""
    rows = [(one.memory, one.nbytes / GB, one.seconds / MS, one.cache / GB or None) for one in found]
    frame = pd.DataFrame(rows, columns=["memory", "size", "step", "full"]).astype({"full": float})
    last = frame.groupby("memory")["size"].idxmax()
    low, high = frame.step.min(), frame.step.max()
    ends = {frame.memory[at]: log(frame.step[at] / low) for at in last}
    return frame.assign(name=frame.memory.map(named(ends, APART * log(high / low))).where(frame.index.isin(last)))


def latency(found: tuple[Sensitivity, ...], scenario: Scenario) -> pd.DataFrame:
    """Return step times over latency: the columns of LATENCY, name at a line's end, loses and label where it begins to lose."""
    rows: list[dict[str, object]] = []
    for one in found:
        curves = (one.own.seconds, one.fewest.seconds, one.most.seconds)
        for ns, *steps in zip(LATENCIES, *curves, strict=True) if one.own.seconds else ():
            rows.append({"system": one.system, "ns": ns, **dict(zip(("step", "fewest", "most"), steps, strict=True))})
        if one.own.loses:
            start = (1 + LOSS) * one.own.seconds[0]
            rows.append({"system": one.system, "ns": one.own.loses, "step": start, "loses": figure(one.own.loses, "ns")})
    frame = pd.DataFrame(rows, columns=["system", "ns", "step", "fewest", "most", "loses"])
    measures = ["step", "fewest", "most"]
    frame[measures] /= MS
    low, high = frame[measures].min().min(), frame[measures].max().max()
    last = frame[(frame.ns == LATENCIES[-1]) & frame.loses.isna()]
    ends = {system: log(step / low) for system, step in zip(last.system, last.step, strict=True)}
    names = named(ends, APART * log(high / low))
    frame["name"] = frame.system.map(names).where(frame.index.isin(last.index))
    return frame.assign(present=link_latency(sized_scenario(scenario).machine))


def named(ends: Mapping[str, float], apart: float) -> dict[str, str]:
    """Return a name for the end of each line that stands alone, and one for those too near to each other."""
    groups: list[list[str]] = []
    for one in sorted(ends, key=ends.__getitem__):
        if groups and ends[one] - ends[groups[-1][-1]] < apart:
            groups[-1].append(one)
        else:
            groups.append([one])
    return {group[-1]: ", ".join(group) for group in groups}


def loses(one: Sensitivity) -> str:
    """Return from which latency on one system loses, and why, or what hides the link."""
    if one.refused:
        return f"{one.system} cannot run: {one.refused}"
    if one.own.loses:
        rate = one.in_flight * LINE / (one.fills * NS) / GB
        return (
            f"{one.system} is {percent(LOSS)} slower from {figure(one.own.loses, 'ns')} on, with the fewest requests in flight "
            f"{_at(one.fewest)}, with the most {_at(one.most)}: {one.work[0].task} waits for the link, which "
            f"{exact(one.in_flight)} lines in flight keep at {figure(rate, 'GB/s')} only while an answer under load takes "
            f"{figure(one.fills, 'ns')} at most."
        )
    busy, waited = sum(task.busy for task in one.work), sum(task.exposed for task in one.work)
    hidden = sorted(one.work, key=lambda task: task.exposed - task.busy)[:2]
    parts = " and ".join(f"{milliseconds(task.busy - task.exposed)} of {task.task} {task.hidden_by}" for task in hidden)
    waits = f"waited for {milliseconds(waited)}" if waited else "nobody waits for it"
    fewest = f", with the fewest requests in flight {_at(one.fewest)}" if one.fewest.loses else ""
    return (
        f"{one.system} loses less than {percent(LOSS)} up to {exact(LATENCIES[-1])} ns{fewest}: its link is busy for "
        f"{milliseconds(busy)} a batch then and {waits}; hidden are {parts}."
    )


def _at(curve: Curve) -> str:
    return f"from {figure(curve.loses, 'ns')}" if curve.loses else "never"


def near_data(found: tuple[Pair, ...]) -> pd.DataFrame:
    """Return a machine a row: the columns of NEAR, and change as a share with its label."""
    return pd.DataFrame(
        [
            {
                "memory": one.memory,
                "controllers": one.controllers,
                **{name: getattr(one, name) / MS for name in ("on", "off", "logic")},
                "link_on": one.link[0] / MS,
                "link_off": one.link[1] / MS,
                "change": one.costs,
                "label": change(one.on, one.off),
            }
            for one in found
        ]
    )


def sign(found: tuple[Pair, ...]) -> tuple[str, ...]:
    """Return where near-data compute turns from a saving to a cost, and why it costs most where it does."""
    best, worst = (pick(found, key=lambda one: round(one.costs, 6)) for pick in (min, max))
    saves = f"saves at most {percent(-best.costs)} of a step, with {_machine(best)}" if best.costs < -TELLING else "saves nothing"
    if worst.costs < TELLING:
        return (f"Near-data compute {saves}, and costs nothing on any machine here.",)
    why = (
        f"pooled vectors and gradients keep the link busy for {milliseconds(worst.link[0])} a batch, each row sent once without "
        f"it for {milliseconds(worst.link[1])}"
        if worst.crosses
        else f"logic at each controller passes every lookup, {milliseconds(worst.logic)} a batch, and the memory is faster"
    )
    whole = f"Near-data compute {saves}; it costs most, {percent(worst.costs)}, with {_machine(worst)}: {why}."
    turns = []
    for memory in dict.fromkeys(one.memory for one in found):
        telling = [one for one in found if one.memory == memory and abs(one.costs) > TELLING]
        turns += [
            f"{memory} between {before.controllers} and {after.controllers}"
            for before, after in pairwise(telling)
            if before.costs * after.costs < 0
        ]
    return whole, f"Cost and saving change places over controllers of {', '.join(turns)}." if turns else ""


def _machine(one: Pair) -> str:
    many = "s" * (one.controllers > 1)
    return f"{one.controllers} " + (f"DRAM channel{many}" if one.memory == "expander-dram" else f"module{many} of {one.memory}")


def load(found: tuple[UnderLoad, ...]) -> pd.DataFrame:
    """Return latencies over load: the columns of LOAD, point (whether it was published), name at a line's end."""
    ends = {one.part: one.latencies[-1] for one in found if not one.published}
    names = named(ends, APART * max(one.latencies[-1] for one in found))
    rows: list[dict[str, object]] = []
    for one in found:
        rows += [{"part": one.part, "load": 100 * at, "ns": ns} for at, ns in zip(LOADS, one.latencies, strict=True)]
        rows[-1]["name"] = names.get(one.part)
        rows += [{"part": one.part, "load": 100 * at, "ns": ns, "source": one.source} for at, ns in one.published]
        rows[-len(one.published)] |= {"name": one.part} if one.published else {}
    frame = pd.DataFrame(rows, columns=["part", "load", "ns", "source", "name"])
    return frame.assign(point=frame.source.notna())


def systems(found: tuple[Sensitivity, ...]) -> tuple[Sensitivity, ...]:
    """Return them in the palette's order."""
    return tuple(sorted(found, key=lambda one: palette.systems().index(one.system)))
