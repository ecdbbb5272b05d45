"""Is the work shared evenly? What each GPU, node, server or module has to do, and what other ways of sharding would take."""

import pandas as pd
import streamlit as st

from engine.analysis import part_loads
from engine.analysis.part_loads import PartLoads
from engine.registry import load
from engine.scenario.scenario import Scenario
from engine.units import GB, MS
from pages.answers import later
from pages.graphics import chart
from pages.systems import parts_charts
from pages.ui import downloads
from pages.ui.plain import plain

MOST = 32  # bars; of more parts the slowest are drawn
COLUMNS = {
    "part": "Part",
    "work": "Work",
    "ms": "Time in a batch [ms]",
    "held": "Tables [GB]",
    "lookups": "Lookups",
    "rows": "Unique rows",
    "sent": "Exchanged [MB]",
}
WAYS = {"way": "Sharding", "step": "Step time [ms]", "says": "What it is"}


def draw(scenario: Scenario) -> None:
    """Draw the finding, the parts as bars, and the ways of sharding beside each other."""
    found = later.cached_result(part_loads.part_loads, scenario)
    if found is None:
        st.caption(f"System {scenario.system} has one part here, or shares its work evenly: there is nothing to divide.")
        return
    st.markdown(f"**{plain(part_loads.sentence(found))}**")
    if found.loads:
        _bars(found)
    table = ways(found)
    title = f"Step time by way of sharding, now {found.in_force}"
    subtitle = "Step time [ms] by policy.sharding; a plan by hand is policy.plan"
    chart.draw(table, parts_charts.ways(), key="ways", title=title, subtitle=subtitle)
    for note in table[table.step.isna()].itertuples():
        st.caption(plain(f"{note.way}: {note.note}"))


def _bars(found: PartLoads) -> None:
    rows = bars(found)
    few = f"; the {MOST} slowest of {found.number}" if found.number > MOST else ""
    spec = parts_charts.parts()
    title = f"What each {found.title} does for its tables in a batch"
    subtitle = f"Time [ms], without launches and MLPs; dashed: an even share{few}"
    chart.draw(rows, spec, key="parts", title=title, subtitle=subtitle)
    downloads.rows(bars(found, found.number), "emberpool-parts", "Download the parts as CSV", COLUMNS)


def bars(found: PartLoads, most: int = MOST) -> pd.DataFrame:
    """Return a row for each part and kind of work, of the slowest parts where there are more than `most`."""
    loads = sorted(found.loads, key=lambda one: -sum(one.seconds))[:most]
    rows = [
        {
            "part": f"{found.title} {one.part}",
            "work": work,
            "ms": seconds / MS,
            "whole": sum(one.seconds) / MS,
            "slowest": one is loads[0],
            "even": found.even / MS,
            "held": one.held / GB,
            "lookups": one.lookups,
            "rows": one.rows,
            "sent": one.exchanged / 1e6,
        }
        for one in sorted(loads, key=lambda one: one.part)
        for work, seconds in zip(part_loads.WORK, one.seconds, strict=True)
    ]
    return pd.DataFrame(rows)


def ways(found: PartLoads) -> pd.DataFrame:
    """Return a row for each way of sharding, the fastest first."""
    rows = [
        {
            "way": way.name,
            "step": way.step,
            "says": load("plans", way.name).summary if way.name != part_loads.PLAN else "The plan by hand.",
            "chosen": way.name == found.in_force,
            "note": way.outcome,
        }
        for way in found.ways
    ]
    return pd.DataFrame(rows).sort_values("step", kind="stable")
