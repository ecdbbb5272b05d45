"""How evenly work is shared by GPUs, nodes, servers or modules; and other shardings."""

from functools import partial

import pandas as pd
import streamlit as st

from engine.analysis import part_loads
from engine.analysis.part_loads import PartLoads
from engine.core.arithmetic import total
from engine.core.figures import figure
from engine.registry import load_variant
from engine.scenario.scenario import Scenario
from engine.units import GB, MS
from pages.answers import later
from pages.graphics import chart
from pages.systems import parts_charts
from pages.ui import downloads
from pages.ui.plain import escape_markdown

MAX_BARS = 32  # bars; of more parts the slowest are drawn
COLUMNS = {
    "part": "Part",
    "work": "Work",
    "ms": "Time in a batch [ms]",
    "held": "Tables [GB]",
    "lookups": "Lookups",
    "rows": "Unique rows",
    "sent": "Exchanged [MB]",
}
SHARDING_COLUMNS = {"way": "Sharding", "step": "Step time [ms]", "says": "What it is"}


def draw(scenario: Scenario) -> None:
    """Draw the finding, a bar for each part, and the step times of all shardings."""
    draw_known = partial(_draw_loads, scenario)
    later.draw_when_known("Dividing the tables in every way", draw_known, part_loads.part_loads, scenario)


def _draw_loads(scenario: Scenario, all_loads: PartLoads | None) -> None:
    if all_loads is None:
        st.caption(
            f"Training system {scenario.system} has one part here, or shares its work evenly, so there is no sharding to choose."
        )
        return
    st.markdown(f"**{escape_markdown(part_loads.balance_sentence(all_loads))}**")
    if all_loads.loads:
        _draw_bars(all_loads)
    table = sharding_rows(all_loads)
    title = sharding_finding(table, all_loads.in_force)
    subtitle = "Step time [ms] by the knob policy.sharding; the knob policy.plan holds a plan by hand"
    chart.draw(table, parts_charts.sharding_chart(), key="ways", title=title, subtitle=subtitle)
    for note in table[table.step.isna()].itertuples():
        st.caption(escape_markdown(f"{note.way}: {note.note}"))


def sharding_finding(table: pd.DataFrame, in_force: str) -> str:
    """Return the sentence on the fastest sharding; `table` has the rows of `sharding_rows`."""
    fastest = table.iloc[0].way
    return f"The fastest sharding is {fastest}, in force now" if fastest == in_force else f"{fastest} is faster than {in_force}"


def _draw_bars(all_loads: PartLoads) -> None:
    rows = bars(all_loads)
    limit_text = f"; the {MAX_BARS} slowest of {all_loads.num_parts}" if all_loads.num_parts > MAX_BARS else ""
    spec = parts_charts.parts()
    slowest = rows[rows.slowest].iloc[0]
    title = f"{slowest.part} is the slowest: {figure(slowest.whole, 'ms')} a batch for its tables"
    subtitle = f"Time of each {all_loads.title} [ms], without launches and MLPs; dashed: an even share{limit_text}"
    chart.draw(rows, spec, key="parts", title=title, subtitle=subtitle)
    downloads.rows(bars(all_loads, all_loads.num_parts), "emberpool-parts", "Download the parts as CSV", COLUMNS)


def bars(all_loads: PartLoads, max_parts: int = MAX_BARS) -> pd.DataFrame:
    """Return a row for each part and kind of work, for the `max_parts` slowest parts."""
    loads = sorted(all_loads.loads, key=lambda part_load: -total(part_load.seconds))[:max_parts]
    rows = [
        {
            "part": f"{all_loads.title} {part_load.part}",
            "work": work,
            "ms": seconds / MS,
            "whole": total(part_load.seconds) / MS,
            "slowest": part_load is loads[0],
            "even": all_loads.even_seconds / MS,
            "held": part_load.table_bytes / GB,
            "lookups": part_load.lookups,
            "rows": part_load.rows,
            "sent": part_load.exchange_bytes / 1e6,
        }
        for part_load in sorted(loads, key=lambda part_load: part_load.part)
        for work, seconds in zip(part_loads.WORK_KINDS, part_load.seconds, strict=True)
    ]
    return pd.DataFrame(rows)


def sharding_rows(all_loads: PartLoads) -> pd.DataFrame:
    """Return a row for each sharding, the fastest first."""
    rows = [
        {
            "way": way.name,
            "step": way.step,
            "says": load_variant("plans", way.name).summary if way.name != part_loads.PLAN else "A plan by hand.",
            "chosen": way.name == all_loads.in_force,
            "note": way.outcome,
        }
        for way in all_loads.ways
    ]
    return pd.DataFrame(rows).sort_values("step", kind="stable")
