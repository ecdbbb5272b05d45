"""The answer of Decide: verdict, reasons, confidence, and a link of the machine to Design."""

from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, Future

import streamlit as st

from engine.analysis.enough.question import baseline_of
from engine.analysis.verdict.decide import Verdict
from engine.analysis.verdict.outlook.bands import VerdictBands
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.report.rent import rent_sentence
from engine.analysis.verdict.report.sentences import (
    delivery_words,
    draw_share_sentence,
    full_use_sentence,
    headline,
    headline_only_sentence,
    notes,
    popularity_words,
    reason_sentence,
    ties_sentence,
    unavailable_sentence,
    unpriced_sentence,
    unstruck_words,
)
from engine.analysis.verdict.report.software import (
    loop_sentence,
    model_choice_sentence,
    other_software_sentence,
    state_sentence,
    unwritten_sentence,
)
from engine.errors import EmberpoolError
from engine.estimates import estimates
from engine.hardware.framework import agreement_sentences
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.answers.question import CHOSEN_BASELINE, default_baseline
from pages.decide_page import bill_panel
from pages.ui import answer, session
from pages.ui.page_link import script
from pages.ui.plain import escape_markdown

MAX_LETTERS = 2000
COMPARING = "Emberpool is comparing all systems on machines that can be built."


def best_known_verdict(quick_search: Future[Verdict], whole_search: Future[Verdict] | None) -> Verdict | None:
    """Return the whole search's verdict, or the quick search's until the whole one is known."""
    for future in (whole_search, quick_search):
        if future and future.done() and not future.exception():
            return future.result()
    return None


def failure(*futures: Future[Verdict] | None) -> str:
    """Return why there is no verdict; "" while a search may still find one."""
    for future in futures:
        error = future.exception() if future and future.done() else None
        if error and not isinstance(error, later.NobodyWaits):
            if isinstance(error, EmberpoolError | BrokenExecutor):
                return str(error)
            raise error
    return ""


def draw(verdict: Verdict | None, bands: VerdictBands | None, cases: Sequence[VariedCase], refusal: str) -> None:
    """Draw the answer's box: the verdict, a note that the search runs, or a refusal.

    The verdict's assumptions stand below the box.
    """
    if refusal:
        bill_panel.forget()
        answer.show("No verdict", [refusal])
    elif verdict is None:
        with st.container(key="decide-verdict"):
            answer.show("What should I build?", [COMPARING])
        _draw_actions(None)
    else:
        _draw(verdict, bands, cases)


def _draw(verdict: Verdict, bands: VerdictBands | None, cases: Sequence[VariedCase]) -> None:
    headline_text, best_row = headline(verdict), verdict.best_row
    keep, _, machine = headline_text.partition(": " if best_row else ". ")
    popularity_note = popularity_words(verdict, cases)
    sureness_note = draw_share_sentence(verdict, bands) if bands else ""
    following = (
        "" if verdict.is_complete else "This verdict comes from a quick search; the full search is running and may change it."
    )
    choice_note = model_choice_sentence(best_row) if best_row else ""
    software_notes = [loop_sentence(best_row) if best_row else "", unwritten_sentence(verdict)]
    with st.container(key="decide-verdict"):
        answer.show(
            keep,
            [machine],
            below=[full_use_sentence(verdict), *software_notes, popularity_note, sureness_note, following],
            above=choice_note,
        )
    _draw_actions(verdict)
    if best_row is None:
        sentences = [unstruck_words(verdict), *notes(verdict)]
    else:
        sentences = [
            state_sentence(best_row, verdict.question.software),
            reason_sentence(verdict),
            other_software_sentence(verdict, bands),
            ties_sentence(verdict),
            unstruck_words(verdict),
            unpriced_sentence(verdict),
            unavailable_sentence(best_row),
            delivery_words(verdict),
            headline_only_sentence(best_row),
            *(agreement_sentences(best_row.scenario.machine) if best_row.scenario is not None else ()),
        ]
    st.caption(" ".join(escape_markdown(sentence, most=MAX_LETTERS) for sentence in sentences if sentence))
    if best_row and (rent_note := rent_sentence(best_row)):
        st.caption(escape_markdown(rent_note, most=MAX_LETTERS))


def _draw_actions(verdict: Verdict | None) -> None:
    """Draw the machine's link to Design, and its bill, which stays open while all machines are compared again."""
    best_row = verdict.best_row if verdict else None
    if verdict and best_row is None:
        bill_panel.forget()
    with st.container(horizontal=True, vertical_alignment="center", key="decide-actions"):
        if best_row is not None and best_row.scenario is not None:
            st.button("Open in Design", key="open", on_click=_open_in_design, args=(best_row.scenario,))
        if bill_panel.has_bill(best_row):
            with st.popover("Bill and notes", type="tertiary", width="content", key="bill-popover"):
                bill_panel.draw(best_row)
                for note in notes(verdict) if verdict else ():
                    st.markdown(escape_markdown(note, most=MAX_LETTERS))


def _open_in_design(scenario: Scenario) -> None:
    """Show a machine in Design, against a baseline that can run beside it."""
    session.hold_scenario(scenario)
    names = [name for name in (default_baseline(scenario), *BASELINES) if name != scenario.system]
    runs = (name for name in names if estimates([baseline_of(scenario, name)])[0].ran)
    st.session_state[CHOSEN_BASELINE] = next(runs, "")
    st.session_state[NEXT_PAGE_KEY] = script("design")


BASELINES = ("dram", "dram-hbm-nodes", "cpu-gpu")
NEXT_PAGE_KEY = "decide go"


def go() -> None:
    """Open the page of the button that was pressed."""
    if page := st.session_state.pop(NEXT_PAGE_KEY, ""):
        st.session_state[session.FOCUS_PAGE] = True
        st.switch_page(page)
