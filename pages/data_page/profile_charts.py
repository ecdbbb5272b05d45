"""Charts of a profile: misses, popularity, batches, tables, and TorchRec's planner."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from engine.core.figures import count
from engine.insight.data_profile import BATCH_SIZES, Profile
from pages.data_page import workload_charts, workload_tables
from pages.graphics import chart
from pages.graphics.log_axes import log_ticks
from pages.ui import downloads

MISSES, ROWS, LOOKUPS = "Lookups that miss [%]", "Share of rows [%]", "Share of lookups [%]"
SHARES = log_ticks((0.01, 100))
EXAMPLE_SHARE = 0.01  # share of rows that the title names where the scenario has no cache
MEANS = "A cache per table holds the same share of the rows of every table"
PLANNER = "The planner reads 897 GB/s from HBM and 32 GB/s from host memory; the cache holds the hottest rows"


def misses(profile: Profile, share: float, other_profiles: Mapping[str, Profile]) -> pd.DataFrame:
    """Draw missing lookups by cache size, and return the drawn rows."""
    frame, size = workload_tables.hits(profile, share, other_profiles), f"Cache size [{workload_tables.unit(profile)}]"
    names = workload_tables.curve_names(workload_tables.POLICIES, other_profiles)
    spec = workload_charts.lines(size, MISSES, names, ticks=log_ticks(frame["x"]))
    chart.draw(
        frame,
        spec,
        key="misses",
        title=workload_tables.sizes_sentence(profile),
        subtitle=f"{MISSES} by cache size{'; dashed upright line: this cache' if (frame['name'] == '').any() else ''}. {MEANS}",
        columns={"x": size, "share": ROWS, "y": MISSES, "name": "Cache"},
    )
    return frame


def popularity(profile: Profile, other_profiles: Mapping[str, Profile]) -> None:
    """Draw the share of lookups that the hottest rows take."""
    spec = workload_charts.lines(
        ROWS, LOOKUPS, workload_tables.curve_names((workload_charts.HOTTEST,), other_profiles), ticks=SHARES
    )
    chart.draw(
        workload_tables.popularity(profile, other_profiles),
        spec,
        key="popularity",
        title=workload_tables.popularity_sentence(profile),
        subtitle="Share of lookups [%] that the hottest rows take, by their share of all rows",
        columns={"x": ROWS, "y": LOOKUPS, "name": "Rows"},
    )


def batches(profile: Profile, other_profiles: Mapping[str, Profile], batch_size: int, file: bool) -> None:
    """Draw unique rows and overlap by batch size, if the profile has several batch sizes.

    batch_size: that of the scenario, which the title is about. file: whether the profile is of a file.
    """
    if not profile.by_batch:
        return
    names = workload_tables.curve_names((workload_tables.UNIQUE, workload_tables.REPEATED_ROWS), other_profiles)
    ticks = tuple(float(size) for size, *_ in profile.by_batch) if file else tuple(map(float, BATCH_SIZES))
    chart.draw(
        workload_tables.batches(profile, other_profiles),
        workload_charts.lines("Batch size [samples]", LOOKUPS, names, ticks=ticks, every_tick=True),
        key="batches",
        title=workload_tables.batches_sentence(profile, batch_size),
        subtitle="Share of a batch's lookups [%], by batch size",
        columns={"x": "Batch size [samples]", "y": LOOKUPS, "name": "What"},
    )


def tables(profile: Profile, share: float) -> None:
    """Draw the misses of a separate cache for each table, by the cached share of its rows."""
    frame = workload_tables.by_table(profile)
    tables_drawn, num_tables = frame["table"].nunique(), len(profile.table_rows)
    limit_text = f", of the {tables_drawn} largest of {count(num_tables, 'table')}" if tables_drawn < num_tables else ""
    chart.draw(
        frame,
        workload_charts.tables(tables_drawn),
        key="tables",
        title=workload_tables.tables_sentence(profile, share if share > 0 else EXAMPLE_SHARE),
        subtitle=f"{MISSES} of an LRU cache of each table by the share of the table's rows that it holds{limit_text}",
        columns={"table": "Table", "rows": "Rows", "x": "Cache of each table, share of its rows [%]", "y": MISSES},
    )


def planner(profile: Profile, share: float) -> None:
    """Draw the bandwidth by TorchRec's planner and by the real hits, with the steps between."""
    frame, unit = workload_tables.bandwidth(profile, share), workload_tables.unit(profile)
    spec = workload_charts.lines(
        f"Cache size [{unit}]",
        "Bandwidth [GB/s]",
        (workload_tables.PLANNER, workload_tables.REAL_BANDWIDTH),
        log_y=True,
        ticks=log_ticks(frame["x"]),
        rates=log_ticks(frame[frame["name"] != ""]["y"]),
    )
    chart.draw(
        frame,
        spec,
        key="planner",
        title=workload_tables.planner_sentence(profile, share),
        subtitle=f"Bandwidth [GB/s] by cache size. {PLANNER}",
        source="TorchRec's planner",
        columns={"x": f"Cache size [{unit}]", "y": "Bandwidth [GB/s]", "name": "By"},
    )
    downloads.show(workload_tables.planner_steps(profile, share)[["Step", "Bandwidth", "Factor"]])


def numbers(frame: pd.DataFrame, profile: Profile) -> None:
    """Draw the numbers of the chart of misses as a table."""
    with st.expander("Misses by cache size, in numbers"):
        table = workload_tables.numbers(frame, workload_tables.unit(profile))
        downloads.show(table, dict.fromkeys(table.columns, "%.3g"))
        downloads.rows(table, "emberpool-workload", "Download the misses as CSV")
