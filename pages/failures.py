"""The page Failures: the time and money that failures cost, and what protects against them."""

import streamlit as st

from engine.errors import EmberpoolError
from pages.answers import caution, later
from pages.failures_page import (
    campaigns,
    close_up_panel,
    crash_viewer,
    failure_settings,
    faults_panel,
    losses_panel,
    period_panel,
)
from pages.own_data import leading, panel
from pages.shell import address, frame
from pages.ui import answer, session
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
if crowded:
    st.info(escape_markdown(crowded))
else:
    faults_panel.draw(scenario, simulated_campaigns)

st.subheader("What does the system's own log restore after a power loss?", anchor=False)
close_up_panel.draw(scenario)

st.subheader("Which states can a power loss leave in memory?", anchor=False)
crash_viewer.draw()
panel.draw_as_fragment(leading.FAILURES, "failures")
