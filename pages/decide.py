"""The page Decide: which machine to build."""

from functools import partial

import streamlit as st

from engine.analysis.verdict.report.asked import read_question
from engine.analysis.verdict.report.sentences import inputs_sentence
from engine.errors import BadInput
from pages.answers import caution, later
from pages.decide_page import answer_panel, form, gpu_panel, map_panel, outlook_panel, questions
from pages.shell import address, bar, frame
from pages.ui import session
from pages.ui.plain import escape_markdown

frame.guard()
answer_panel.go()
scenario = session.scenario()
top = st.container(key="decide-top")
with top:
    model = partial(bar.draw_model, "Model")
    form.draw(session.refused_knobs(), model, partial(bar.draw_chips, form.SEARCHED))
address.bar("decide", caution.sequence_caution(scenario))
try:
    question = read_question(scenario, form.form_questions())
except BadInput as error:
    with top:
        answer_panel.draw(None, None, (), str(error))
    st.stop()
quick_search = later.answer("first verdict", questions.first_verdict, question)
quick = quick_search.result() if quick_search.done() and not quick_search.exception() else None
forks = later.answer("forks", questions.popularity_cases_of, quick, long=True) if quick and quick.best_row else None
whole_search = (
    later.answer("verdict", questions.whole_verdict, question, long=True) if quick and (not forks or forks.done()) else None
)
verdict, refusal = answer_panel.best_known_verdict(quick_search, whole_search), answer_panel.failure(quick_search, whole_search)
bands = gpus = cases = tipping = map_answer = territory = None
if verdict is not None and verdict.is_complete and verdict.best_row is not None:
    bands = later.answer("verdict bands", questions.bands_of, verdict, long=True)
    if bands.done():
        gpus = later.answer("gpus", questions.gpus_of, verdict, long=True)
    if gpus and gpus.done():
        cases = later.answer("cases", questions.cases_of, verdict, long=True)
    if cases and cases.done():
        territory, map_answer = map_panel.known_map(verdict)
    if cases and cases.done() and map_answer is None:
        tipping = later.answer("tipping", questions.tipping_of, verdict, long=True)
known_cases = next((future.result() for future in (cases, forks) if future and future.done() and not future.exception()), ())
sure = bands.result() if bands and bands.done() and not bands.exception() else None
with top, st.container(key="decide-answer"):
    answer_panel.draw(verdict, sure, known_cases, refusal)
    if verdict is not None:
        st.caption(escape_markdown(inputs_sentence(question), most=1000))
if verdict is not None and not refusal:
    left_column, right_column = st.columns((1, 1), gap="medium")
    with left_column:
        outlook_panel.draw_bars(verdict, sure)
    with right_column:
        map_panel.draw(verdict, territory, map_answer)
    if bands:
        gpu_panel.draw(verdict, gpus)
    if cases:
        outlook_panel.draw_cases(verdict, cases, tipping)
    outlook_panel.draw_losses(verdict)
    outlook_panel.draw_rows(verdict, sure)
later.redraw_after(
    *((future,) for future in (quick_search, forks, whole_search, bands, gpus, map_answer, cases, tipping) if future is not None)
)
