"""What does this machine do for this model?"""

import streamlit as st

from pages.common import address, charts, downloads, estimates, frame, session, tables
from pages.common.headline import headline
from pages.common.plain import plain
from pages.design import constants_panel, tiles, tornado, training_panel

frame.guard()
scenario = session.scenario()
address.bar("design")
with st.spinner("Estimating; the very first time takes some seconds more"):
    results = estimates.beside(scenario)
result = results[scenario.system]

st.header(plain(headline(result, results)), anchor=False)
if result.finding:
    st.markdown(plain(result.finding))
for warning in result.warnings:
    st.caption(f"Note: {plain(warning)}")
constants_panel.note(scenario)
if result.ran:
    tiles.of_estimate(result, results)

left, right = st.columns(2)
with left:
    st.markdown("**Where does a batch spend its time?** Exposed time by stage")
    stages = tables.by_stage(results, scenario.system)
    st.vega_lite_chart(stages, charts.step_time(), key="stages", alt="Step time by stage for all training systems")
with right:
    st.markdown("**Where does the energy go?** The whole run by component")
    parts = tables.by_component(results, scenario.system)
    st.vega_lite_chart(
        parts, charts.energy(tables.drawn(parts)), key="energy", alt="Energy by component for all training systems"
    )
for outcome, names in tables.not_shown(results).items():
    st.caption(f"Not shown: {', '.join(names)}. {plain(outcome)}")
if not result.ran:
    st.stop()

st.markdown(f"**What hides what?** A few steady batches of {scenario.system}, a lane per device; drag and wheel to zoom")
tasks = tables.renamed(result.timeline, tables.TIMELINE)
spec = charts.timeline()
st.vega_lite_chart(tasks, spec, key="timeline", alt="Timeline of a few batches, a lane per device")
with st.expander("How busy is each device?"):
    busy = tables.renamed(result.devices, tables.DEVICES)
    st.vega_lite_chart(busy, charts.utilisation(), key="busy", alt="Busy share of each device")
    downloads.show(busy.rename(columns={new: old for old, new in tables.DEVICES.items()}))
with st.expander("All results of the estimate"):
    downloads.show(tables.beside(results))
    downloads.csv(list(results.values()), "estimate", "emberpool-estimates", "Download all systems as CSV")
with st.expander("Where the numbers come from"):
    constants_panel.draw(scenario)

tornado.draw(scenario, result)
st.subheader("What does training really give?", anchor=False)
training_panel.draw(scenario, result)
