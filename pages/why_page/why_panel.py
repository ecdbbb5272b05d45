"""The sources of the speed-up: steps from pmem to cxl, relaxed log, faster link."""

import streamlit as st

from engine.insight.decomposition import in_other_order
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.graphics import chart
from pages.ui import downloads
from pages.ui.plain import escape_markdown
from pages.why_page import insights, sentences, why_charts, why_tables


def draw(scenario: Scenario) -> None:
    """Draw all steps from pmem to cxl for this model on this machine."""
    with st.spinner("Estimating some two hundred machines"):
        all_insights = later.cached_result(insights.insights_of, scenario)
    if isinstance(all_insights, str):
        st.info(escape_markdown(all_insights))
        return

    st.markdown(f"**{escape_markdown(sentences.headline(all_insights.steps))}**")
    st.caption("The whole way from pmem to cxl for this model on this machine, whichever training system is chosen.")
    with st.container(horizontal=True):
        metric = st.segmented_control(
            "What of a batch?", why_tables.METRICS, default=why_tables.METRICS[0], required=True, key="of"
        )
        order = st.segmented_control(
            "In which order?", why_tables.ORDERS, default=why_tables.ORDERS[0], required=True, key="order"
        )
    way = all_insights.steps if order == why_tables.ORDERS[0] else in_other_order(all_insights.steps)
    waterfall = why_tables.waterfall(way, metric)
    title, subtitle = (
        why_tables.finding(all_insights.steps, metric),
        f"{metric} from PMEM to CXL; each bar is one change on top of those above it",
    )
    chart.draw(waterfall, why_charts.waterfall(metric), key="waterfall", title=title, subtitle=subtitle)
    for text in (sentences.order_matters(all_insights.steps), *sentences.cost_sentences(way), *sentences.refusal_sentences(way)):
        st.caption(escape_markdown(text))
    with st.expander("Every step in numbers"):
        steps = why_tables.steps(way)
        downloads.show(steps, why_tables.STEP_FORMATS)
        downloads.rows(steps, "emberpool-steps", "Download the steps as CSV")
        st.caption(
            "Other order: what the same change saves when it trades places with its neighbour, where a machine could be built so."
        )

    _draw_log(all_insights)
    _draw_links(all_insights, scenario)


def _draw_log(all_insights: insights.Insights) -> None:
    st.markdown("##### When does a relaxed log pay?")
    st.markdown(escape_markdown(" ".join(sentences.relaxation_sentence(all_insights.log))))
    left_column, right_column = st.columns(2)
    with left_column:
        rows, spec = why_tables.staleness(all_insights.log), why_charts.staleness()
        title = "How stale the MLP log must be to cost less than 1 %"
        chart.draw(rows, spec, key="staleness", title=title, subtitle="Staleness bound [batches] over the log's bandwidth")
    with right_column:
        rows, spec = why_tables.strict_and_relaxed(all_insights.log), why_charts.strict_and_relaxed()
        title = "What relaxing the log saves"
        chart.draw(
            rows, spec, key="relaxed", title=title, subtitle="Step time of CXL over the log's bandwidth, strict and relaxed"
        )
    st.caption(
        "A line ends where a strict log is as fast. Varied is the named end of the log; the other is at least twice as fast."
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
        title="Step time over CXL bandwidth",
        subtitle="A dot: doubling starts to save less than 1 %; dashed: this machine",
    )
    with st.expander("The link's work in numbers"):
        carried = why_tables.link_task_rows(all_insights.links)
        downloads.show(carried, why_tables.CARRIED_FORMATS)
        downloads.rows(why_tables.links(all_insights.links, scenario), "emberpool-bandwidth", "Download the curves as CSV")
