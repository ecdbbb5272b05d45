"""The page Evidence: how far simulated numbers are from published ones."""

import pandas as pd
import streamlit as st

from engine import version
from engine.errors import EmberpoolError
from pages.evidence_page import (
    collectives_panel,
    figure_panel,
    gap_panel,
    paper_panel,
    scoreboard_panel,
    study_panel,
    tally,
    verdict_tables,
    verdicts,
)
from pages.evidence_page.here import machine_panel
from pages.shell import address, frame
from pages.ui import answer, downloads
from pages.ui.plain import escape_markdown

REFUSAL = "evidence refused"
READING = (
    "Each preset runs with its own knobs. The knobs of your session have no effect on this page.",
    "A published statement is met if Emberpool's number is within the tolerance that the tables give.",
    "Calibrated: a constant was fitted to the number. In sample: a shape or a set-up was fitted to it, or the number is a "
    "mean over models that were fitted. Out of sample: the number was not used.",
    "A claim of the kind headline also depends on assumptions, which its source names.",
    "A prediction has no published number to compare with.",
)

frame.guard()
address.bar("evidence")
if refusal := st.session_state.pop(REFUSAL, ""):
    with answer.draw("The published statements cannot be compared now.", [refusal]):
        st.button("Try again", key="try again")
    st.stop()
if not verdicts.are_known():
    answer.show(
        "The published statements are being compared.",
        [f"Each preset with a published number runs once on this server, with model version {version.MODEL}."],
    )
    try:
        all_known = verdicts.compute()
    except EmberpoolError as error:
        st.session_state[REFUSAL], all_known = str(error), True
    if all_known:
        st.rerun()
    st.stop()

all_verdicts = verdicts.all_verdicts()
numbers = scoreboard_panel.figures(version.MODEL)
counts = tally.count_statements(all_verdicts, numbers)
answer.show(tally.finding(counts), tally.reasons(counts), tally.notes(counts))
papers = verdict_tables.by_paper(all_verdicts)
figure_panel.draw(papers)
try:
    scoreboard_panel.draw(all_verdicts)
except EmberpoolError as error:  # a damaged record leaves the claims
    st.error(escape_markdown(str(error)))
for paper, paper_verdicts in sorted(papers.items(), key=lambda pair: not verdict_tables.stacks(pair[1])):
    paper_panel.draw(paper, paper_verdicts)
machine_panel.draw()
collectives_panel.draw()
study_panel.draw()
gap_panel.draw()

st.subheader("All claims", anchor=False)
claim_table = pd.concat([verdict_tables.table(all_verdicts), verdict_tables.figures_table(numbers)], ignore_index=True)
downloads.show(verdict_tables.readable_table(claim_table))
downloads.rows(claim_table, "emberpool-claims", "Download all claims as CSV")
st.subheader("How to read this page", anchor=False)
st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in (*READING, *scoreboard_panel.READING_NOTES)))
st.caption(
    "This command checks the same claims without a browser; its exit status is 3 if a claim is worse than the accepted record:"
)
st.code("python -m engine validate", language=None)
