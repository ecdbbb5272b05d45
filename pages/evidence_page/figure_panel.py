"""The paper's figure: one button a paper, the figure for print under it, and its files."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine import version
from engine.results.citations import bibtex
from engine.scenario.presets import preset
from engine.validation.validate import ClaimVerdict
from pages.evidence_page import paper_figure, paper_rows
from pages.evidence_page.paper_figure import COLUMN, PAGE
from pages.evidence_page.paper_rows import FigureRow
from pages.graphics import pictures
from pages.ui import downloads
from pages.ui.plain import plain

CHOSEN, WIDTH = "paper figure", "width of the figure"
WIDTHS = {PAGE: "Two columns, 7 in", COLUMN: "One column, 3.3 in"}
# On a narrow screen the figure of one column stands in for that of two: its letters stay as large as the page's.
STYLE = """<style>
.paper-figure img { max-width: 100%; height: auto; display: block; background: white; }
.paper-figure .narrow { display: none; }
@media (max-width: 640px) { .paper-figure .narrow { display: block; } .paper-figure .wide { display: none; } }
</style>"""


def draw(papers: Mapping[str, Sequence[ClaimVerdict]]) -> None:
    """Draw a button for each paper that has a figure, most headlines first, and the figure that is chosen."""
    names = {paper: name(paper, own) for paper, own in papers.items() if paper_rows.has_figure(own)}
    ordered = sorted(names, key=lambda paper: -len(paper_rows.headlines(papers[paper])))
    if st.session_state.get(CHOSEN) not in ordered:
        st.session_state.pop(CHOSEN, None)
    chosen = st.pills("The paper's figure", ordered, format_func=lambda paper: plain(names[paper]), key=CHOSEN)
    if chosen is not None:
        _figure(chosen, names[chosen], papers[chosen])


def name(paper: str, verdicts: Sequence[ClaimVerdict]) -> str:
    """Return the short name of a paper."""
    return paper_rows.short_name(paper, list(dict.fromkeys(verdict.preset for verdict in verdicts)))


def _figure(paper: str, short: str, verdicts: Sequence[ClaimVerdict]) -> None:
    """Draw a paper's figure as it is saved, with the files that it is saved as."""
    found = tuple(paper_rows.rows(verdicts))
    calibrated = sum(verdict.claim.kind == "calibrated" for verdict in verdicts)
    heading, below = paper_figure.title(short, found), paper_figure.caption(paper, found, calibrated)
    with st.container(border=True, key="figure"):
        row = st.container(horizontal=True, vertical_alignment="center", key="figure-files")
        files = row.container(horizontal=True, width="content")
        inches = _inches(row)
        wide = svg(found, heading, below, inches, version.MODEL)
        narrow = svg(found, heading, below, COLUMN, version.MODEL)
        with files:
            _files(paper, short, verdicts[0], found, wide)
        st.html(f'{STYLE}<div class="paper-figure">{_image(wide, "wide", heading)}{_image(narrow, "narrow", heading)}</div>')


def _inches(place: DeltaGenerator) -> float:
    """Draw the choice of the printed width and return it."""
    found = place.segmented_control(
        "Printed width",
        [*WIDTHS],
        format_func=lambda inches: WIDTHS[inches],
        default=PAGE,
        key=WIDTH,
        label_visibility="collapsed",
        width="content",
    )
    return found or PAGE


def _image(drawn: str, kind: str, alt: str) -> str:
    return f'<img class="{kind}" alt="{escape(alt)}" src="data:image/svg+xml;base64,{b64encode(drawn.encode()).decode()}">'


@lru_cache(maxsize=32)
def svg(found: tuple[FigureRow, ...], heading: str, below: str, inches: float, model: str) -> str:
    """Return a figure as SVG, kept as long as its numbers and the model version are the same."""
    return paper_figure.svg(found, heading, below, inches)


def _files(paper: str, short: str, first: ClaimVerdict, found: Sequence[FigureRow], drawn: str) -> None:
    """Draw the buttons that save the figure, its numbers, and what to cite."""
    stem = f"emberpool-{'-'.join(short.lower().split())}"
    button = partial(st.download_button, on_click="ignore")
    button("SVG", drawn.encode(), f"{stem}.svg", "image/svg+xml", key="figure svg", type="primary")
    button("PDF", partial(pictures.pdf, drawn), f"{stem}.pdf", "application/pdf", key="figure pdf")
    button("PNG", partial(pictures.bitmap, drawn), f"{stem}.png", "image/png", key="figure png")
    button("CSV", downloads.frame_text(paper_rows.frame(found)), f"{stem}.csv", "text/csv", key="figure csv")
    cited = bibtex(preset(first.preset).scenario, paper)
    button(
        "BibTeX",
        cited,
        f"{stem}.bib",
        "text/plain",
        key="figure bibtex",
        help="Emberpool, the paper, and all constants' sources.",
    )
