"""The page Failures: the time and money that failures cost, and what protects against them."""

import streamlit as st

from engine.core.figures import count
from engine.errors import EmberpoolError
from pages.answers import caution, estimates, later
from pages.failures_page import (
    campaigns,
    close_up_panel,
    crash_viewer,
    effects_panel,
    failure_settings,
    fault_charts,
    fault_tables,
    losses_panel,
    period_panel,
)
from pages.graphics import chart
from pages.own_data import leading, panel
from pages.shell import address, frame
from pages.ui import answer, downloads, session
from pages.ui.plain import escape_markdown

frame.guard()
session_scenario = session.scenario()
address.bar("failures", caution.sequence_caution(session_scenario))
scenario = campaigns.with_example_fault(session_scenario)
refused, simulated_campaigns, running = failure_settings.written_refusal(scenario), None, None
month, crowded = None, ""
if refused:  # the numbers of another machine would be taken for those of the one that is written
    finding, _, remedy = refused.partition(". ")
    answer.show(finding, [remedy or losses_panel.REMEDY])
    failure_settings.draw(session_scenario, scenario)
    panel.draw_as_fragment(leading.FAILURES, "failures")
    st.stop()
try:
    crowded = campaigns.too_many_faults(scenario)
    month = losses_panel.monthly_losses(scenario)
    if month is None and not crowded:
        running = later.answer("campaigns", campaigns.simulate_campaigns, scenario, long=True)
        simulated_campaigns = running.result() if running.done() else None
        month = losses_panel.losses_by_campaigns(scenario, simulated_campaigns) if simulated_campaigns else None
    refused = crowded if month is None else losses_panel.all_refused(month)
except EmberpoolError as error:
    refused, month, running = str(error), None, None
if month is None or refused:
    if running and not refused:
        answer.show(losses_panel.RUNNING, [losses_panel.RUNNING_WHY])
        later.redraw_after((running,))
    else:
        answer.show(refused, [losses_panel.REMEDY])
    failure_settings.draw(session_scenario, scenario)
    failure_settings.draw_presses(scenario, None, None)
    panel.draw_as_fragment(leading.FAILURES, "failures")
    st.stop()

losses_panel.draw_answer(month, scenario is not session_scenario)
failure_settings.draw(session_scenario, scenario)
failure_settings.draw_presses(scenario, losses_panel.better_period(month), losses_panel.better_protection(month))
losses_panel.draw(month)

st.subheader("How often should the model be checkpointed?", anchor=False)
period_panel.draw(scenario, month.chosen_loss)

st.subheader("What happens in these weeks, fault by fault?", anchor=False)
if simulated_campaigns is None and not crowded:
    with st.spinner("Simulating weeks of training, once with every protection"):
        simulated_campaigns = later.cached_result(campaigns.simulate_campaigns, scenario)
chosen_campaigns = simulated_campaigns.campaigns_of(scenario.policy.protection) if simulated_campaigns else None
if simulated_campaigns is None:
    st.info(escape_markdown(crowded))
else:
    ratio = estimates.estimate_of(scenario).results.get("Effective training time ratio")
    st.caption(escape_markdown(fault_tables.simulation_sentences(simulated_campaigns, scenario, ratio), most=1000))
    with st.expander("All protections in simulated numbers"):
        means = fault_tables.means_table(simulated_campaigns)
        downloads.show(means, fault_tables.FORMATS, pinned="Protection")
        downloads.rows(means, "emberpool-protections", "Download the protections as CSV")
        st.caption(
            "A cell says how much is restored when a fault destroys the parts in its column's title. If a fault destroys the "
            "parts of several columns, the worst cell counts."
        )
        downloads.show(fault_tables.survival_table(), pinned="Protection")
run = chosen_campaigns.runs[0] if chosen_campaigns and chosen_campaigns.runs else None
if simulated_campaigns is not None and (run is None or not run.recoveries):
    st.info("No fault strikes in the first campaign of this protection." if run else "Choose a protection that is possible here.")
elif run is not None:
    number = 1
    if len(run.recoveries) > 1:
        number = st.slider(
            f"Number of the fault, of {count(len(run.recoveries))} in the first campaign",
            1,
            len(run.recoveries),
            key="fault number",
        )
    recovery = run.recoveries[number - 1]
    timeline = fault_tables.fault_timeline(run, recovery)
    chart.draw(
        timeline,
        fault_charts.fault_timeline(),
        key="around",
        title=fault_tables.recovery_sentence(run, recovery),
        subtitle="Training, recovery and checkpoints around one fault; time from the fault [s]",
        columns={"lane": "Lane", "what": "What", "start": "Start [s]", "end": "End [s]"},
    )

if chosen_campaigns is not None:
    st.subheader("How much accuracy does a recovery cost?", anchor=False)
    effects_panel.draw(chosen_campaigns)

st.subheader("What does the system's own log restore after a power loss?", anchor=False)
close_up_panel.draw(scenario)

st.subheader("Which states can a power loss leave in memory?", anchor=False)
crash_viewer.draw()
panel.draw_as_fragment(leading.FAILURES, "failures")
