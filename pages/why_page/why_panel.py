"""The sources of the speed-up: steps from pmem to cxl, relaxed log, faster link."""

from functools import partial

import streamlit as st

from engine.insight.decomposition import in_other_order
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.graphics import chart
from pages.ui import downloads, session
from pages.ui.plain import escape_markdown
from pages.why_page import insights, sentences, why_charts, why_tables


def draw(scenario: Scenario) -> None:
    """Draw all steps from pmem to cxl for this model on this machine."""
    session.keep_widgets("of", "order")
    draw_known = partial(_draw_insights, scenario)
    later.draw_when_known("Estimating about 200 machines", draw_known, insights.insights_of, scenario)


def _draw_insights(scenario: Scenario, all_insights: insights.Insights | str) -> None:
    if isinstance(all_insights, str):
        st.info(escape_markdown(all_insights))
        return

    st.markdown(f"**{escape_markdown(sentences.headline(all_insights.steps))}**")
    st.caption("All changes from PMEM to CXL for this model on this machine; the chosen training system has no effect here.")
    with st.container(horizontal=True):
        metric = st.segmented_control(
            "Result of a batch", why_tables.METRICS, default=why_tables.METRICS[0], required=True, key="of"
        )
        order = st.segmented_control(
            "Order of the changes", why_tables.ORDERS, default=why_tables.ORDERS[0], required=True, key="order"
        )
    way = all_insights.steps if order == why_tables.ORDERS[0] else in_other_order(all_insights.steps)
    waterfall = why_tables.waterfall(way, metric)
    title, subtitle = (
        why_tables.finding(all_insights.steps, metric),
        f"{metric} of a batch from PMEM to CXL; each bar adds one change to the changes above it",
    )
    chart.draw(waterfall, why_charts.waterfall(metric), key="waterfall", title=title, subtitle=subtitle)
    for text in (sentences.order_matters(all_insights.steps), *sentences.cost_sentences(way), *sentences.refusal_sentences(way)):
        st.caption(escape_markdown(text))
    with st.expander("Every change in numbers"):
        steps = why_tables.steps(way)
        downloads.show(steps, why_tables.STEP_FORMATS)
        downloads.rows(steps, "emberpool-steps", "Download the changes as CSV")
        st.caption(
            "Other order: the saving of the same change after it swaps places with its neighbour, if such a machine is possible."
        )

    _draw_log(all_insights)
    _draw_links(all_insights, scenario)


def _draw_log(all_insights: insights.Insights) -> None:
    st.markdown("##### When does a relaxed log save time?")
    st.markdown(escape_markdown(" ".join(sentences.relaxation_sentence(all_insights.log))))
    left_column, right_column = st.columns(2)
    with left_column:
        rows, spec = why_tables.staleness(all_insights.log), why_charts.staleness()
        title = sentences.needed_staleness(all_insights.log)
        chart.draw(
            rows,
            spec,
            key="staleness",
            title=title,
            subtitle="Staleness bound [batches] that makes the log cost less than 1 %, over the log's bandwidth",
        )
    with right_column:
        rows, spec = why_tables.strict_and_relaxed(all_insights.log), why_charts.strict_and_relaxed()
        title = sentences.relaxed_saving(all_insights.log)
        chart.draw(
            rows, spec, key="relaxed", title=title, subtitle="Step time of CXL [ms] over the log's bandwidth, strict and relaxed"
        )
    st.caption(
        "A line ends where a strict log is as fast. It varies the bandwidth of one end; the other end is at least twice as fast."
    )
    with st.expander("Every log bandwidth in numbers"):
        logs = why_tables.logs(all_insights.log)
        downloads.show(logs, why_tables.LOG_FORMATS)
        downloads.rows(logs, "emberpool-relaxation", "Download the log bandwidths as CSV")


def _draw_links(all_insights: insights.Insights, scenario: Scenario) -> None:
    st.markdown("##### When does more CXL bandwidth stop helping?")
    st.markdown("\n".join(f"- {escape_markdown(sentences.saturation_sentence(saturation))}" for saturation in all_insights.links))
    rows, spec = why_tables.links(all_insights.links, scenario), why_charts.links()
    chart.draw(
        rows,
        spec,
        key="links",
        title=sentences.saturation_sentence(all_insights.links[-1]).partition(". ")[0],
        subtitle="Step time [ms] over CXL bandwidth; dot: from here on doubling saves less than 1 %; dashed: this machine",
    )
    with st.expander("Tasks on the link, in numbers"):
        carried = why_tables.link_task_rows(all_insights.links)
        downloads.show(carried, why_tables.CARRIED_FORMATS)
        downloads.rows(why_tables.links(all_insights.links, scenario), "emberpool-bandwidth", "Download the curves as CSV")
