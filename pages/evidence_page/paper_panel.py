"""A paper's section: its step times and energies as charts, then its claims in tables."""

import pandas as pd
import streamlit as st

from engine.scenario.presets import preset
from engine.validation.validate import ClaimVerdict
from pages.evidence_page import figure_panel, verdict_charts, verdict_tables
from pages.evidence_page.paper_rows import headlines
from pages.graphics import chart
from pages.ui import downloads, palette
from pages.ui.plain import escape_markdown


def draw(paper: str, verdicts: list[ClaimVerdict]) -> None:
    """Draw a paper's charts and tables: step times, energies, headlines, and other claims."""
    st.subheader(escape_markdown(figure_panel.paper_name(paper, verdicts)), anchor=False)
    st.caption(escape_markdown(paper))
    stacks = list(verdict_tables.stacks(verdicts).items())
    for offset in range(0, len(stacks), 2):
        for column, (name, rows) in zip(st.columns(2), stacks[offset : offset + 2], strict=False):
            with column:
                _draw_stacks(name, rows, verdicts, paper)
    energies = verdict_tables.energies(verdicts) if stacks else pd.DataFrame()
    if len(energies):
        chart.draw(
            energies,
            verdict_charts.energies(tuple(dict.fromkeys(energies.system))),
            key=f"energy {figure_panel.paper_name(paper, verdicts)}",
            title=verdict_tables.energy_finding(energies),
            subtitle="Energy of a batch by model and training system, PMEM on the same machine = 1; each model is a prediction",
            columns=verdict_tables.ENERGY_COLUMNS,
        )
    headline_claims = headlines(verdicts)
    if headline_claims:
        st.markdown("**Main numbers of the paper**")
        downloads.show(verdict_tables.readable_table(verdict_tables.table(headline_claims).drop(columns="Preset")))
    other_claims = [] if stacks else [verdict for verdict in verdicts if verdict not in headline_claims]
    if other_claims:
        st.markdown("**Other claims of the paper**" if headline_claims else "**Claims of the paper**")
        downloads.show(verdict_tables.readable_table(verdict_tables.table(other_claims)))


def _draw_stacks(name: str, rows: pd.DataFrame, verdicts: list[ClaimVerdict], paper: str) -> None:
    """Draw a preset's step times by stage, published ones above ours."""
    published = "published" in set(rows.who)
    rest = "; grey end of a published bar: the part without a published stage" if published else ""
    chart.draw(
        rows,
        verdict_charts.stacks(float(rows.groupby(["system", "who"])["amount"].sum().max()), palette.named_stages(rows["part"])),
        key=f"stacks {name}",
        title=f"{preset(name).title}: {verdict_tables.distance_words(verdicts, name)}",
        subtitle=f"Step time by stage of each training system [ms]{rest}",
        source=paper.partition(":")[0] if published else "",
        columns=verdict_tables.STACK_COLUMNS,
    )
