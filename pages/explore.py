"""What does this machine do for this model?"""

import streamlit as st

from pages.parts import address, charts, downloads, estimates, frame, session, tables, tiles, training_panel
from pages.parts.plain import plain

frame.guard()
scenario = session.scenario()
address.write()
results = estimates.beside(scenario)
result = results[scenario.system]

address.banner()
st.header(plain(result.finding or result.outcome), anchor=False)
for warning in result.warnings:
    st.caption(f"⚠️ {plain(warning)}")
if result.ran:
    tiles.draw(result, results)

left, right = st.columns(2)
with left:
    st.markdown(f"**Where does a batch of {scenario.model.name} spend its time?** Exposed time by stage")
    frame_of_stages = tables.by_stage(results, scenario.system)
    st.vega_lite_chart(frame_of_stages, charts.step_time(), key="stages", alt="Step time by stage for all training systems")
with right:
    st.markdown(f"**What does the run of {scenario.run.batches:,} batches burn?** Energy by component")
    devices = tables.by_component(results, scenario.system)
    parts = tables.parts(devices)
    st.vega_lite_chart(devices, charts.energy(parts), key="energy", alt="Energy by component for all training systems")
for name, other in results.items():
    if not other.ran and name != scenario.system:
        st.caption(f"{name} is not shown: {plain(other.outcome)}")

if result.ran:
    st.markdown(f"**What hides what?** A few steady batches of {scenario.system}, a lane per device; drag and wheel to zoom")
    shown = tables.renamed(result.timeline, tables.TIMELINE)
    st.vega_lite_chart(shown, charts.timeline(), key="timeline", alt="Timeline of a few batches with a lane per device")
    with st.expander("How busy is each device?"):
        busy = tables.renamed(result.devices, tables.DEVICES)
        st.vega_lite_chart(busy, charts.utilisation(), key="busy", alt="Busy share of each device")
        downloads.show(busy.rename(columns={"device": "Device", "busy": "Busy [%]", "note": "Note"}))
    with st.expander("All results of the estimate"):
        downloads.show(tables.beside(results))
        downloads.csv(list(results.values()), "emberpool-estimates", "Download all systems as CSV")

    st.subheader("What does training really give?", anchor=False)
    training_panel.draw(scenario, result)
