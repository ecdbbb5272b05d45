"""The simulated weeks of training, fault by fault, and the accuracy that a recovery costs."""

from functools import partial

import streamlit as st

from engine.campaign.simulate import Campaign
from engine.core.figures import count
from engine.scenario.scenario import Scenario
from pages.answers import estimates, later
from pages.failures_page import campaigns, effects_panel, fault_charts, fault_tables
from pages.failures_page.campaigns import Campaigns
from pages.graphics import chart
from pages.ui import downloads
from pages.ui.plain import escape_markdown

SIMULATING = "Simulating weeks of training, once with every protection"


def draw(scenario: Scenario, known_campaigns: Campaigns | None = None) -> None:
    """Draw the campaigns of all protections, if they are known, or else once they are."""
    if known_campaigns is not None:
        _draw_campaigns(scenario, known_campaigns)
    else:
        later.draw_when_known(SIMULATING, partial(_draw_campaigns, scenario), campaigns.simulate_campaigns, scenario)


def _draw_campaigns(scenario: Scenario, all_campaigns: Campaigns) -> None:
    ratio = estimates.estimate_of(scenario).results.get("Effective training time ratio")
    st.caption(escape_markdown(fault_tables.simulation_sentences(all_campaigns, scenario, ratio), most=1000))
    with st.expander("All protections in simulated numbers"):
        means = fault_tables.means_table(all_campaigns)
        downloads.show(means, fault_tables.FORMATS, pinned="Protection")
        downloads.rows(means, "emberpool-protections", "Download the protections as CSV")
        st.caption(
            "A cell says how much is restored when a fault destroys the parts in its column's title. If a fault destroys the "
            "parts of several columns, the worst cell counts."
        )
        downloads.show(fault_tables.survival_table(), pinned="Protection")
    chosen_campaigns = all_campaigns.campaigns_of(scenario.policy.protection)
    run = chosen_campaigns.runs[0] if chosen_campaigns.runs else None
    if run is not None and run.recoveries:
        _draw_one_fault(run)
    else:
        no_fault, no_run = (
            "No fault strikes in the first campaign of this protection.",
            "Choose a protection that is possible here.",
        )
        st.info(no_fault if run else no_run)
    st.subheader("How much accuracy does a recovery cost?", anchor=False)
    effects_panel.draw(chosen_campaigns)


def _draw_one_fault(run: Campaign) -> None:
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
