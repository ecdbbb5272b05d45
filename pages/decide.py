"""What should I build?"""

from functools import partial

import streamlit as st

from engine.analysis.verdict.report.asked import question_of
from engine.analysis.verdict.report.sentences import inputs
from engine.errors import BadInput
from pages.answers import caution, later
from pages.decide_page import answer_panel, form, map_panel, outlook_panel, questions
from pages.shell import address, bar, frame
from pages.ui import session
from pages.ui.plain import plain

frame.guard()
answer_panel.go()
scenario = session.scenario()
top = st.container(key="decide-top")
with top:
    model = partial(bar.draw_model, "Model")
    form.draw(session.refused(), model, partial(bar.draw_chips, form.SEARCHED))
address.bar("decide", caution.sequence_caution(scenario))
try:
    asked = question_of(scenario, form.asked())
except BadInput as error:
    with top:
        answer_panel.draw(None, None, (), str(error))
    st.stop()
first = later.answer("first verdict", questions.first_verdict, asked)
quick = first.result() if first.done() and not first.exception() else None
forks = later.answer("forks", questions.forks_of, quick, long=True) if quick and quick.best else None
whole = later.answer("verdict", questions.whole_verdict, asked, long=True) if quick and (not forks or forks.done()) else None
verdict, refusal = answer_panel.known(first, whole), answer_panel.failure(first, whole)
bands = cases = tipping = more = known = None
if verdict is not None and verdict.whole and verdict.best is not None:
    bands = later.answer("verdict bands", questions.bands_of, verdict, long=True)
    if bands.done():
        cases = later.answer("cases", questions.cases_of, verdict, long=True)
    if cases and cases.done():
        known, more = map_panel.asked(verdict)
    if cases and cases.done() and more is None:
        tipping = later.answer("tipping", questions.tipping_of, verdict, long=True)
found = next((one.result() for one in (cases, forks) if one and one.done() and not one.exception()), ())
sure = bands.result() if bands and bands.done() and not bands.exception() else None
with top, st.container(key="decide-answer"):
    answer_panel.draw(verdict, sure, found, refusal)
    if verdict is not None:
        st.caption(plain(inputs(asked), most=1000))
if verdict is not None and not refusal:
    left, right = st.columns((1, 1), gap="medium")
    with left:
        outlook_panel.draw_bars(verdict, sure)
    with right:
        map_panel.draw(verdict, known, more)
    if cases:
        outlook_panel.draw_cases(verdict, cases, tipping)
    outlook_panel.draw_losses(verdict)
    outlook_panel.draw_rows(verdict, sure)
later.redraw_after(*((one,) for one in (first, forks, whole, bands, more, cases, tipping) if one is not None))
