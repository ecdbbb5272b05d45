"""The page Design: the speed and cost of this machine for this model.

The answer at the top says whether the machine meets the target.
"""

import streamlit as st

from engine.schedule.machine import settle
from engine.systems.buildable import software_sentence
from pages.answers import caution, estimates, later, question
from pages.answers.headline import STEP, headline
from pages.design_page import bars, constants_panel, details, enough_panel, questions, tiles
from pages.full_run import fault_axis, fault_points, training_panel
from pages.knob_cards import strips
from pages.shell import address, frame
from pages.ui import answer, session
from pages.ui.plain import escape_markdown

frame.guard()
scenario = session.scenario()
address.bar("design", caution.sequence_caution(scenario))
baseline_system = question.baseline_system(scenario)
with st.spinner("Computing the estimate; the first time takes some seconds more"):
    results = dict(estimates.estimates_by_system(scenario, bars.systems_to_estimate(scenario)))
    if baseline_system != scenario.system:  # a system compared with itself keeps its knobs
        results[baseline_system] = estimates.estimate_of(question.baseline_scenario(scenario))
result, base = results[scenario.system], results[baseline_system]
bar_results = bars.results_with_bars(scenario, baseline_system, results)
sure, ranges = (
    later.answer("sure", questions.result_bands, scenario, question.baseline_scenario(scenario)),
    bars.range_future(bar_results),
)
smallest, its_bands = enough_panel.ask_smallest(scenario)
cheaper = enough_panel.ask_cheaper_system(scenario, smallest)

answer.show(headline(result, results), [result.finding])
with st.container(key="first-screen"):
    knobs, machine = st.columns((5, 8), gap="medium")
with machine:  # before the strips, which take longer: the browser draws one while the other is computed
    enough_panel.draw(scenario, smallest, its_bands, cheaper)
    if result.ran:
        tiles.draw_estimate(result, results, sure)
        st.caption(escape_markdown(software_sentence(settle(scenario))))
        training_panel.draw(scenario, result)
    bars.draw(scenario, baseline_system, bar_results, ranges)
    if result.ran:
        fault_axis.draw(scenario, result)
        fault_points.draw(scenario, strips.acting_strips, (result.results[STEP] or 0.0) / 1e3)
with knobs:
    strips.draw(scenario, result, session.refused_knobs())
for warning in caution.notes_below(result):
    st.caption(f"Note: {escape_markdown(warning)}")
constants_panel.draw_calibration_note(scenario)
details.draw(scenario, result, base)
later.redraw_after((sure, ranges), (smallest,), (its_bands,), *([(cheaper,)] if cheaper else []))
