"""Latency, near-data compute and load as plain tables and sentences, for charts and CSV files."""

from collections.abc import Mapping
from itertools import pairwise
from math import log

import pandas as pd

from engine.core.arithmetic import total
from engine.core.figures import exact, figure, percent
from engine.hardware.concurrency import LINE
from engine.hardware.devices.cxl import link_latency
from engine.insight.memory.latency import LATENCIES, LOSS, LatencyCurve, Sensitivity
from engine.insight.memory.near_data import NearDataPair
from engine.insight.memory.under_load import LOADS, LoadedLatency
from engine.insight.memory.working_set import WorkingSet
from engine.insight.saturation import busier_direction_seconds
from engine.scenario.scenario import Scenario
from engine.schedule.machine import sized_scenario
from engine.units import GB, MS, NS
from pages.ui import palette
from pages.ui.numbers import change, milliseconds

MIN_DISTANCE = 0.07  # share of the axis: lines that end nearer to each other share one name
MIN_CHANGE = 0.005  # share of a step: smaller changes count as none
LATENCY_COLUMNS = {
    "system": "Training system",
    "ns": "CXL latency [ns]",
    "step": "Step time [ms]",
    "fewest": "Step time, fewest in flight [ms]",
    "most": "Step time, most in flight [ms]",
}
NEAR_DATA_COLUMNS = {
    "memory": "Memory",
    "controllers": "Memory controllers",
    "on": "Step time, near-data on [ms]",
    "off": "Step time, near-data off [ms]",
    "logic": "Logic busy [ms]",
    "link_on": "Link, both directions, near-data on [ms]",
    "link_off": "Link, both directions, near-data off [ms]",
}
SIZE_COLUMNS = {"memory": "Memory", "size": "Tables [GB]", "step": "Step time [ms]"}
GPU_MEMORY_COLUMNS = {"kind": "Kind", "held": "Memory [GB]", "capacity": "GPU memory [GB]"}
LOAD_COLUMNS = {"part": "Part", "load": "Load [% of bandwidth]", "ns": "Latency [ns]", "source": "Published by"}


def gpu_memory(kinds: Mapping[str, float], capacity: float) -> pd.DataFrame:
    """Return a GPU's memory by kind: kind, held, capacity [GB], label.

    `label` is the name of a kind with its memory, as the legend shows it.
    """
    rows = [
        (kind, nbytes / GB, capacity / GB, f"{kind.capitalize()}: {figure(nbytes / GB, 'GB')}") for kind, nbytes in kinds.items()
    ]
    return pd.DataFrame(rows, columns=["kind", "held", "capacity", "label"])


def sizes(working_sets: tuple[WorkingSet, ...]) -> pd.DataFrame:
    """Return step times over table size: columns of SIZES, full, and name.

    `full` is the size at which a cache is full; `name` is the label at a line's end.
    """
    rows = [
        (working_set.memory, working_set.nbytes / GB, working_set.seconds / MS, working_set.cache / GB or None)
        for working_set in working_sets
    ]
    frame = pd.DataFrame(rows, columns=["memory", "size", "step", "full"]).astype({"full": float})
    last_rows = frame.groupby("memory")["size"].idxmax()
    low, high = frame.step.min(), frame.step.max()
    ends = {frame.memory[row]: log(frame.step[row] / low) for row in last_rows}
    return frame.assign(
        name=frame.memory.map(line_names(ends, MIN_DISTANCE * log(high / low))).where(frame.index.isin(last_rows))
    )


def latency(sensitivities: tuple[Sensitivity, ...], scenario: Scenario) -> pd.DataFrame:
    """Return step times over latency: columns of LATENCY, name, loses, present.

    `name` is the label at a line's end, `loses` marks where a system begins to slow down, `present` the scenario's latency.
    """
    rows: list[dict[str, object]] = []
    for sensitivity in sensitivities:
        curves = (sensitivity.own_curve.seconds, sensitivity.fewest_curve.seconds, sensitivity.most_curve.seconds)
        for ns, *steps in zip(LATENCIES, *curves, strict=True) if sensitivity.own_curve.seconds else ():
            rows.append({"system": sensitivity.system, "ns": ns, **dict(zip(("step", "fewest", "most"), steps, strict=True))})
        if sensitivity.own_curve.losing_latency:
            start = (1 + LOSS) * sensitivity.own_curve.seconds[0]
            rows.append(
                {
                    "system": sensitivity.system,
                    "ns": sensitivity.own_curve.losing_latency,
                    "step": start,
                    "loses": figure(sensitivity.own_curve.losing_latency, "ns"),
                }
            )
    frame = pd.DataFrame(rows, columns=["system", "ns", "step", "fewest", "most", "loses"])
    measures = ["step", "fewest", "most"]
    frame[measures] /= MS
    low, high = frame[measures].min().min(), frame[measures].max().max()
    last_rows = frame[(frame.ns == LATENCIES[-1]) & frame.loses.isna()]
    ends = {system: log(step / low) for system, step in zip(last_rows.system, last_rows.step, strict=True)}
    names = line_names(ends, MIN_DISTANCE * log(high / low))
    frame["name"] = frame.system.map(names).where(frame.index.isin(last_rows.index))
    return frame.assign(present=link_latency(sized_scenario(scenario).machine))


def latency_finding(sensitivities: tuple[Sensitivity, ...]) -> str:
    """Return the sentence on the system that slows down at the lowest CXL latency."""
    starts = {
        sensitivity.system: sensitivity.own_curve.losing_latency
        for sensitivity in sensitivities
        if sensitivity.own_curve.losing_latency
    }
    if not starts:
        return f"No system is {percent(LOSS)} slower up to {exact(LATENCIES[-1])} ns of CXL latency"
    system, start = min(starts.items(), key=lambda pair: pair[1])
    return f"{palette.system_titles()[system]} is the first that is {percent(LOSS)} slower, from {figure(start, 'ns')} on"


def sizes_finding(rows: pd.DataFrame) -> str:
    """Return a sentence on the range of step times over table sizes; `rows` are those of `sizes`."""
    steps = " to ".join(dict.fromkeys(figure(step, "ms") for step in (rows.step.min(), rows.step.max())))
    return f"A step takes {steps} with tables of {figure(rows['size'].min(), 'GB')} to {figure(rows['size'].max(), 'GB')}"


def load_finding(loads: tuple[LoadedLatency, ...]) -> str:
    """Return the sentence on the part whose latency rises most under load."""
    worst = max(loads, key=lambda part_curve: part_curve.latencies[-1] / part_curve.latencies[0])
    low, high = (figure(worst.latencies[place], "ns") for place in (0, -1))
    return f"Under load, the latency of {worst.part} rises most: from {low} to {high}"


def line_names(ends: Mapping[str, float], min_distance: float) -> dict[str, str]:
    """Return a label for each line's end; lines whose ends are too close share a label."""
    groups: list[list[str]] = []
    for line in sorted(ends, key=ends.__getitem__):
        if groups and ends[line] - ends[groups[-1][-1]] < min_distance:
            groups[-1].append(line)
        else:
            groups.append([line])
    return {group[-1]: ", ".join(group) for group in groups}


def loss_sentence(sensitivity: Sensitivity) -> str:
    """Return a sentence on the latency that slows a system down, and why.

    If no latency slows the system down, the sentence says what work hides the link.
    """
    if sensitivity.refused:
        return f"{sensitivity.system} cannot run: {sensitivity.refused}"
    if sensitivity.own_curve.losing_latency:
        rate = sensitivity.in_flight * LINE / (sensitivity.filling_latency * NS) / GB
        return (
            f"{sensitivity.system} is {percent(LOSS)} slower from "
            f"{figure(sensitivity.own_curve.losing_latency, 'ns')} on (with the "
            f"fewest accesses in flight {_loss_start(sensitivity.fewest_curve)}, "
            f"with the most {_loss_start(sensitivity.most_curve)}): "
            f"{sensitivity.link_tasks[0].task} waits for the link. "
            f"{exact(sensitivity.in_flight)} lines in flight keep the link at {figure(rate, 'GB/s')} only while an access under "
            f"load takes at most {figure(sensitivity.filling_latency, 'ns')}."
        )
    busy = busier_direction_seconds(sensitivity.link_tasks)
    waited = total(task.exposed_seconds for task in sensitivity.link_tasks)
    hidden = sorted(sensitivity.link_tasks, key=lambda task: task.exposed_seconds - task.busy_seconds)[:2]
    parts = " and ".join(
        f"{milliseconds(task.busy_seconds - task.exposed_seconds)} of {task.task} {task.hidden_by}" for task in hidden
    )
    waits = f"a batch waits {milliseconds(waited)} for it" if waited else "no task waits for it"
    fewest = (
        f", with the fewest accesses in flight {_loss_start(sensitivity.fewest_curve)}"
        if sensitivity.fewest_curve.losing_latency
        else ""
    )
    return (
        f"{sensitivity.system} loses less than {percent(LOSS)} up to {exact(LATENCIES[-1])} ns{fewest}: its link's busier "
        f"direction is then busy for {milliseconds(busy)} a batch, and {waits}; hidden time: {parts}."
    )


def _loss_start(curve: LatencyCurve) -> str:
    return f"from {figure(curve.losing_latency, 'ns')}" if curve.losing_latency else "never"


def near_data(pairs: tuple[NearDataPair, ...]) -> pd.DataFrame:
    """Return a row for each machine: columns of NEAR, the step's change as a share, its label."""
    return pd.DataFrame(
        [
            {
                "memory": pair.memory,
                "controllers": pair.controllers,
                "on": pair.step_with / MS,
                "off": pair.step_without / MS,
                "logic": pair.logic_busy / MS,
                "link_on": pair.link_busy[0] / MS,
                "link_off": pair.link_busy[1] / MS,
                "change": pair.added_share,
                "label": change(pair.step_with, pair.step_without),
            }
            for pair in pairs
        ]
    )


def near_data_sentences(pairs: tuple[NearDataPair, ...]) -> tuple[str, ...]:
    """Return sentences on where near-data compute saves time, where it costs most, and why."""
    best_pair, worst_pair = (pick(pairs, key=lambda pair: round(pair.added_share, 6)) for pick in (min, max))
    saves = (
        f"saves at most {percent(-best_pair.added_share)} of the step time, with {_memory_text(best_pair)}"
        if best_pair.added_share < -MIN_CHANGE
        else "saves nothing"
    )
    if worst_pair.added_share < MIN_CHANGE:
        return (f"Near-data compute {saves}, and costs nothing on any machine here.",)
    reason = (
        f"pooled vectors and gradients cross the link in {milliseconds(worst_pair.link_busy[0])} a batch, both directions "
        f"added; without near-data compute, each row is sent once, in {milliseconds(worst_pair.link_busy[1])}"
        if worst_pair.crosses_more
        else (f"the logic at each controller takes {milliseconds(worst_pair.logic_busy)} for a batch, and the memory is faster")
    )
    summary = (
        f"Near-data compute {saves}; it costs most, {percent(worst_pair.added_share)}, with {_memory_text(worst_pair)}: {reason}."
    )
    turns = []
    for memory in dict.fromkeys(pair.memory for pair in pairs):
        telling = [pair for pair in pairs if pair.memory == memory and abs(pair.added_share) > MIN_CHANGE]
        turns += [
            f"{memory} between {previous_pair.controllers} and {next_pair.controllers}"
            for previous_pair, next_pair in pairwise(telling)
            if previous_pair.added_share * next_pair.added_share < 0
        ]
    return summary, f"A cost turns into a saving, or back, with the number of controllers: {', '.join(turns)}." if turns else ""


def _memory_text(pair: NearDataPair) -> str:
    plural = "s" * (pair.controllers > 1)
    return f"{pair.controllers} " + (
        f"DRAM channel{plural}" if pair.memory == "expander-dram" else f"module{plural} of {pair.memory}"
    )


def load(loads: tuple[LoadedLatency, ...]) -> pd.DataFrame:
    """Return latencies over load: columns of LOAD, point (whether published), and name."""
    ends = {part_curve.part: part_curve.latencies[-1] for part_curve in loads if not part_curve.published}
    names = line_names(ends, MIN_DISTANCE * max(part_curve.latencies[-1] for part_curve in loads))
    rows: list[dict[str, object]] = []
    for part_curve in loads:
        rows += [
            {"part": part_curve.part, "load": 100 * share, "ns": ns}
            for share, ns in zip(LOADS, part_curve.latencies, strict=True)
        ]
        rows[-1]["name"] = names.get(part_curve.part)
        rows += [
            {"part": part_curve.part, "load": 100 * share, "ns": ns, "source": part_curve.source}
            for share, ns in part_curve.published
        ]
        rows[-len(part_curve.published)] |= {"name": part_curve.part} if part_curve.published else {}
    frame = pd.DataFrame(rows, columns=["part", "load", "ns", "source", "name"])
    return frame.assign(point=frame.source.notna())


def in_palette_order(sensitivities: tuple[Sensitivity, ...]) -> tuple[Sensitivity, ...]:
    """Return sensitivities in the palette's order."""
    return tuple(sorted(sensitivities, key=lambda sensitivity: palette.systems().index(sensitivity.system)))
