"""The Evidence page: does it count and name what holds and what fails, and does Design say where its numbers come from?"""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine import version
from engine.campaign.reference_points import published_figures
from engine.core.graph import STAGES
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.validation import accepted, validate
from engine.validation.claims import Claim, families
from engine.validation.scoreboard import ALL_FAMILIES, scores
from engine.validation.studies import findings, study_file
from engine.validation.validate import ClaimVerdict
from pages.answers import later
from pages.evidence_page import scoreboard_panel, study_panel, tally, verdict_charts, verdict_tables, verdicts
from pages.ui import downloads
from tests import apps, fakes

CLAIM = Claim("Step time, cxl [ms]", "Step time [ms]", "cxl", ("trainingcxl-rm1",), "calibrated", "made up", 5.0, 0.5)
PROTOTYPES = [f"trainingcxl-rm{number}" for number in (1, 2, 3, 4)]
CLAIMING = [name for name in preset_names() if preset(name).claims]


def forget():
    """Forget all verdicts and the runs from which they were computed."""
    for clear in (validate._run.cache_clear, verdicts.forget, later._shared_answers.clear):
        clear()


@pytest.fixture(scope="module")
def made_up():
    """Let made-up runs stand in for the real ones; returns the list of what was run. Verdicts are kept from test to test."""
    asked = []

    def simulate(scenario):
        asked.append(scenario)
        return fakes.simulate(scenario)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("simulate", "estimate"):
            patch.setattr(validate, name, simulate)
        forget()
        yield asked
    forget()


@pytest.fixture
def fresh(made_up):
    """Return the same, with no verdict kept before or after the test."""
    forget()
    made_up.clear()
    yield made_up
    forget()


@pytest.fixture(scope="module")
def evidence(made_up):
    """Return the page for tests that only read it."""
    app = opened()
    assert not app.exception
    return app


def opened(query=None, page="evidence"):
    return apps.opened(page, query)


def verdict(ours, **changes):
    return ClaimVerdict("trainingcxl-rm1", replace(CLAIM, **changes), ours)


def test_the_page_runs_every_claim_once_and_keeps_the_verdicts(fresh):
    app = opened({"preset": "tiny"})
    assert not app.exception and len(app.header) == 1 and "published statements are met" in app.header[0].value
    runs = len(fresh)
    assert runs == len(set(fresh)) == len(verdicts.claim_points(CLAIMING))
    assert len(app.dataframe[-1].value) == sum(len(preset(name).claims) for name in CLAIMING) + len(published_figures())
    again = opened()
    assert len(fresh) == runs and again.header[0].value == app.header[0].value


def test_a_later_process_shows_kept_verdicts_and_computes_those_of_a_damaged_file(fresh):
    header, runs = opened().header[0].value, len(fresh)
    kept, computed, numbers = Path(".emberpool/verdicts.txt"), [], scoreboard_panel.figures(version.MODEL)
    for damage in ("", "x"):
        fresh.clear()
        forget()
        scoreboard_panel.figures.cache_clear()
        kept.write_text(kept.read_text() + damage)
        app = opened()
        assert not app.exception and app.header[0].value == header
        assert scoreboard_panel.figures(version.MODEL) == numbers
        computed.append(len(fresh))
    assert computed[0] < runs / 4 and computed[1] == runs  # bars by stage need runs of their own


def test_the_page_names_what_fails_and_says_so_in_its_table(evidence):
    words = evidence.dataframe[-1].value["Verdict"].value_counts()
    found, numbers = verdicts.all_verdicts(), scoreboard_panel.figures(version.MODEL)
    published = [one for one in found if one.claim.published is not None]
    missed = sum(one.passed is False for one in published) + sum(bool(one.cause) for one in numbers)
    met, said = len(published) + len(numbers) - missed, [int(one) for one in re.findall(r"\d+", evidence.header[0].value)]
    assert said == [met, met + missed, missed] and missed > 10
    limits_broken = sum(one.passed is False and one.claim.published is None for one in found)
    assert words["✗ outside"] == missed + limits_broken and words["prediction"] == sum(one.passed is None for one in found)
    counted = tally.count_statements(found, numbers)
    assert counted.predictions == words["prediction"]
    worst = max(counted.misses, key=lambda miss: miss.size)
    assert counted.misses[0] == worst and tally.reasons(counted)[0].count(" × in ") == tally.MAX_NAMED_MISSES


def test_the_scoreboard_stands_first_and_its_picture_has_every_published_number(evidence):
    first = evidence.table[0].value
    assert list(first.index) == [ALL_FAMILIES, *families()] and "Median error [%]" in first
    free = [int(text) for text in first["Numbers"] if text != scoreboard_panel.FITTED]
    assert free[0] == sum(free[1:]) > 20 and len(free) < len(first)
    assert (
        not first.isna().any().any()
        and "None" not in first.to_string()
        and first["Numbers"]["TrainingCXL"] == "all used for fitting"
    )
    assert any("accepted" in warning.value for warning in evidence.warning)  # what made-up runs give is worse than the record
    found = scores(validate.validate(["bagpipe-kaggle"]), ())
    drawn = scoreboard_panel.points(found)
    assert apps.fields(scoreboard_panel.spec()) >= set(drawn.columns)
    assert list(drawn.name) == [one.name for one in found if one.simulated_value > 0]  # a saving of 0 % has no logarithm


def test_a_damaged_record_shows_its_sentence_and_leaves_the_claims(made_up, monkeypatch, tmp_path):
    monkeypatch.setattr(accepted.read_record, "__defaults__", (tmp_path / "none.json",))
    app = opened()
    assert not app.exception and "cannot be read" in app.error[0].value.replace("\\", "") and "Verdict" in app.dataframe[-1].value


def test_a_preset_that_cannot_run_gives_the_page_its_sentence(fresh, monkeypatch):
    monkeypatch.setattr(validate, "simulate", lambda scenario: replace(fakes.simulate(scenario), ran=False, outcome="Too *big*."))
    app = opened()
    said = [part.value for part in app.markdown]
    assert not app.exception and any(text.endswith(r"cannot run\: Too \*big\*.") for text in said) and not app.dataframe
    assert [header.value for header in app.header] == ["The published statements cannot be compared now."]


def test_the_answer_counts_and_names_the_largest_misses_in_words():
    found = [
        verdict(5.1),
        verdict(4.0),
        verdict(1.0),
        verdict(5.2, kind="predicted"),
        verdict(9.0, kind="predicted", published=None, tolerance=None),
    ]
    counted = tally.count_statements(found, ())
    assert tally.finding(counted) == "2 of 4 published statements are met, 2 are not."
    assert tally.reasons(counted) == [
        "The largest misses, Emberpool over published: "
        "0.200 × in Step time, CXL (TrainingCXL); 0.800 × in Step time, CXL (TrainingCXL)."
    ]
    prediction = "1 prediction cannot be compared, as no number is published."
    assert tally.notes(counted) == ["4 of the 4 statements were used for fitting.", prediction]
    free = [replace(one, claim=replace(one.claim, sample="out of sample")) for one in found]
    assert tally.notes(tally.count_statements(free, ())) == [prediction]
    assert tally.finding(tally.count_statements(found[:1], ())) == "1 of 1 published statement is met, none is missed."
    assert tally.reasons(tally.count_statements(found[-1:], ())) == []


def test_published_stacks_sum_to_published_totals_and_ours_to_ours_and_every_column_is_drawn(made_up):
    stacks = verdict_tables.stacks(validate.validate([*PROTOTYPES, "torchrec-terabyte"]))
    assert set(stacks) == set(PROTOTYPES), "step times under other knobs are no bars of a preset"
    assert apps.fields(verdict_charts.stacks(20.0)) >= set(stacks["trainingcxl-rm1"].columns)
    assert list(stacks) == [PROTOTYPES[0], PROTOTYPES[3], PROTOTYPES[1], PROTOTYPES[2]]
    totals = stacks["trainingcxl-rm1"].groupby(["who", "system"])["amount"].sum()
    paper = {"pmem": 20.61, "pcie": 8.47, "cxl-d": 6.69, "cxl-b": 5.47, "cxl": 4.78}
    assert totals["published"].to_dict() == pytest.approx(paper)
    ours = {system: fakes.estimate(with_values(preset(PROTOTYPES[0]).scenario, {"system": system})).results for system in paper}
    assert totals["ours"].to_dict() == pytest.approx({system: found["Step time [ms]"] for system, found in ours.items()})
    assert set(stacks["trainingcxl-rm2"]["who"]) == {"ours"}
    assert all((rows["amount"] >= 0).all() and set(rows["part"]) <= set(STAGES) for rows in stacks.values())


def test_the_table_of_claims_as_csv_is_exact_and_safe_for_spreadsheets():
    frame = verdict_tables.table(
        [verdict(0.1 + 0.2, title="=HYPERLINK(1)", source="+a,b\nc"), verdict(7.0, published=None, tolerance=None)]
    )
    rows = list(csv.DictReader(io.StringIO(downloads.frame_text(frame))))
    assert rows[0]["Claim"] == "'=HYPERLINK(1)" and rows[0]["Source"] == "'+a,b\nc"
    assert rows[0]["Ours"] == "0.30000000000000004" and float(rows[0]["Error [%]"]) == pytest.approx(-94)
    assert [rows[1][name] for name in ("Published", "Error [%]", "Tolerance")] == ["", "", ""]


def test_the_page_shows_the_accuracy_study_with_its_date_and_command(evidence):
    app, study = evidence, study_file.read_study(study_file.STORED_ACCURACY)
    text = [part.value.replace("\\", "") for part in app.markdown]
    assert f"**{findings.accuracy_sentence(study)}**" in text
    assert any(study.date in caption.value and f"{len(study.seeds)} seeds" in caption.value for caption in app.caption)
    assert f"python -m engine study accuracy --seeds {len(study.seeds)}" in [code.value for code in app.code]
    frame = next(frame.value for frame in app.dataframe if "Seed spread" in frame.value)
    by_hand = [100 * (seed.at_end[1000].auc - seed.at_end[0].auc) for seed in study.seeds.values()]
    row = frame[(frame["Moment"] == "at the end") & (frame["Measure"] == "AUC") & (frame[study_panel.AGE] == 1000)].iloc[0]
    assert row["Difference"] == pytest.approx(sum(by_hand) / len(by_hand)) and row["Low"] < row["Difference"] < row["High"]


def test_a_damaged_study_shows_its_sentence_and_leaves_the_claims(made_up, monkeypatch, tmp_path):
    monkeypatch.setattr(study_file, "STORED_ACCURACY", tmp_path / "none.jsonl")
    app = opened()
    assert not app.exception and "cannot be read" in app.error[0].value and "Verdict" in app.dataframe[-1].value


@pytest.mark.parametrize(("name", "prototype"), [("trainingcxl-rm2", True), ("dlrm-kaggle", False), ("optane-rm2", False)])
def test_explore_says_where_constants_come_from_and_which_are_calibrated(name, prototype):
    """On parts on sale what a GPU draws between kernels is, fitted to a node's power, and PyTorch's time for an input value."""
    loop = {"host.input-a-value"} if preset(name).scenario.machine.framework == "pytorch-graph" else set()
    app = opened({"preset": name}, "design")
    app.session_state["numbers section"] = True
    assert not app.run().exception
    assert any("TrainingCXL RM1 and RM4" in caption.value for caption in app.caption) == prototype
    assert any("MLPerf v4.0's power of a node" in caption.value for caption in app.caption) != prototype
    assert any("NVIDIA DeepLearningExamples, DLRM for PyTorch" in caption.value for caption in app.caption) == bool(loop)
    shown = next(frame.value for frame in app.dataframe if "Confidence" in frame.value)
    assert set(shown.columns) == {"Device", "Constant", "Value", "Unit", "Low", "High", "Confidence", "Source", "Note"}
    calibrated = set(shown[shown["Confidence"] == "calibrated"]["Constant"])
    assert len(calibrated) > 5 if prototype else calibrated == {"gpu.power-between-kernels"} | loop
    assert shown["Source"].str.len().min() > 0


def test_energies_are_those_of_the_runs_relative_to_the_baseline_with_published_bars_beside_them(made_up):
    found = validate.validate(PROTOTYPES)
    rows = verdict_tables.energies(found)
    assert set(rows.who) == {"ours"} and len(rows) == 4 * 5
    joules = {
        system: fakes.estimate(with_values(preset(PROTOTYPES[0]).scenario, {"system": system})).results
        for system in ("cxl", "pmem")
    }
    own = rows[(rows.preset == preset(PROTOTYPES[0]).title.partition(",")[0]) & (rows.system == "cxl")].energy.item()
    assert own == pytest.approx(joules["cxl"]["Energy per batch [J]"] / joules["pmem"]["Energy per batch [J]"])
    saving = next(one for one in found if one.claim.metric == "Energy per batch [J]" and one.claim.presets == (PROTOTYPES[0],))
    told = replace(saving, claim=replace(saving.claim, published=80.0, tolerance=5.0))
    published = verdict_tables.energies([*(one for one in found if one is not saving), told])
    assert published[published.who == "published"].energy.item() == pytest.approx(0.2)
