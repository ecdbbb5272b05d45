"""A paper's figure for print and its files, opened by a button for each paper."""

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
from pages.ui.plain import escape_markdown

CHOSEN_PAPER_KEY, WIDTH = "paper figure", "width of the figure"
WIDTHS = {PAGE: "Two columns, 7 in", COLUMN: "One column, 3.3 in"}
# On a narrow screen the figure of one column stands in for that of two: its letters stay as large as the page's.
STYLE = """<style>
.paper-figure img { max-width: 100%; height: auto; display: block; background: white; }
.paper-figure .narrow { display: none; }
@media (max-width: 640px) { .paper-figure .narrow { display: block; } .paper-figure .wide { display: none; } }
</style>"""


def draw(papers: Mapping[str, Sequence[ClaimVerdict]]) -> None:
    """Draw a button for each paper with a figure, and the chosen paper's figure.

    The paper with most headline claims comes first.
    """
    names = {
        paper: paper_name(paper, paper_verdicts)
        for paper, paper_verdicts in papers.items()
        if paper_rows.has_figure(paper_verdicts)
    }
    ordered = sorted(names, key=lambda paper: -len(paper_rows.headlines(papers[paper])))
    if st.session_state.get(CHOSEN_PAPER_KEY) not in ordered:
        st.session_state.pop(CHOSEN_PAPER_KEY, None)
    chosen_paper = st.pills(
        "Figure of a paper, for print", ordered, format_func=lambda paper: escape_markdown(names[paper]), key=CHOSEN_PAPER_KEY
    )
    if chosen_paper is not None:
        _draw_figure(chosen_paper, names[chosen_paper], papers[chosen_paper])


def paper_name(paper: str, verdicts: Sequence[ClaimVerdict]) -> str:
    """Return the short name of a paper."""
    return paper_rows.short_name(paper, list(dict.fromkeys(verdict.preset for verdict in verdicts)))


def _draw_figure(paper: str, short_name: str, verdicts: Sequence[ClaimVerdict]) -> None:
    """Draw a paper's figure as it is saved, with buttons for its files."""
    figure_rows = tuple(paper_rows.rows(verdicts))
    calibrated = sum(verdict.claim.kind == "calibrated" for verdict in verdicts)
    heading, caption_text = paper_figure.title(short_name, figure_rows), paper_figure.caption(paper, figure_rows, calibrated)
    with st.container(border=True, key="figure"):
        row = st.container(horizontal=True, vertical_alignment="center", key="figure-files")
        files = row.container(horizontal=True, width="content")
        inches = _draw_width_choice(row)
        page_svg = svg(figure_rows, heading, caption_text, inches, version.MODEL)
        column_svg = svg(figure_rows, heading, caption_text, COLUMN, version.MODEL)
        with files:
            _draw_files(paper, short_name, verdicts[0], figure_rows, page_svg)
        images = _image_html(page_svg, "wide", heading) + _image_html(column_svg, "narrow", heading)
        st.html(f'{STYLE}<div class="paper-figure">{images}</div>')


def _draw_width_choice(place: DeltaGenerator) -> float:
    """Draw the choice of the printed width and return it."""
    inches = place.segmented_control(
        "Printed width",
        [*WIDTHS],
        format_func=lambda inches: WIDTHS[inches],
        default=PAGE,
        key=WIDTH,
        label_visibility="collapsed",
        width="content",
    )
    return inches or PAGE


def _image_html(svg_text: str, kind: str, alt: str) -> str:
    return f'<img class="{kind}" alt="{escape(alt)}" src="data:image/svg+xml;base64,{b64encode(svg_text.encode()).decode()}">'


@lru_cache(maxsize=32)
def svg(figure_rows: tuple[FigureRow, ...], heading: str, caption_text: str, inches: float, model: str) -> str:
    """Return a figure as SVG, cached by its numbers and the model version."""
    return paper_figure.svg(figure_rows, heading, caption_text, inches)


def _draw_files(
    paper: str, short_name: str, first_verdict: ClaimVerdict, figure_rows: Sequence[FigureRow], svg_text: str
) -> None:
    """Draw the buttons that save the figure, its numbers, and its citations."""
    stem = f"emberpool-{'-'.join(short_name.lower().split())}"
    button = partial(st.download_button, on_click="ignore")
    button("SVG", svg_text.encode(), f"{stem}.svg", "image/svg+xml", key="figure svg", type="primary")
    button("PDF", partial(pictures.pdf, svg_text), f"{stem}.pdf", "application/pdf", key="figure pdf")
    button("PNG", partial(pictures.bitmap, svg_text), f"{stem}.png", "image/png", key="figure png")
    button("CSV", downloads.frame_text(paper_rows.frame(figure_rows)), f"{stem}.csv", "text/csv", key="figure csv")
    bibtex_text = bibtex(preset(first_verdict.preset).scenario, paper)
    button(
        "BibTeX",
        bibtex_text,
        f"{stem}.bib",
        "text/plain",
        key="figure bibtex",
        help="Cites Emberpool, the paper, and the sources of all constants.",
    )
