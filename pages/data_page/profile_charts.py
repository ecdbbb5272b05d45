"""The charts of the page Data: misses by cache size, popularity, batches, tables, and what TorchRec's planner expects."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from engine.insight.data_profile import BATCH_SIZES, Profile
from pages.data_page import workload_charts, workload_tables
from pages.graphics import chart
from pages.graphics.log_axes import log_ticks
from pages.ui import downloads

MISSES, ROWS, LOOKUPS = "Lookups that miss [%]", "Share of rows [%]", "Share of lookups [%]"
SHARES = log_ticks((0.01, 100))
MEANS = "A cache per table gives each table the same share of its rows"
PLANNER = "Constants of the planner: 897 GB/s from HBM, 32 GB/s from host memory; hits are those of the hottest rows"


def misses(found: Profile, share: float, more: Mapping[str, Profile]) -> pd.DataFrame:
    """Draw how many lookups miss by the size of the cache, and return the rows that are drawn."""
    frame, size = workload_tables.hits(found, share, more), f"Cache size [{workload_tables.unit(found)}]"
    names = workload_tables.beside(workload_tables.POLICIES, more)
    spec = workload_charts.lines(size, MISSES, names, ticks=log_ticks(frame["x"]))
    chart.draw(
        frame,
        spec,
        key="misses",
        title=workload_tables.on_sizes(found),
        subtitle=f"{MISSES} by cache size{', which the dashed rule marks' if (frame['name'] == '').any() else ''}. {MEANS}",
        columns={"x": size, "share": ROWS, "y": MISSES, "name": "Cache"},
    )
    return frame


def popularity(found: Profile, more: Mapping[str, Profile]) -> None:
    """Draw the share of lookups that the hottest rows take."""
    spec = workload_charts.lines(ROWS, LOOKUPS, workload_tables.beside((workload_charts.HOTTEST,), more), ticks=SHARES)
    chart.draw(
        workload_tables.popularity(found, more),
        spec,
        key="popularity",
        title=workload_tables.on_popularity(found),
        subtitle="Share of lookups [%] that the hottest rows take, by their share of all rows",
        columns={"x": ROWS, "y": LOOKUPS, "name": "Rows"},
    )


def batches(found: Profile, more: Mapping[str, Profile], file: bool) -> None:
    """Draw unique rows and overlap by batch size, where there are batches enough."""
    if not found.by_batch:
        return
    names = workload_tables.beside((workload_tables.UNIQUE, workload_tables.AGAIN), more)
    ticks = tuple(float(size) for size, *_ in found.by_batch) if file else tuple(map(float, BATCH_SIZES))
    chart.draw(
        workload_tables.batches(found, more),
        workload_charts.lines("Batch size [samples]", LOOKUPS, names, ticks=ticks, every_tick=True),
        key="batches",
        title=workload_tables.on_batches(found),
        subtitle="Share of a batch's lookups [%], by batch size",
        columns={"x": "Batch size [samples]", "y": LOOKUPS, "name": "What"},
    )


def tables(found: Profile, share: float) -> None:
    """Draw the misses of a cache of each table, by its share of the table's rows."""
    frame = workload_tables.by_table(found)
    drawn, known = frame["table"].nunique(), len(found.table_rows)
    some = f", of the {drawn} largest of {known} tables" if drawn < known else ""
    chart.draw(
        frame,
        workload_charts.tables(drawn),
        key="tables",
        title=workload_tables.on_tables(found, share) if share > 0 else "Misses of an LRU cache of each table",
        subtitle=f"{MISSES} of an LRU cache of each table by the share of its rows that it holds{some}",
        columns={"table": "Table", "rows": "Rows", "x": "Cache of each table, share of its rows [%]", "y": MISSES},
    )


def planner(found: Profile, share: float) -> None:
    """Draw the bandwidth that TorchRec's planner expects beside that of the hits, and the steps between them."""
    frame, unit = workload_tables.bandwidth(found, share), workload_tables.unit(found)
    spec = workload_charts.lines(
        f"Cache size [{unit}]",
        "Bandwidth [GB/s]",
        (workload_tables.PLANNER, workload_tables.REAL),
        log_y=True,
        ticks=log_ticks(frame["x"]),
        rates=log_ticks(frame[frame["name"] != ""]["y"]),
    )
    chart.draw(
        frame,
        spec,
        key="planner",
        title=workload_tables.on_planner(found, share),
        subtitle=f"Bandwidth [GB/s] by cache size. {PLANNER}",
        source="TorchRec's planner",
        columns={"x": f"Cache size [{unit}]", "y": "Bandwidth [GB/s]", "name": "By"},
    )
    downloads.show(workload_tables.planner_steps(found, share)[["Step", "Bandwidth", "Factor"]])


def numbers(frame: pd.DataFrame, found: Profile) -> None:
    """Draw the numbers of the chart of misses as a table."""
    with st.expander("The numbers"):
        table = workload_tables.numbers(frame, workload_tables.unit(found))
        downloads.show(table, dict.fromkeys(table.columns, "%.3g"))
        downloads.rows(table, "emberpool-workload", "Download miss ratios as CSV")
