"""Can I trust it?"""

import pandas as pd
import streamlit as st

from engine import version
from engine.errors import EmberpoolError
from engine.scenario.presets import preset
from engine.validation.validate import ClaimVerdict
from pages.evidence_page import (
    figure_panel,
    gap_panel,
    scoreboard_panel,
    study_panel,
    tally,
    verdict_charts,
    verdict_tables,
    verdicts,
)
from pages.evidence_page.paper_rows import headlines
from pages.graphics import chart
from pages.shell import address, frame
from pages.ui import answer, downloads
from pages.ui.plain import plain

REFUSAL = "evidence refused"
READING = (
    "Each preset runs as it is. No knob of the session acts on this page.",
    "A statement is met where ours is within the tolerance that stands beside it in the tables.",
    "Calibrated: a constant was fitted to the number. In sample: a shape or a set-up was, or the number is a mean over models "
    "that were. Out of sample: the number was not used.",
    "A headline also depends on assumptions, which its source names.",
    "A prediction has no published number, so that nothing can be compared.",
)


def draw_paper(paper: str, own: list[ClaimVerdict]) -> None:
    """Draw a paper's charts and tables: its step times and energies where it has them, its headlines, its other claims."""
    st.subheader(plain(figure_panel.name(paper, own)), anchor=False)
    st.caption(plain(paper))
    stacks = list(verdict_tables.stacks(own).items())
    for first in range(0, len(stacks), 2):
        for column, (name, rows) in zip(st.columns(2), stacks[first : first + 2], strict=False):
            with column:
                draw_stacks(name, rows, own, paper)
    energies = verdict_tables.energies(own) if stacks else pd.DataFrame()
    if len(energies):
        chart.draw(
            energies,
            verdict_charts.energies(tuple(dict.fromkeys(energies.system))),
            key=f"energy {figure_panel.name(paper, own)}",
            title=verdict_tables.energy_finding(energies),
            subtitle="Energy of a batch by model and training system, PMEM on the same machine = 1; each model is a prediction",
            columns=verdict_tables.ENERGY_COLUMNS,
        )
    known_for = headlines(own)
    if known_for:
        st.markdown("**What the paper is known for**")
        downloads.show(verdict_tables.shown(verdict_tables.table(known_for).drop(columns="Preset")))
    others = [] if stacks else [verdict for verdict in own if verdict not in known_for]
    if others:
        st.markdown("**What else was held to it**" if known_for else "**What was held to it**")
        downloads.show(verdict_tables.shown(verdict_tables.table(others)))


def draw_stacks(name: str, rows: pd.DataFrame, own: list[ClaimVerdict], paper: str) -> None:
    """Draw a preset's step times by stage, published ones above ours."""
    published = "published" in set(rows.who)
    rest = "; the published bar's grey end is the part that no claim itemises" if published else ""
    chart.draw(
        rows,
        verdict_charts.stacks(float(rows.groupby(["system", "who"])["amount"].sum().max())),
        key=f"stacks {name}",
        title=f"{preset(name).title}: {verdict_tables.distance(own, name)}",
        subtitle=f"Step time by stage of each training system [ms]{rest}",
        source=paper.partition(":")[0] if published else "",
        columns=verdict_tables.STACK_COLUMNS,
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
        verdicts.compute()
    except EmberpoolError as error:
        st.session_state[REFUSAL] = str(error)
    st.rerun()

found = verdicts.known()
numbers = scoreboard_panel.figures(version.MODEL)
counted = tally.tally(found, numbers)
answer.show(tally.finding(counted), tally.reasons(counted), tally.notes(counted))
papers = verdict_tables.by_paper(found)
figure_panel.draw(papers)
try:
    scoreboard_panel.draw(found)
except EmberpoolError as error:  # a damaged record leaves the claims
    st.error(plain(str(error)))
for paper, own in sorted(papers.items(), key=lambda item: not verdict_tables.stacks(item[1])):
    draw_paper(paper, own)
study_panel.draw()
gap_panel.draw()

st.subheader("Every claim", anchor=False)
every = pd.concat([verdict_tables.table(found), verdict_tables.figures_table(numbers)], ignore_index=True)
downloads.show(verdict_tables.shown(every))
downloads.rows(every, "emberpool-claims", "Download all claims as CSV")
st.subheader("How to read this page", anchor=False)
st.markdown("\n".join(f"- {plain(sentence)}" for sentence in (*READING, *scoreboard_panel.READING)))
st.caption("The same without a browser, and with exit status 3 when a claim got worse than the accepted record:")
st.code("python -m engine validate", language=None)
