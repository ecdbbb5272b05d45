"""Files of a sweep: is the report whole by itself and the same each time, and does Parquet hold what the page shows?"""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pyarrow.parquet
import pytest

from engine import version
from engine.__main__ import main
from engine.scenario.presets import DEFAULT, preset
from engine.sweep.axes import parse
from engine.sweep.sweep import Sweep
from pages.answers import runs
from pages.graphics import pictures
from pages.search_page import sweep_pins, sweep_runs
from pages.search_page.points import report, sweep_figures, sweep_files
from pages.search_page.points.report import Report
from pages.search_page.points.sweep_marks import BEST_POINT
from pages.search_page.points.sweep_table import POINT
from pages.search_page.points.sweep_views import View
from tests.pages.search.test_sweep_views import COST, RATE, STEP, SWEEP, SYSTEM, frame

LINK = "http://host/sweep?axis=<b>&v=1"
REPORT = Report(SWEEP, "estimate", frame(), STEP, LINK, "2026-11-22", ("Step time [ms] ≤ 9 <script>",))


@pytest.fixture(scope="module")
def written():
    return report.report_html(REPORT)


class Tags(HTMLParser):
    """Collects tags and checks that they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.values = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.values += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action", "data")]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_asks_nobody_for_anything_and_is_well_formed(written):
    tags = Tags(written)
    assert not {"script", "link", "img", "iframe", "object"} & set(tags.seen) and tags.values == []
    without_names = written.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xlink", "")
    assert set(re.findall(r"https?://[\w./]+", without_names)) <= {
        "http://host/sweep",
        *re.findall(r"https?://[\w./]+", _sources()),
    }
    assert "default-src 'none'" in written and not re.search(r"url\((?!#)", written)


def _sources():
    return report._constants(REPORT)


def test_a_report_says_what_was_found_of_what_and_where_its_numbers_come_from(written):
    assert "Best Step time: 2.25 ms at CXL bandwidth [GB/s] = 8, Training system = CXL-D" in written
    assert (
        "http://host/sweep?axis=&lt;b&gt;&amp;v=1" in written
        and "2026-11-22" in written
        and f"model version {version.MODEL}" in written
    )
    assert "&lt;script&gt;" in written and written.count("<svg") == len(report.figures(REPORT)) == 4
    assert "Sources of the numbers" in written and "pmem." in written and "The Pareto front of" in written
    ids = re.findall(r'\bid="([^"]+)"', written)
    assert len(ids) == len(set(ids)), "figures that stand in one page share no names"


def test_an_auc_has_its_error_in_the_report_and_on_the_page():
    rows = frame().assign(**{"AUC": 0.7, "AUC error": 0.0123})
    rows.loc[7, ["AUC", "AUC error"]] = 0.7645, 0.0012
    found = report.report_html(replace(REPORT, rows=rows, metric="AUC"))
    assert "<h1>Best AUC: 0.7645 ± 0.0012 at " in found and "<td>0.7645 ± 0.0012</td>" in found
    assert "<td>0.700 ± 0.012</td>" in found
    pinned = sweep_pins.comparison_table(rows.iloc[[0, 7]], ["Point 1", "Point 8"], SWEEP).set_index("").loc["AUC"]
    assert (pinned["Point 1"], pinned["Point 8"]) == ("0.700 ± 0.012", "0.7645 ± 0.0012 (+9.21 %)")


def test_no_cell_of_a_report_is_read_as_markup():
    assert report._table([("a<b",), ("<i>&",)], words=0).count("&lt;") == 2 and "<i>" not in report._table([("x",), ("<i>",)], 1)


def test_the_same_sweep_gives_the_same_report_to_the_byte(written):
    assert report.report_html(REPORT) == written


def test_a_chart_is_saved_as_svg_with_its_units_and_as_png_of_twice_the_size():
    figure = sweep_figures.heat_map(REPORT.rows, SWEEP.axes[:2], STEP, BEST_POINT, True)
    drawn = pictures.svg(figure.spec, figure.marks)
    assert drawn.startswith("<svg") and "Step time [ms]" in drawn and "CXL bandwidth [GB/s]" in drawn
    image = pictures.png(figure.spec, figure.marks)
    assert image[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(image[16:20]) > 1.5 * pictures.WIDTH


def test_parquet_holds_every_point_and_the_link():
    rows = REPORT.rows
    held = pyarrow.parquet.read_table(io.BytesIO(sweep_files.parquet(View(SWEEP, rows, rows, STEP), "estimate", LINK)))
    assert held.schema.metadata[b"emberpool.link"].decode() == LINK
    table = held.to_pandas()
    assert list(table[POINT]) == list(range(1, len(rows) + 1)) and set(table["model version"]) == {version.MODEL}
    for name in (RATE, STEP, COST):
        pd.testing.assert_series_equal(table[name], rows[name])
    assert list(table[SYSTEM].astype(str)) == list(rows[SYSTEM].astype(str))


def test_the_csv_of_the_page_is_that_of_the_command_to_the_byte(tmp_path, monkeypatch):
    store, target = tmp_path / "store.sqlite", tmp_path / "table.csv"
    axes = ("system:pmem,cxl", "model.embedding_dim:32,16", "machine.cxl_bandwidth_GBps:8,16")  # 32 fits no scenario
    words = [word for axis in axes for word in ("--axis", axis.replace(":", "="))]
    assert (
        main(["sweep", "--estimate", "--jobs", "1", "--store", str(store), "--csv", str(target), *words]) == 2
    )  # of eight points four
    monkeypatch.setattr(runs, "STORE", store)
    swept = Sweep(preset(DEFAULT).scenario, tuple(map(parse, axes)))
    table = sweep_runs.table(swept, "estimate", None)
    whole = sweep_files.csv(View(swept, table, table, STEP), "estimate")
    assert whole == target.read_text() and whole.count("\n") == 9 and len(swept) == 4
    ran, some = (
        [line for line in text.splitlines()[1:] if "At system=" not in line]
        for text in (whole, sweep_files.csv(View(swept, table.iloc[1:3], table, STEP), "estimate"))
    )
    assert some == ran[1:3]
