"""What does this machine do for this model, and is it enough?"""

import streamlit as st

from engine.registry import load
from pages.bar import question
from pages.common import address, charts, estimates, frame, palette, session, tables
from pages.common.headline import headline
from pages.common.plain import plain
from pages.design import constants_panel, details, enough_panel, fault_axis, strips, tiles, training_panel
from pages.systems import systems_panel

FAMILY = "whole family"

frame.guard()
scenario = session.scenario()
address.bar("design", systems_panel.to_share())
against = question.against(scenario)
with st.spinner("Estimating; the very first time takes some seconds more"):
    results = {**estimates.beside(scenario, palette.family(scenario.system)), against: estimates.of(question.baseline(scenario))}
result, base = results[scenario.system], results[against]

st.header(plain(headline(result, results)), anchor=False)
if result.finding:
    st.markdown(plain(result.finding))
with st.container(key="first-screen"):
    knobs, answer = st.columns((5, 8), gap="medium")
with knobs:
    strips.draw(scenario, session.refused())
with answer:
    enough_panel.draw(scenario)
    if result.ran:
        tiles.of_estimate(result, results)
        training_panel.draw(scenario, result)
    beside = (
        results if st.session_state.get(FAMILY) else {name: results[name] for name in dict.fromkeys((against, scenario.system))}
    )
    stages, parts = tables.by_stage(beside, scenario.system), tables.by_component(beside, scenario.system)
    st.vega_lite_chart(stages, charts.step_time(), key="stages", alt="Exposed step time by stage, chosen and baseline")
    spec = charts.energy(tables.drawn(parts))
    st.vega_lite_chart(parts, spec, key="energy", alt="Energy of the run by component, chosen and baseline")
    st.toggle(f"All systems of the family {load('systems', scenario.system).family}", key=FAMILY)
    for outcome, names in tables.not_shown(beside).items():
        st.caption(f"Not shown: {', '.join(names)}. {plain(outcome)}")
    if result.ran:
        fault_axis.draw(scenario, result)
for warning in result.warnings:
    st.caption(f"Note: {plain(warning)}")
constants_panel.note(scenario)
details.draw(scenario, result, base)
