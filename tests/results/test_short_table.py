"""The short table: the knobs that matter, headline results with units, and a link that opens the row."""

import csv
import io

from engine.estimate import estimate
from engine.results.metrics import METRICS
from engine.results.result import Result
from engine.results.short_table import HEADLINES, short_csv_text
from engine.scenario.keys import texts
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, values, with_values
from engine.sweep import links
from engine.version import MODEL

BASE = preset("trainingcxl-rm1").scenario


def rows(results, host=""):
    return list(csv.DictReader(io.StringIO(short_csv_text(results, host))))


def test_columns_are_the_knobs_that_matter_headlines_and_a_link():
    result = estimate(with_values(BASE, {"machine.cxl_bandwidth_GBps": 12.5}))
    (row,) = rows([result], "http://host:8501")
    usual = values(with_values(Scenario(), {"model.name": BASE.model.name}))
    differing = [path for path, setting in values(result.scenario).items() if setting != usual[path]]
    knobs = [name for name in row if name in KNOBS]
    assert knobs[:2] == ["system", "model.name"] and set(knobs) == {*differing, "system", "model.name"}
    assert "machine.cxl_bandwidth_GBps" in knobs and len(row) < 40
    assert {path: row[path] for path in knobs} == {path: texts(result.scenario)[path] for path in knobs}
    numbers = [name for name in HEADLINES if result.results.get(name) is not None]
    assert [name for name in row if name in HEADLINES] == numbers and "Step time [ms]" in numbers
    assert all(float(row[name]) == result.results[name] for name in numbers)
    assert list(row)[-3:] == ["outcome", "model version", "link"] and row["model version"] == MODEL
    assert row["link"].startswith("http://host:8501/design?") and links.open_link(row["link"]).scenario == result.scenario


def test_a_knob_that_varies_between_rows_is_a_column_where_one_row_has_its_default():
    varied = [Result(with_values(BASE, {"data.seed": seed}), True, "", {"AUC": 0.5}) for seed in (KNOBS["data.seed"].default, 7)]
    assert [row["data.seed"] for row in rows(varied)] == [str(KNOBS["data.seed"].default), "7"]
    assert "data.seed" not in rows(varied[:1])[0]


def test_knobs_that_two_named_models_set_differently_are_columns():
    models = [Result(with_values(Scenario(), {"model.name": name}), True, "", {}) for name in ("rm1", "rm2")]
    both, alone = rows(models), rows(models[:1])[0]
    varied = [path for path in KNOBS if texts(models[0].scenario)[path] != texts(models[1].scenario)[path]]
    assert len(varied) > 1 and set(varied) <= set(both[0]) and not set(varied) - {"model.name"} & set(alone)


def test_results_that_no_row_has_are_left_out_and_one_rows_gap_is_empty():
    gap = [Result(BASE, True, "", {"AUC": 0.5, "Loss": None}), Result(BASE, False, "=too large", {"Nodes": 2.0})]
    first, second = rows(gap)
    assert (first["AUC"], second["AUC"], first["Nodes"]) == ("0.5", "", "") and "Loss" not in first
    assert second["outcome"] == "'=too large"


def test_every_headline_is_a_metric():
    assert set(HEADLINES) <= {metric.name for metric in METRICS.values()}
