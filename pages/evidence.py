"""Can I trust it?"""

import pandas as pd
import streamlit as st

from engine import version
from engine.errors import EmberpoolError
from engine.scenario.presets import preset
from pages.evidence_page import gap_panel, scoreboard_panel, study_panel, verdict_charts, verdict_tables, verdicts
from pages.shell import address, frame
from pages.ui import downloads
from pages.ui.plain import plain

ENERGIES = "Energy of a batch by model and training system, relative to pmem"

frame.guard()
address.bar("evidence")
st.header("Can I trust it?", anchor=False)
st.caption(
    "Every published number that a preset claims, beside what this server has just computed for it with model version "
    f"{version.MODEL}. Each preset runs as it is: the bar and the drawer change nothing here."
)
try:
    found = verdicts.all_of_them()
except EmberpoolError as error:
    st.error(plain(str(error)))
    st.stop()
st.markdown(f"**{plain(verdict_tables.summary(found))}** {plain(verdict_tables.worst(found))}")
st.caption(
    "Calibrated: constants were fitted to this number. In sample: a shape or a set-up was, or a mean contains models that were. "
    "Out of sample: it was not used. A headline also hangs on assumptions, which its source names."
)
try:
    scoreboard_panel.draw(found)
except EmberpoolError as error:  # a damaged record leaves the claims
    st.error(plain(str(error)))

drawn_first = sorted(verdict_tables.by_paper(found).items(), key=lambda item: not verdict_tables.stacks(item[1]))
for paper, own in drawn_first:
    st.subheader(plain(paper.partition(":")[0]), anchor=False)
    st.caption(plain(paper))
    stacks = list(verdict_tables.stacks(own).items())
    for first in range(0, len(stacks), 2):
        for column, (name, rows) in zip(st.columns(2), stacks[first : first + 2], strict=False):
            title = preset(name).title
            column.markdown(f"**{plain(title)}**: {verdict_tables.distance(own, name)}")
            column.vega_lite_chart(rows, verdict_charts.stacks(), key=f"stacks {name}", alt=f"Step time by stage of {title}")
    if stacks:
        st.caption("A published bar's grey end is what no claim itemises: the published total less the parts claimed above.")
    energies = verdict_tables.energies(own) if stacks else pd.DataFrame()
    if len(energies):
        st.markdown(f"**Energy of a batch, {', '.join(dict.fromkeys(energies.who))}**: relative to pmem on the same machine")
        st.vega_lite_chart(
            energies, verdict_charts.energies(tuple(dict.fromkeys(energies.system))), key=f"energy {paper}", alt=ENERGIES
        )
        st.caption("The bars of single models are predictions; what is held to the paper are the two means in the table below.")
    headlines = verdict_tables.headlines(own)
    if headlines:
        st.markdown("**What the paper is known for**")
        downloads.show(verdict_tables.table(headlines).drop(columns="Preset"), verdict_tables.FORMATS)
    others = [] if stacks else [verdict for verdict in own if verdict not in headlines]
    if others:
        st.markdown("**What else was held to it**" if headlines else "**What was held to it**")
        downloads.show(verdict_tables.table(others), verdict_tables.FORMATS)

study_panel.draw()
gap_panel.draw()

st.subheader("Every claim", anchor=False)
others = verdict_tables.figures_table(scoreboard_panel.figures(version.MODEL))
every = pd.concat([verdict_tables.table(found), others], ignore_index=True)
downloads.show(every, verdict_tables.FORMATS)
downloads.rows(every, "emberpool-claims", "Download all claims as CSV")
st.caption("The same without a browser, and with exit status 3 when a claim got worse than the accepted record:")
st.code("python -m engine validate", language=None)
