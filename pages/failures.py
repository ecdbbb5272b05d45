"""What will failures cost?"""

import streamlit as st

from engine.errors import EmberpoolError
from pages.answers import caution, estimates, later
from pages.failures_page import campaigns, close_up_panel, crash_viewer, effects_panel, fault_charts, fault_settings, fault_tables
from pages.own_data import leading, panel
from pages.shell import address, frame
from pages.ui import downloads, session
from pages.ui.plain import plain

frame.guard()
asked = session.scenario()
address.bar("failures", caution.sequence_caution(asked))
scenario = campaigns.supposed(asked)
try:
    refused = campaigns.too_many(scenario)
    with st.spinner("Training for weeks, once with every protection"):
        found = None if refused else later.cached_result(campaigns.of, scenario)
except EmberpoolError as error:
    refused, found = str(error), None
if found is None or not any(one.runs for one in found.protected):
    st.header(plain(found.protected[0].refused if found else refused), anchor=False)
    fault_settings.draw(scenario)
    st.stop()

st.header(plain(fault_tables.finding(found, scenario)), anchor=False)
st.caption(plain(fault_tables.setting(found, scenario)))
ratio = estimates.estimate_of(scenario).results.get("Effective training time ratio")
st.caption(plain(fault_tables.under_own_log(found, scenario, ratio)))
if scenario is not asked:
    st.caption(plain(fault_tables.example(asked, scenario)))
fault_settings.draw(scenario)
chosen = found.of(scenario.policy.protection)
if chosen.refused:
    st.warning(plain(chosen.refused))

of = st.segmented_control("What of the campaign?", fault_tables.OF, default=fault_tables.OF[0], required=True, key="of")
count = max(len(one.runs) for one in found.protected)
drawn = f"{count} seeds" if count > 1 else "1 seed"
st.markdown(f"**Where the {of.lower()} goes** The same faults for every protection, {drawn}")
shares = fault_tables.spent(found, of, scenario)
st.vega_lite_chart(shares, fault_charts.spent(of), key="spent", alt=f"Share of {of.lower()} by protection and what it went into")
for one in found.protected:
    if one.refused:
        st.caption(plain(f"{one.title}: {one.refused}"))
with st.expander("Every protection in numbers"):
    means = fault_tables.means(found)
    downloads.show(means, fault_tables.FORMATS, pinned="Protection")
    downloads.rows(means, "emberpool-protections", "Download the protections as CSV")
    st.caption("What comes back when a fault destroys what the column names; of several at once, the worst counts.")
    downloads.show(fault_tables.survives(), pinned="Protection")

st.subheader("How often should it be checkpointed?", anchor=False)
name = campaigns.curved(scenario)
curve = later.cached_result(campaigns.curve, scenario, name)
if isinstance(curve, str):
    st.info(plain(curve))
else:
    st.markdown(f"**{plain(fault_tables.on_periods(curve, found.of(name).title))}**")
    frame_of = fault_tables.periods(curve)
    spec = fault_charts.periods(fault_tables.best(curve), fault_tables.lowest(frame_of))
    st.vega_lite_chart(frame_of, spec, key="periods", alt="Time not useful over the checkpoint period")
    for text in fault_tables.yardsticks():
        st.caption(plain(text))
    downloads.rows(fault_tables.taken_away(frame_of), "emberpool-periods", "Download the periods as CSV")

st.subheader("What does one fault look like?", anchor=False)
run = chosen.runs[0] if chosen.runs else None
if run is None or not run.recoveries:
    st.info("No fault struck this protection's first campaign." if run else "Choose a protection that is possible here.")
else:
    number = 1
    if len(run.recoveries) > 1:
        number = st.slider(f"Fault, of {len(run.recoveries):,} in the first campaign", 1, len(run.recoveries), key="fault number")
    recovery = run.recoveries[number - 1]
    st.markdown(f"**{plain(fault_tables.on_recovery(run, recovery))}**")
    st.vega_lite_chart(fault_tables.around(run, recovery), fault_charts.around(), key="around", alt="Training around one fault")

st.subheader("What does a recovery cost in accuracy?", anchor=False)
effects_panel.draw(chosen)

st.subheader("What does the system's own log save?", anchor=False)
close_up_panel.draw(scenario)

st.subheader("What can a power loss leave behind?", anchor=False)
crash_viewer.draw()
panel.draw_apart(leading.FAILURES, "failures")
