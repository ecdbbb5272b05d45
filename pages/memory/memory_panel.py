"""What do latency, near-data compute and table size cost? Step time over each, and latency under load."""

import streamlit as st

from engine.insight.memory.latency import Sensitivity
from engine.insight.memory.near_data import Pair
from engine.insight.memory.under_load import UnderLoad
from engine.insight.memory.working_set import WorkingSet
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.memory import findings, memory_charts, memory_tables
from pages.ui import downloads
from pages.ui.plain import plain


def draw(scenario: Scenario) -> None:
    """Draw the pictures for this model on this machine."""
    with st.spinner("Estimating some six hundred machines"):
        found = later.cached_result(findings.of, scenario)
    if isinstance(found, str):
        st.info(plain(found))
        return
    links, pairs, parts, sizes = found
    _latency(links, scenario)
    left, right = st.columns(2)
    with left:
        _near_data(pairs)
    with right:
        _load(parts)
    _sizes(sizes)


def _latency(found: tuple[Sensitivity, ...], scenario: Scenario) -> None:
    if any(one.own.seconds for one in found):
        st.markdown(
            "**Step time over CXL latency** A dot: 5 % slower. Band: fewest to most requests in flight. Dashed: this machine"
        )
        rows = memory_tables.latency(found, scenario)
        spec = memory_charts.latency(memory_tables.ticks(rows))
        st.vega_lite_chart(rows, spec, key="latency", alt="Step time over CXL latency, a line a training system")
        curves = rows[rows.loses.isna()]
        downloads.rows(curves, "emberpool-latency", "Download the latencies as CSV", memory_tables.LATENCY)
    st.markdown("\n".join(f"- {plain(memory_tables.loses(one))}" for one in found))


def _sizes(found: tuple[WorkingSet, ...]) -> None:
    if not found:
        return
    st.markdown(
        "**Step time over the size of all tables** Each medium with as many modules as they take; dashed: a cache is full"
    )
    rows = memory_tables.sizes(found)
    st.vega_lite_chart(rows, memory_charts.sizes(), key="sizes", alt="Step time over table size, a line a medium")
    downloads.rows(rows, "emberpool-table-size", "Download step times over table size as CSV", memory_tables.SIZES)


def _near_data(found: tuple[Pair, ...]) -> None:
    if not found:
        return
    st.markdown(
        "**What near-data compute changes of a step [%]** Over PMEM modules, for dram over DRAM channels; empty: too small"
    )
    rows = memory_tables.near_data(found)
    st.vega_lite_chart(
        rows, memory_charts.near_data(), key="near-data", alt="Step time with near-data compute against without it"
    )
    st.caption(plain(" ".join(memory_tables.sign(found))))
    downloads.rows(rows, "emberpool-near-data", "Download near-data on and off as CSV", memory_tables.NEAR)


def _load(found: tuple[UnderLoad, ...]) -> None:
    st.markdown("**Latency under load [ns]** Of the parts of this machine, and of two that were measured: dots are published")
    rows = memory_tables.load(found)
    st.vega_lite_chart(rows, memory_charts.load(), key="load", alt="Latency over load, with published points")
    st.caption(
        "Beyond 85 % of its bandwidth no latency is published, and none rises further here. Rates fitted to step times stay flat."
    )
    downloads.rows(rows, "emberpool-load", "Download latencies under load as CSV", memory_tables.LOAD)
