"""The number of nodes that each system needs, over target throughputs."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.core.figures import factor
from engine.registry import load_variant
from engine.scenario.scenario import Scenario, with_values
from pages.answers import estimates
from pages.answers.headline import NODES, RATE
from pages.graphics import chart
from pages.systems import compare_charts
from pages.ui import downloads
from pages.ui.numbers import result_text

TARGET = "machine.target_throughput"
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TITLES = {
    "target": "Throughput asked for [samples/s]",
    "system": "Training system",
    "nodes": NODES,
    "rate": RATE,
    "note": "Outcome",
}


def draw(scenario: Scenario, systems: Sequence[str]) -> None:
    """Draw a switch that shows the chart; draw nothing if the scenario has no target throughput."""
    able = tuple(name for name in systems if load_variant("systems", name).can_use_many_nodes)
    if scenario.machine.target_throughput is None or not able:
        return
    help_ = "Computes the fewest nodes for 0.25 to 8 times the target throughput; this takes some seconds."
    if not st.toggle("Show the nodes over the throughput", key="nodes over throughput", help=help_):
        return
    with st.spinner("Computing the fewest nodes for each throughput"):
        nodes_frame = table(scenario, able)
    spec = compare_charts.nodes(able)
    subtitle = "Nodes that each training system needs, over the target throughput"
    chart.draw(nodes_frame, spec, key="nodes", title=finding(nodes_frame, able), subtitle=subtitle)
    titled_frame = nodes_frame.rename(columns=TITLES)
    downloads.show(titled_frame, {TITLES["target"]: "%,.0f", RATE: "%,.0f", NODES: "%.0f"})
    downloads.rows(titled_frame, "emberpool-nodes", "Download the nodes as CSV")


def table(scenario: Scenario, systems: Sequence[str]) -> pd.DataFrame:
    """Return a row for each throughput and system: target, system, nodes, rate, note.

    Nodes and rate are None where the target is out of reach.
    """
    rows = []
    for times in TIMES:
        target = times * float(scenario.machine.target_throughput or 0.0)
        for name in systems:
            result = estimates.estimate_of(with_values(scenario, {TARGET: target, "system": name}))
            rows.append((target, name, result.results.get(NODES), result.results.get(RATE), "" if result.ran else result.outcome))
    return pd.DataFrame(rows, columns=list(TITLES))


def finding(nodes_frame: pd.DataFrame, systems: Sequence[str]) -> str:
    """Return a sentence on the throughput at which two systems' nodes differ most.

    It also says from which throughput on they agree.
    """
    nodes_by_system = nodes_frame.pivot(index="target", columns="system", values="nodes").dropna()
    if len(systems) < 2 or nodes_by_system.empty:
        return (
            f"Nodes of {systems[0]} over the target throughput"
            if len(nodes_by_system)
            else "No target is in reach of all systems"
        )
    frugal = nodes_by_system.mean().idxmin()
    ratio = nodes_by_system.max(axis=1) / nodes_by_system[frugal]
    target = ratio.idxmax()
    if ratio[target] <= 1:
        return "All systems need the same number of nodes at every target throughput"
    largest = nodes_by_system.loc[target].idxmax()
    start = f"{frugal} needs up to {factor(ratio[target])} fewer nodes than {largest}, at {result_text(target, 'samples/s')}"
    equal_targets = ratio[ratio <= 1].index
    return (
        f"{start}; from {result_text(min(equal_targets), 'samples/s')} on as many"
        if len(equal_targets) and ratio[ratio.index >= min(equal_targets)].max() <= 1
        else start
    )
