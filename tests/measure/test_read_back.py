"""The file of a machine: is it read as it was written, are strange ones refused, and does Evidence draw it?"""

import json

import pytest
from streamlit.testing.v1 import AppTest

from engine.errors import BadFile
from engine.measure.here.read_back import FIRST_MACHINE_FILE, first_machine, read_trials
from engine.measure.here.trials import PredictionSet, score, trials_content
from pages.evidence_page.here import machine_panel
from tests.cases import each

KEPT = json.loads(FIRST_MACHINE_FILE.read_text(encoding="utf-8"))


def test_the_first_machine_holds_what_its_table_says():
    found = first_machine()
    scored = score(found.trials)
    assert len(found.trials) == 40 and (found.seed, found.day) == (1, "2026-11-27")
    assert round(scored.median, 3) == 0.091 and scored.near_share == 0.95 and round(scored.rank, 2) == 0.99
    written = 100 * scored.median, 100 * scored.near_share, scored.rank, 100 * scored.peak_error
    told = [KEPT[name] for name in ("median_percent", "within_25_percent", "rank", "by_peaks_percent")]
    assert told == pytest.approx(written, rel=1e-3)


def test_what_is_written_is_read():
    found = first_machine()
    written = trials_content(PredictionSet("digest", found.trials, {}), found.trials, 7, "A CPU")
    again = read_trials("a.json", json.dumps(written).encode())
    assert (again.machine, again.seed) == ("A CPU", 7)
    assert [one.shape for one in again.trials] == [one.shape for one in found.trials]
    assert [one.measured_seconds for one in again.trials] == pytest.approx([one.measured_seconds for one in found.trials])


BROKEN = [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, json.dumps({**KEPT, "rows": 3}).encode(), b"x" * 2_000_001]
FIRST_ROW = KEPT["rows"][0]
for bad in (-1, float("nan"), "x", {}):
    broken = [
        {**FIRST_ROW, "measured": bad},
        *({**FIRST_ROW, "shape": {**FIRST_ROW["shape"], name: bad}} for name in ("bottom", "rows")),
    ]
    BROKEN += [json.dumps({**KEPT, "rows": [row]}).encode() for row in broken]


@each("file", BROKEN)
def test_what_is_no_such_file_is_refused_with_what_to_upload(file):
    with pytest.raises(BadFile, match=r"^own\.json[: ]"):
        read_trials("own.json", file)


def test_a_large_upload_is_refused_before_it_is_read():
    app = AppTest.from_string("from pages.evidence_page.here import machine_panel\nmachine_panel.draw()").run()
    app.file_uploader(key=machine_panel.UPLOAD).set_value(("here.json", b" " * (1 << 20) + b"{}", "application/json")).run()
    assert "1.00 MiB are allowed" in app.error[0].value.replace("\\", "") and not app.exception


def test_only_trained_models_are_shown():
    some = [{**one, "measured": None} for one in KEPT["rows"][:39]]
    assert len(read_trials("a.json", json.dumps({**KEPT, "rows": [*some, KEPT["rows"][39]]}).encode()).trials) == 1
    with pytest.raises(BadFile, match="no trained model"):
        read_trials("a.json", json.dumps({**KEPT, "rows": some}).encode())


def test_the_panel_says_the_finding_and_has_a_row_a_model():
    found = first_machine()
    assert machine_panel.finding(found) == (
        "The median error of predicted steps is 9.07 %, and 95 % of the predictions are within 25 %; a roofline is off by 73.9 %"
    )
    table = machine_panel.rows(found)
    assert len(table) == 40 and (abs(table.miss) <= 25).mean() == 0.95
    assert (table.high / table.low).round(6).eq(round(1.25 / 0.75, 6)).all()
