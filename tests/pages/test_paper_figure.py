"""The paper's figure: every published number of the headline, title, caption and version inside, and files of every kind."""

import csv
import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from engine import version
from engine.core.figures import exact
from engine.scenario.presets import preset, preset_names
from engine.validation.claims import Claim, claims
from engine.validation.validate import ClaimVerdict
from pages.evidence_page import figure_panel, paper_figure, paper_rows, verdict_tables
from pages.graphics import letters, pictures
from pages.ui import downloads
from tests import apps
from tests.pages.test_reproduce import made_up

__all__ = ["made_up"]

PAPER = preset("trainingcxl-rm1").paper
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def papers():
    """Return the verdicts of each paper with a published number, ours made up as 1.02 of what is published."""
    wanted = [(name, claim) for name in preset_names() for claim in claims(name)]
    found = [ClaimVerdict(name, claim, 1.02 * (claim.published or 1.0)) for name, claim in wanted]
    return {paper: own for paper, own in verdict_tables.by_paper(found).items() if paper_rows.has_figure(own)}


def texts(drawn):
    """Return all texts of an SVG, joined line by line."""
    root = ElementTree.fromstring(drawn)
    return [" ".join(part.strip() for part in element.itertext() if part.strip()) for element in root.iter(f"{SVG}text")]


def drawn_of(paper, own, inches=paper_figure.PAGE):
    found = paper_rows.rows(own)
    name = figure_panel.paper_name(paper, own)
    return paper_figure.svg(found, paper_figure.title(name, found), paper_figure.caption(paper, found, 3), inches)


def test_every_paper_has_a_figure_with_all_published_numbers_of_its_headline(papers):
    assert len(papers) >= 10
    for paper, own in papers.items():
        rows = paper_rows.rows(own)
        published = {
            (row.published_range, round(row.simulated_value, 9)) for row in rows if row.published_range and not row.derived
        }
        headline = [one for one in paper_rows.headlines(own) if one.claim.published_range]
        assert {(one.claim.published_range, round(one.simulated_value, 9)) for one in headline} <= published, paper
        assert headline or len(published) == len(
            {(one.claim.published_range, round(one.simulated_value, 9)) for one in own if one.claim.published_range}
        )


def test_the_figure_of_trainingcxl_shows_its_two_headlines_and_says_where_ours_stands_alone(papers):
    drawn = texts(drawn_of(PAPER, papers[PAPER]))
    for number in ("5.2", "76.6", "72.6", "2.7", "1.9", "23.5", "18.9", "14"):
        assert number in drawn, number
    assert any(
        re.fullmatch(r"TrainingCXL: speed-up 5\.30 ×, 5\.2 × published; energy saved 78\.1 %, 76\.6 % published", one)
        for one in drawn
    )
    rows = paper_rows.rows(papers[PAPER])
    alone = [(row.panel, row.label) for row in rows if row.published_range is None]
    assert drawn.count("none published") == len(alone)
    assert alone == [("Speed-up [×]", "RM2"), ("Speed-up [×]", "RM3"), *(("Saved [%]", f"RM{n}") for n in (1, 2, 3, 4))]
    first = next(row for row in rows if row.label == "RM1" and row.derived)
    assert first.published_range == pytest.approx((20.61 / 4.78, 20.61 / 4.78))


@pytest.mark.parametrize("inches", [paper_figure.PAGE, paper_figure.COLUMN])
def test_a_figure_holds_caption_source_and_version_in_letters_of_eight_points(papers, inches):
    for paper in (PAPER, preset("cached-embedding-kaggle").paper):
        drawn = drawn_of(paper, papers[paper], inches)
        root = ElementTree.fromstring(drawn)
        whole = " ".join(texts(drawn))
        assert root.get("width") == f"{inches:g}in" and float(root.get("viewBox").split()[2]) == pytest.approx(72 * inches)
        assert paper.rstrip(".") in whole and f"Emberpool, model {version.MODEL}." in whole
        assert "within tolerance" in whole and root.find(f"{SVG}title").text
        sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', drawn)]
        assert min(sizes) >= 8
        ends = [float(x) + float(long) for x, long in re.findall(r'<tspan x="(\d+)" y="[\d.]+" textLength="([\d.]+)"', drawn)]
        assert ends and max(ends) <= 72 * inches


def test_numbers_of_many_units_are_ratios_in_the_band_of_their_tolerance(papers):
    paper = preset("cached-embedding-kaggle").paper
    rows = paper_rows.rows(papers[paper])
    assert not paper_figure.is_bar_chart(rows) and paper_figure.is_bar_chart(paper_rows.rows(papers[PAPER]))
    (panel,) = paper_figure.spec(rows, paper_figure.PAGE, 100.0)["hconcat"]
    for row, value in zip(rows, panel["data"]["values"], strict=True):
        assert value["ratio"] == pytest.approx(row.simulated_value / row.published_range[0])
        assert value["low"] == pytest.approx(1 - row.tolerance / row.published_range[0]) and value["high"] == pytest.approx(
            2 - value["low"]
        )
        assert exact(row.published_range[0]) in value["words"]


def test_a_miss_is_counted_in_title_and_caption():
    claim = Claim(
        "Speed-up over CPU", "Step time [ms]", "fae", ("fae-kaggle",), "predicted", "made up", 2.0, 0.1, form="speed-up"
    )
    found = paper_rows.rows(
        [ClaimVerdict("fae-kaggle", claim, 2.05), ClaimVerdict("fae-kaggle", replace(claim, title="Other"), 3.0)]
    )
    assert paper_figure.title("FAE", found) == "FAE: 1 of 2 published numbers met within tolerance"
    assert "1 of 2 numbers within tolerance." in paper_figure.caption("A paper.", found, 0)


def test_files_are_what_they_say(papers):
    drawn, rows = drawn_of(PAPER, papers[PAPER]), paper_rows.rows(papers[PAPER])
    printed, bitmap = pictures.pdf(drawn), pictures.bitmap(drawn)
    assert printed.startswith(b"%PDF") and bitmap.startswith(b"\x89PNG")
    assert int.from_bytes(bitmap[16:20]) == 300 * paper_figure.PAGE
    assert float(re.search(rb"/MediaBox \[0 0 ([\d.]+)", printed)[1]) == pytest.approx(72 * paper_figure.PAGE)
    cells = list(csv.DictReader(io.StringIO(downloads.frame_text(paper_rows.frame(rows)))))
    assert [cell["Emberpool"] for cell in cells] == [repr(row.simulated_value) for row in rows]
    assert [cell["Published"] for cell in cells] == [
        "" if row.published_range is None else repr(row.published_range[0]) for row in rows
    ]


def test_a_text_says_the_length_that_it_has_in_helvetica():
    assert letters.length("Energy", 10) == pytest.approx(6.67 + 5.56 + 5.56 + 3.33 + 5.56 + 5.0)
    drawn = '<text font-size="8px"><tspan x="0">a &amp; b</tspan><tspan x="0">i</tspan></text><text font-size="8px">W</text>'
    lengths = [float(one) for one in re.findall(r'textLength="([\d.]+)"', letters.add_lengths(drawn))]
    assert lengths == pytest.approx([letters.length("a & b", 8), letters.length("i", 8), 7.552], abs=0.01)


def test_two_presses_lead_to_the_figure_and_its_files(made_up):
    app = apps.opened("evidence")
    assert not app.exception and not [one for one in app.get("download_button") if "figure" in one.proto.id]
    app.pills(key=figure_panel.CHOSEN_PAPER_KEY).set_value(PAPER).run()
    assert not app.exception
    saved = [key for key in apps.download_keys(app) if key.startswith("figure ")]
    assert saved == [f"figure {kind}" for kind in ("svg", "pdf", "png", "csv", "bibtex")]
    shown = next(one.proto.body for one in app.get("html") if "paper-figure" in one.proto.body)
    assert 'alt="TrainingCXL: speed-up' in shown and shown.count("data:image/svg+xml") == 2


def test_no_control_of_the_scenario_stands_on_evidence_and_the_scenario_stays(made_up):
    app = apps.opened("evidence", {"preset": "tiny", "run.batches": "7"})
    assert not app.exception and not app.selectbox and not app.sidebar.children
    assert ("run.batches", "7") in apps.address(app)
    app.run()
    assert ("run.batches", "7") in apps.address(app) and app.session_state["held preset"] == "tiny"
