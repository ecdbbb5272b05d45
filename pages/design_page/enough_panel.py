"""The inverse question: the smallest machine that meets the target, how sure that is, and a press that takes it."""

from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future
from math import inf
from typing import Any

import streamlit as st

from engine.analysis.enough.drawn import Bands
from engine.analysis.enough.question import NO_PRICE, Target
from engine.analysis.enough.smallest import Enough
from engine.analysis.enough.told import NO_BANDS, Told, told
from engine.analysis.enough.wording import lowered
from engine.core.figures import count
from engine.errors import EmberpoolError
from engine.insight.knob_stops import in_force
from engine.insight.running_costs import dollars
from engine.results.result import Result
from engine.scenario.machine import RECORDED
from engine.scenario.scenario import Scenario, with_values
from pages.answers import later, question
from pages.answers.headline import system_title
from pages.design_page import questions
from pages.ui import session, words
from pages.ui.numbers import readable
from pages.ui.page_link import script
from pages.ui.plain import plain

STEP, COST = "Step time [ms]", "Capital cost [USD]"


def asked(scenario: Scenario) -> tuple[Future[Enough], Future[Bands]]:
    """Ask for the answer, and for its bands."""
    of = scenario, question.baseline_scenario(scenario), question.slowdown_target()
    return later.answer("smallest", questions.smallest, *of), later.answer("its bands", questions.smallest_bands, *of)


def cheaper(scenario: Scenario, answer: Future[Enough]) -> Future[str] | None:
    """Ask which other system meets the target for less, once the answer is there; None for a paper's own prices."""
    if scenario.machine.prices == RECORDED or not answer.done() or answer.exception():
        return None
    found = answer.result()
    price = found.both.machine.dollars if found.both.meets else inf
    return later.answer("cheaper", questions.cheaper_system, scenario, found.question.goal, price, long=True)


def draw(scenario: Scenario, answer: Future[Enough], sure: Future[Bands], other: Future[str] | None) -> None:
    """Draw what is recommended as soon as it is found; its bands, and which other system does it for less, follow."""
    with st.container(border=True, key="recommended"):
        _draw(scenario, answer, sure)
        if other and other.done() and not other.exception() and (told := other.result()):
            with st.container(horizontal=True, vertical_alignment="center", key="says-verdict"):
                st.markdown(f"**Cheaper:** {plain(told)}", width="stretch")
                st.page_link(script("decide"), label="What should I build?")


def _draw(scenario: Scenario, answer: Future[Enough], sure: Future[Bands]) -> None:
    aim = plain(Target(question.slowdown_target()).against(question.baseline_system(scenario)))
    if not answer.done() or isinstance(answer.exception(), later.NobodyWaits):
        st.markdown(f"**Cheapest machine {aim}:** searching ...")
        return
    if error := answer.exception():
        st.markdown(f"**Cheapest machine {aim}:** {plain(_sentence(error))}")
        return
    found = answer.result()
    known = sure.done() and not sure.exception()
    says = told(found, sure.result() if known else NO_BANDS)
    taken = _taken(scenario, found.both.machine.changes)
    with st.container(horizontal=True, vertical_alignment="top", key="says-cheapest"):
        verdict = "Yes, as it is." if _meets(found) else "Yes, with another machine." if found.both.meets else "No."
        st.markdown(f"**{verdict}** {plain(says.both)}", width="stretch")
        st.button("Take it", on_click=_take, args=(taken,), disabled=taken in (None, scenario), key="take")
    base = found.question.baseline
    itself = f"{system_title(base.scenario.system)} itself: {readable(base.results.get(STEP), 'ms')}, {_price(base)}."
    with st.container(horizontal=True, vertical_alignment="bottom", key="says-answer"):
        said = (_other(found), _first(says.near_data), _first(says.staleness), itself if base.ran else "")
        st.caption(" ".join(plain(one) for one in said if one), width="stretch")
        with st.popover("Why" if sure.done() else "Why (bands follow)", type="tertiary"):
            _more(says)


def _price(base: Result) -> str:
    cost = base.results.get(COST)
    return NO_PRICE if cost is None else f"{count(cost)} {dollars(base.scenario)}"


def _other(found: Enough) -> str:
    """Return what the answer switches otherwise than the strips and charts beside it hold."""
    changes, own = found.both.machine.changes, found.question.scenario
    moved = [path for path in found.toggled if changes[path] != in_force(own, path)]
    told = " and ".join(f"{lowered(path)} {'on' if changes[path] else 'off'}" for path in moved)
    return f"This holds with {told}, unlike strips, tiles and bars." if moved else ""


def _meets(found: Enough) -> bool:
    """Return whether the scenario's own machine meets the target."""
    own = found.question.own
    return own.ran and (own.results[STEP] or inf) / 1e3 <= found.question.goal


def _more(says: Told) -> None:
    shown = [
        one
        for one in (says.now, says.chassis, says.why, says.capacity, says.bandwidth, says.near_data, says.relaxed_lookup)
        if one
    ]
    for one in shown:
        st.markdown(plain(one, most=2000))
    if meanings := words.used(" ".join(shown)):
        st.caption(meanings)


def _first(text: str) -> str:
    """Return the first sentence of a text."""
    head, dot, _ = text.partition(". ")
    return head + "." * bool(dot)


def _sentence(error: BaseException) -> str:
    if isinstance(error, EmberpoolError | BrokenExecutor):
        return str(error)
    raise error


def _taken(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario | None:
    try:
        return with_values(scenario, dict(changes))
    except EmberpoolError:
        return None


def _take(taken: Scenario) -> None:
    st.toast("Taken: the knobs are those of the cheapest machine; Undo takes them back.")
    session.show(taken)
