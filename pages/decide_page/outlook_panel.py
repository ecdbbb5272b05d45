"""The part of Decide below its answer: changed questions, tipping points, losses, all systems."""

from concurrent.futures import Future

import streamlit as st

from engine.analysis.verdict.decide import Verdict
from engine.analysis.verdict.outlook.bands import VerdictBands
from engine.analysis.verdict.outlook.tipping import TippingPoint
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.report.sentences import popularity_changes, tipping_words
from engine.analysis.verdict.stacks import EXISTS
from engine.campaign.monthly.losses import LOST_USD
from engine.insight.running_costs import assumptions
from engine.registry import load_variant
from pages.decide_page import costs, decide_charts, decide_tables
from pages.graphics import chart
from pages.ui import downloads, session
from pages.ui.plain import escape_markdown

LOSS_FORMATS = {
    decide_tables.WORST_BATCHES: "%,.0f",
    decide_tables.WORST_MINUTES: "%.3g",
    "Samples that count [%]": "%.2f",
    LOST_USD: "%,.0f",
}


def draw_bars(verdict: Verdict, bands: VerdictBands | None) -> None:
    """Draw the cost of each family's best machine."""
    frame = decide_tables.family_rows(verdict, bands)
    if frame.empty or not verdict.families:
        st.markdown("**No machine has a price to compare.** Choose another objective, or allow more parts.")
    else:
        unit = costs.cost_title(verdict.question)
        cheapest_row = verdict.families[0]
        order, parts = (tuple(dict.fromkeys(frame[name])) for name in ("family", "part"))
        spec = decide_charts.family_bars(unit, order, parts)
        is_beaten = decide_charts.TO_BE_WRITTEN in parts and verdict.question.software.text == EXISTS
        title = f"{cheapest_row.family} is cheapest{' with software that exists' * is_beaten}"
        title = title if cheapest_row.meets else "No family meets the requirement"
        dashed = "; dashed: on software that would have to be written" * (decide_charts.TO_BE_WRITTEN in parts)
        subtitle = f"{unit}, on each family's best machine{dashed}"
        chart.draw(frame, spec, key="families", title=title, subtitle=subtitle)
    for line in decide_tables.dearer_families(verdict):
        st.caption(escape_markdown(line))


def draw_cases(verdict: Verdict, cases: Future[tuple[VariedCase, ...]], tipping: Future[tuple[TippingPoint, ...]] | None) -> None:
    """Draw the winners of the usual changed questions, and the points where the verdict changes."""
    best_row, changes = verdict.best_row, []
    st.subheader("What if?", anchor=False)
    if not cases.done() or cases.exception():
        st.caption("These cases are being computed ..." if not cases.done() else escape_markdown(str(cases.exception())))
    else:
        formats, cost_title = decide_tables.number_formats(verdict.question), costs.cost_title(verdict.question)
        downloads.show(
            decide_tables.case_rows(cases.result(), verdict),
            {name: formats[name] for name in (cost_title, decide_charts.PRICE, decide_charts.RATE)},
        )
        if best_row and "cxl" not in load_variant("systems", best_row.system).devices:
            st.caption("The best machine has no CXL link, so the bandwidth of the link changes only machines of other families.")
        changes = [*popularity_changes(verdict, cases.result())]
    st.markdown("**Where does the verdict change?**")
    if tipping is None or not tipping.done() or tipping.exception():
        waits = tipping is None or not tipping.done()
        st.caption(
            "The tipping points are computed once the map is complete or stopped."
            if waits or tipping is None
            else escape_markdown(str(tipping.exception()))
        )
    else:
        st.markdown("\n".join(f"- {escape_markdown(line)}" for line in (*changes, *tipping_words(tipping.result()))))


def draw_losses(verdict: Verdict) -> None:
    """Draw the loss by a failure on each family's best machine."""
    st.subheader("What does a failure lose?", anchor=False)
    frame = decide_tables.failure_losses(verdict)
    if frame.empty:
        return
    downloads.show(frame, LOSS_FORMATS)
    if (frame["Worst failure"] == "no failure has a rate").all():
        st.caption(
            "No failure has a rate. Choose published rates, or hours between power losses, under 'GPU, failures, prices' above."
        )


def draw_rows(verdict: Verdict, bands: VerdictBands | None) -> None:
    """Draw the row of every system, with a link to its machine in Design."""
    st.subheader("All systems", anchor=False)
    frame = decide_tables.all_rows(verdict, session.base(), bands)
    formats = decide_tables.number_formats(verdict.question)
    columns = {name: st.column_config.NumberColumn(format=form) for name, form in formats.items()}
    columns |= {"Open": st.column_config.LinkColumn(display_text="in Design"), "System": st.column_config.TextColumn(pinned=True)}
    st.dataframe(frame, hide_index=True, width="stretch", height="content", column_config=columns, placeholder="")
    downloads.rows(frame, "emberpool-verdict", "Download all systems as CSV")
    st.caption(
        escape_markdown(
            assumptions(verdict.priced_scenario),
            most=2000,
        )
    )
