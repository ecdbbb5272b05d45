"""How many nodes at which throughput? The count that each system needs, over the throughput asked for."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.core.figures import factor
from engine.registry import load
from engine.scenario.scenario import Scenario, with_values
from pages.answers import estimates
from pages.answers.headline import NODES, RATE
from pages.graphics import chart
from pages.systems import compare_charts
from pages.ui import downloads
from pages.ui.numbers import readable

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
    """Draw the switch, and behind it the chart; nothing where no throughput is asked for."""
    able = tuple(name for name in systems if load("systems", name).scales)
    if scenario.machine.target_throughput is None or not able:
        return
    help_ = "Searches the fewest whole nodes for a quarter to eight times the throughput asked for; some seconds."
    if not st.toggle("How many nodes at which throughput?", key="nodes over throughput", help=help_):
        return
    with st.spinner("Searching the fewest nodes for each throughput"):
        found = table(scenario, able)
    spec = compare_charts.nodes(able)
    subtitle = "Nodes that each training system needs, over the throughput asked for"
    chart.draw(found, spec, key="nodes", title=finding(found, able), subtitle=subtitle)
    titled = found.rename(columns=TITLES)
    downloads.show(titled, {TITLES["target"]: "%,.0f", RATE: "%,.0f", NODES: "%.0f"})
    downloads.rows(titled, "emberpool-nodes", "Download the nodes as CSV")


def table(scenario: Scenario, systems: Sequence[str]) -> pd.DataFrame:
    """Return one row a throughput and system: target, system, nodes and rate reached (None out of reach), note."""
    rows = []
    for times in TIMES:
        target = times * float(scenario.machine.target_throughput or 0.0)
        for name in systems:
            result = estimates.estimate_of(with_values(scenario, {TARGET: target, "system": name}))
            rows.append((target, name, result.results.get(NODES), result.results.get(RATE), "" if result.ran else result.outcome))
    return pd.DataFrame(rows, columns=list(TITLES))


def finding(found: pd.DataFrame, systems: Sequence[str]) -> str:
    """Return where the nodes of two systems are furthest apart, and from where on one saves none."""
    wide = found.pivot(index="target", columns="system", values="nodes").dropna()
    if len(systems) < 2 or wide.empty:
        return f"{systems[0]} by the throughput asked for" if len(wide) else "No throughput is in reach of all of them"
    frugal = wide.mean().idxmin()
    ratio = wide.max(axis=1) / wide[frugal]
    at = ratio.idxmax()
    if ratio[at] <= 1:
        return "All of them need as many nodes, whatever throughput is asked for"
    start = f"{frugal} needs up to {factor(ratio[at])} fewer nodes than {wide.loc[at].idxmax()}, at {readable(at, 'samples/s')}"
    even = ratio[ratio <= 1].index
    return (
        f"{start}; from {readable(min(even))} on none fewer"
        if len(even) and ratio[ratio.index >= min(even)].max() <= 1
        else start
    )
