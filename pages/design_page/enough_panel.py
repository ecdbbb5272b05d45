"""The smallest machine that meets the target, with its bands and a button to take it."""

from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future
from math import inf
from typing import Any

import streamlit as st

from engine.analysis.enough.bands import Bands
from engine.analysis.enough.question import NO_PRICE, Target
from engine.analysis.enough.sentences import NO_BANDS, AnswerSentences, answer_sentences, lowered_label
from engine.analysis.enough.smallest import SmallestMachines
from engine.errors import EmberpoolError
from engine.insight.knobs.stops import resolved_value
from engine.insight.quantities import CAPITAL
from engine.results.result import Result
from engine.scenario.machine import RECORDED
from engine.scenario.scenario import Scenario, with_values
from pages.answers import later, question
from pages.answers.headline import system_title
from pages.design_page import questions
from pages.ui import session, words
from pages.ui.numbers import quantity, quantity_text
from pages.ui.page_link import script
from pages.ui.plain import escape_markdown

STEP = "Step time [ms]"


def ask_smallest(scenario: Scenario) -> tuple[Future[SmallestMachines], Future[Bands]]:
    """Return the futures of the smallest machine and of its bands."""
    arguments = scenario, question.baseline_scenario(scenario), question.slowdown_target()
    return later.answer("smallest", questions.smallest_machines, *arguments), later.answer(
        "its bands", questions.smallest_bands, *arguments
    )


def ask_cheaper_system(scenario: Scenario, answer: Future[SmallestMachines]) -> Future[str] | None:
    """Return the future of the sentence on a cheaper system that meets the target.

    It is None before the answer is known, after an error, and if the scenario has the prices of a paper.
    """
    if scenario.machine.prices == RECORDED or not answer.done() or answer.exception():
        return None
    smallest_machine = answer.result()
    price = smallest_machine.cheapest.machine.dollars if smallest_machine.cheapest.meets else inf
    return later.answer("cheaper", questions.cheaper_system, scenario, smallest_machine.question.goal, price, long=True)


def draw(scenario: Scenario, answer: Future[SmallestMachines], sure: Future[Bands], cheaper_system: Future[str] | None) -> None:
    """Draw the recommended machine once it is known.

    Its bands and the cheaper system follow later.
    """
    with st.container(border=True, key="recommended"):
        _draw(scenario, answer, sure)
        if (
            cheaper_system
            and cheaper_system.done()
            and not cheaper_system.exception()
            and (cheaper_sentence := cheaper_system.result())
        ):
            with st.container(horizontal=True, vertical_alignment="center", key="says-verdict"):
                st.markdown(f"**Cheaper:** {escape_markdown(cheaper_sentence)}", width="stretch")
                st.page_link(script("decide"), label="What should I build?")


def _draw(scenario: Scenario, answer: Future[SmallestMachines], sure: Future[Bands]) -> None:
    aim = escape_markdown(Target(question.slowdown_target()).target_text(question.baseline_system(scenario)))
    if not answer.done() or isinstance(answer.exception(), later.NobodyWaits):
        st.markdown(f"**Cheapest machine {aim}:** searching ...")
        return
    if error := answer.exception():
        st.markdown(f"**Cheapest machine {aim}:** {escape_markdown(_sentence(error))}")
        return
    smallest_machine = answer.result()
    bands_ready = sure.done() and not sure.exception()
    sentences = answer_sentences(smallest_machine, sure.result() if bands_ready else NO_BANDS)
    cheapest_scenario = _scenario_with(scenario, smallest_machine.cheapest.machine.changes)
    with st.container(horizontal=True, vertical_alignment="top", key="says-cheapest"):
        verdict = (
            "Yes, this machine is enough."
            if _meets(smallest_machine)
            else "Yes, with another machine."
            if smallest_machine.cheapest.meets
            else "No machine is enough."
        )
        st.markdown(f"**{verdict}** {escape_markdown(sentences.cheapest)}", width="stretch")
        st.button(
            "Use this machine",
            on_click=_take,
            args=(cheapest_scenario,),
            disabled=cheapest_scenario in (None, scenario),
            key="take",
        )
    base = smallest_machine.question.baseline
    itself = f"The baseline {system_title(base.scenario.system)}: {quantity_text(STEP, base)} a batch, {_price(base)}."
    with st.container(horizontal=True, vertical_alignment="bottom", key="says-answer"):
        caption_sentences = (
            _switched_choices(smallest_machine),
            _first_sentence(sentences.near_data),
            _first_sentence(sentences.staleness),
            itself if base.ran else "",
        )
        st.caption(" ".join(escape_markdown(sentence) for sentence in caption_sentences if sentence), width="stretch")
        with st.popover("Why" if sure.done() else "Why (bands are being computed)", type="tertiary"):
            _draw_reasons(sentences)


def _price(base: Result) -> str:
    return NO_PRICE if quantity(CAPITAL, base) is None else quantity_text(CAPITAL, base)


def _switched_choices(smallest_machine: SmallestMachines) -> str:
    """Return the sentence on switches that the answer sets otherwise than the scenario, "" without any."""
    changes, scenario = smallest_machine.cheapest.machine.changes, smallest_machine.question.scenario
    switched_knobs = [path for path in smallest_machine.switched if changes[path] != resolved_value(scenario, path)]
    settings = " and ".join(f"{lowered_label(path)} {'on' if changes[path] else 'off'}" for path in switched_knobs)
    return f"This answer holds with {settings}; the other numbers on this page do not." if switched_knobs else ""


def _meets(smallest_machine: SmallestMachines) -> bool:
    """Return whether the scenario's own machine meets the target."""
    estimate = smallest_machine.question.own_result
    return estimate.ran and (estimate.results[STEP] or inf) / 1e3 <= smallest_machine.question.goal


def _draw_reasons(sentences: AnswerSentences) -> None:
    paragraphs = [
        paragraph
        for paragraph in (
            sentences.present,
            sentences.chassis,
            sentences.reason,
            sentences.capacity,
            sentences.bandwidth,
            sentences.near_data,
            sentences.relaxed_lookup,
        )
        if paragraph
    ]
    for paragraph in paragraphs:
        st.markdown(escape_markdown(paragraph, most=2000))
    if meanings := words.meanings_in(" ".join(paragraphs)):
        st.caption(meanings)


def _first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    head, dot, _ = text.partition(". ")
    return head + "." * bool(dot)


def _sentence(error: BaseException) -> str:
    if isinstance(error, EmberpoolError | BrokenExecutor):
        return str(error)
    raise error


def _scenario_with(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario | None:
    try:
        return with_values(scenario, dict(changes))
    except EmberpoolError:
        return None


def _take(cheapest_scenario: Scenario) -> None:
    st.toast("The knobs are now those of the cheapest machine; Undo restores the earlier ones.")
    session.hold_scenario(cheapest_scenario)
