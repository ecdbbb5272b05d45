"""Step time over latency, near-data compute and table size, and latency under load."""

from functools import partial

import streamlit as st

from engine.hardware.devices.gpu import memory_bytes
from engine.insight.memory.gpu_memory import gpu_memory, gpu_memory_finding
from engine.insight.memory.latency import Sensitivity
from engine.insight.memory.near_data import NearDataPair
from engine.insight.memory.under_load import LoadedLatency
from engine.insight.memory.working_set import WorkingSet
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.graphics import chart
from pages.memory import findings, memory_charts, memory_tables
from pages.ui import downloads
from pages.ui.plain import escape_markdown


def draw(scenario: Scenario) -> None:
    """Draw the charts for this model on this machine, after its GPU memory by kind."""
    _draw_gpu_memory(scenario)
    draw_known = partial(_draw_findings, scenario)
    later.draw_when_known("Estimating about 600 machines", draw_known, findings.memory_findings, scenario)


def _draw_gpu_memory(scenario: Scenario) -> None:
    """Draw the fullest GPU's memory by kind; nothing for a machine without a GPU."""
    if not (kinds := gpu_memory(scenario)):
        return
    capacity = memory_bytes(scenario.machine)
    frame = memory_tables.gpu_memory(kinds, capacity)
    subtitle = "Memory of the fullest GPU during a batch, by kind [GB]; dashed: what the GPU has"
    title = gpu_memory_finding(kinds, capacity)
    spec = memory_charts.gpu_memory(tuple(frame.label))
    chart.draw(frame, spec, key="gpu-memory", title=title, subtitle=subtitle, columns=memory_tables.GPU_MEMORY_COLUMNS)


def _draw_findings(scenario: Scenario, all_findings: findings.MemoryFindings | str) -> None:
    if isinstance(all_findings, str):
        st.info(escape_markdown(all_findings))
        return
    links, pairs, parts, sizes = all_findings
    _draw_latency(links, scenario)
    left_column, right_column = st.columns(2)
    with left_column:
        _draw_near_data(pairs)
    with right_column:
        _draw_load(parts)
    _draw_sizes(sizes)


def _draw_latency(sensitivities: tuple[Sensitivity, ...], scenario: Scenario) -> None:
    if any(sensitivity.own_curve.seconds for sensitivity in sensitivities):
        rows = memory_tables.latency(sensitivities, scenario)
        subtitle = (
            "Step time [ms] over CXL latency; dot: 5 % slower than without latency; "
            "band: fewest to most accesses in flight; dashed: the latency of this machine"
        )
        title = memory_tables.latency_finding(sensitivities)
        chart.draw(rows, memory_charts.latency(), key="latency", title=title, subtitle=subtitle)
        curves = rows[rows.loses.isna()]
        downloads.rows(curves, "emberpool-latency", "Download the latencies as CSV", memory_tables.LATENCY_COLUMNS)
    st.markdown("\n".join(f"- {escape_markdown(memory_tables.loss_sentence(sensitivity))}" for sensitivity in sensitivities))


def _draw_sizes(working_sets: tuple[WorkingSet, ...]) -> None:
    if not working_sets:
        return
    rows = memory_tables.sizes(working_sets)
    subtitle = (
        "Step time [ms] over the size of all tables; each medium has the modules that the tables need; dashed: a cache is full"
    )
    chart.draw(rows, memory_charts.sizes(), key="sizes", title=memory_tables.sizes_finding(rows), subtitle=subtitle)
    downloads.rows(rows, "emberpool-table-size", "Download step times over table size as CSV", memory_tables.SIZE_COLUMNS)


def _draw_near_data(pairs: tuple[NearDataPair, ...]) -> None:
    if not pairs:
        return
    rows = memory_tables.near_data(pairs)
    subtitle = "Change of the step time [%] over the number of PMEM modules or DRAM channels; empty: the tables do not fit"
    sentences = memory_tables.near_data_sentences(pairs)
    title = sentences[0].partition(";")[0].rstrip(".")
    chart.draw(rows, memory_charts.near_data(), key="near-data", title=title, subtitle=subtitle)
    if (told := " ".join(filter(None, sentences))).rstrip(".") != title:
        st.caption(escape_markdown(told))
    downloads.rows(rows, "emberpool-near-data", "Download near-data on and off as CSV", memory_tables.NEAR_DATA_COLUMNS)


def _draw_load(loads: tuple[LoadedLatency, ...]) -> None:
    rows = memory_tables.load(loads)
    subtitle = "Latency [ns] over the load of this machine's parts and of measured parts; dots: published"
    chart.draw(rows, memory_charts.load(), key="load", title=memory_tables.load_finding(loads), subtitle=subtitle)
    st.caption(
        "A line goes through the measured points of its part, or follows a formula that stays level above 85 % of the bandwidth. "
        "Parts whose rates are fitted to step times have a constant latency."
    )
    downloads.rows(rows, "emberpool-load", "Download latencies under load as CSV", memory_tables.LOAD_COLUMNS)
