"""The panel of one's own data on Data and Failures: from a table that nobody has described to its popularity and a run."""

import random
import tomllib
from pathlib import Path

import pytest

from engine.insight.fitting.shape import shape_of
from engine.results import falling_auc
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload.readers import mapping
from engine.workload.source import passes_over
from pages.answers import data_file, runs
from pages.data_page import cache_size, workload_charts, workload_tables
from pages.full_run import training_panel
from pages.gate import access
from pages.gate.typed_path import expand_path
from pages.graphics import charts
from pages.graphics.log_axes import log_ticks
from pages.own_data import panel, ways
from pages.ui import tables
from tests import apps
from tests.apps import chart_words, text
from tests.cases import each

SECRET = "zebra_crossing"


@pytest.fixture(autouse=True)
def unknown(monkeypatch, tmp_path):
    """Let no file be known to the server, nothing be kept of other tests, no token be given, and no run begin."""
    monkeypatch.setattr(data_file, "_FILES", {})
    monkeypatch.setattr(access, "_token", "")
    monkeypatch.setattr(mapping, "KEPT_MAPPINGS", tmp_path / "own" / "mappings")
    monkeypatch.setattr(runs.service, "ensure_service", lambda store: "")  # what is asked for is not computed


@pytest.fixture
def clicks(tmp_path):
    """Return a CSV of user, item, category, label, time that nobody has described."""
    chance = random.Random(3)
    users = [min(int(chance.paretovariate(0.7)), 60) for _ in range(600)]
    rows = [
        f"u{user},i{chance.randrange(120)},c{n % 5},{chance.randrange(2)},{1_700_000_000 + n}\n" for n, user in enumerate(users)
    ]
    path = tmp_path / "my clicks.csv"
    path.write_text("user,item,category,label,time\n" + "".join(rows))
    return path


def typed(path, page="data", query=None):
    return apps.opened(page, query or {"preset": "tiny", "data.batch_size": "256"}, **{ways.PATH: f"'{path}'\n"})


def test_on_data_an_accepted_guess_shows_the_popularity_with_the_names_of_the_columns(clicks, trusted):
    app = typed(clicks)
    assert app.button(key="accept guess") and not app.error
    app.button(key="accept guess").click().run()
    found = tomllib.loads(Path(f"{clicks}.toml").read_text())
    assert found["ids"] == ["user", "item", "category"] and found["label"] == "label" and found["time"] == "time"
    scenario = app.session_state["scenario"]
    assert scenario.data.digest == data_file.register(clicks).digest and scenario.model.num_tables == 3 and not app.exception
    assert "counted in" in text(app.markdown) and "of the data file" in text(app.markdown)
    assert "passes over 540 samples" in text(app.markdown), "the last tenth is held out"
    words = chart_words(app)
    assert any(f"{name} (" in words["tables"] for name in found["ids"])
    assert not any("table 1" in each_words for each_words in words.values())
    app.button(key="train shown").click().run()
    assert app.session_state["scenario"] == scenario
    asked = apps.run_status(scenario)
    assert asked and not asked.is_ended, "the run has begun"
    assert apps.cancel_buttons(app)


def test_on_failures_and_start_the_same_panel_leads_on(clicks, trusted):
    Path(f"{clicks}.toml").write_text('label = "label"\nids = ["user", "item", "category"]\ntime = "time"\n')
    digest = data_file.register(clicks, data_file.TYPED).digest
    for page in ("failures", "start"):
        app = typed(clicks, page, {"preset": "tiny"})
        assert "600 samples; id fields: 3 (user, item, category)" in text(app.markdown), page
        app.button(key="own popularity").click().run()
        assert app.session_state["scenario"].data.digest == digest and "of the data file" in text(app.markdown), page


def test_a_file_that_cannot_be_counted_is_one_answer_with_a_remedy_and_an_open_panel(clicks, trusted):
    Path(f"{clicks}.toml").write_text('label = "label"\nids = ["user", "item", "category"]\n')
    app = apps.opened("data", {"preset": "tiny", "data.digest": data_file.register(clicks, data_file.TYPED).digest})
    assert [one.value for one in app.header] == ["The lookups of my clicks.csv cannot be counted for this model"]
    assert next(one for one in app.expander if one.label.startswith("Your own data")).proto.expanded
    app.button(key="own popularity").click().run()
    assert "hit rate" in text(app.header) and not app.error


@pytest.mark.slow
def test_the_names_of_columns_are_for_those_alone_who_may_see_the_file(clicks, trusted, monkeypatch):
    clicks.write_text(clicks.read_text().replace("item,", f"{SECRET},", 1))
    Path(f"{clicks}.toml").write_text(f'label = "label"\nids = ["user", "{SECRET}"]\n')
    file = data_file.register(clicks, data_file.TYPED)
    link = {"preset": "tiny", "data.digest": file.digest}
    for trust in (True, False):
        monkeypatch.setattr(access, "is_trusted", lambda trust=trust: trust)
        app = apps.opened("data", link)
        app.button(key="take shape").click().run()
        app.button(key="fit").click().run()
        assert "fitted to" in text(app.markdown) and not app.exception
        shown = " ".join(str(node.proto) for node in app._tree if getattr(node, "proto", None))
        shown += " ".join(" ".join(map(str, frame.value.columns)) + frame.value.to_string() for frame in app.dataframe)
        shown += workload_tables.by_table(workload_tables.without_columns(_profile(app, clicks), trust))["table"].str.cat()
        assert (SECRET in shown) == trust


def _profile(app, path):
    return workload_tables.counted_profile(workload_tables.profile_scenario(app.session_state["scenario"]), 1_000_000, str(path))


PASTED = ("{}", " {} ", "'{}'", '"{}"', '"{}" ', "{}\n", "\n\t{}\r\n", "`{}`", "\u201c{}\u201d", "'{}'\n")


@each("form", PASTED)
def test_a_path_is_read_as_people_paste_it(form, tmp_path):
    for name in ("plain.csv", "my clicks (1).csv", "50% & more.csv"):
        path = tmp_path / name
        path.write_text("")
        escaped = str(path).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)").replace("&", "\\&")
        for written in (str(path), escaped, path.as_uri(), path.as_uri().replace("file://", "file://localhost")):
            assert expand_path(form.format(written)) == path


def test_a_name_that_has_a_backslash_stays_and_a_home_folder_is_found(tmp_path, monkeypatch):
    path = tmp_path / "a\\ b.csv"
    path.write_text("")
    assert expand_path(str(path)) == path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_path("'~/my clicks.csv'") == expand_path("~/my\\ clicks.csv") == tmp_path / "my clicks.csv"


SIZES = {
    "114 kB": 114e3,
    "21.6 MB": 21.6e6,
    "1.5GB": 1.5e9,
    "2 TB": 2e12,
    "640 B": 640,
    "1.5": 1.5e9,
    ".5": 0.5e9,
    "1,024 kb": 1.024e6,
    "2 MiB": 2 * 2**20,
    "1e-3": 1e6,
    "3 g": 3e9,
}


@each("typed_size", SIZES)
def test_a_size_has_any_unit_and_a_bare_number_is_in_gigabytes(typed_size):
    assert cache_size.parse_size(typed_size) == pytest.approx(SIZES[typed_size])


@each("typed_size", ["", "plenty", "5 GBit", "-1 GB", "1.2.3", "kB"])
def test_what_is_no_size_is_refused(typed_size):
    with pytest.raises(ValueError):
        cache_size.parse_size(typed_size)


@each("tables", [(5_000, 3, "kB"), (30_000_000, 1, "MB"), (10**9, 4, "GB"), (3 * 10**9, 260, "TB")])
def test_axes_over_sizes_have_the_unit_of_the_tables_and_ticks_at_1_2_5(tables):
    rows, number, unit = tables
    changes = {"model.num_tables": number, "model.num_embeddings": (rows,), "model.pooling": (1,)}
    found = workload_tables.expected_profile(workload_tables.profile_scenario(with_values(preset("tiny").scenario, changes)))
    frame = workload_tables.hits(found, 0.01, {})
    assert workload_tables.unit(found) == unit and 10 <= frame["x"].max() < 10_000
    ticks = log_ticks(frame["x"])
    assert len(ticks) >= 10 and {f"{tick:e}"[0] for tick in ticks} == {"1", "2", "5"}
    assert frame["x"].min() <= ticks[0] and ticks[-1] <= frame["x"].max()


def test_a_map_of_tables_is_high_enough_for_one_and_its_labels_stand_apart_for_many():
    for number in (1, 2, 3, 8, 26, 30):
        step = workload_charts.tables(number)["height"]["step"]
        assert step >= 15 and (number > 3 or number * step >= 44)


def test_a_finding_about_small_tables_is_one_of_some_tables_only(clicks):
    Path(f"{clicks}.toml").write_text('label = "label"\nids = ["user", "item", "category"]\n')
    file = data_file.register(clicks)
    scenario = panel.scenario_of(preset("tiny").scenario, file, shape_of(str(clicks), file.digest))
    found = workload_tables.counted_profile(scenario, 10_000, str(clicks))
    told = workload_tables.tables_sentence(found, 0.1)
    assert "smallest tables" not in told and " of all misses" in told and "item (" in told and found.samples == 540
    assert workload_tables.tables_sentence(found, 1.0).startswith("With 100 % of each table cached")


def test_passes_are_counted():
    scenario = with_values(preset("tiny").scenario, {"data.batch_size": 500, "run.batches": 1000})
    assert passes_over(scenario, 44_928) == "11 passes over 44,928 samples"
    assert passes_over(scenario, 200_000) == "2.50 passes over 200,000 samples"
    assert passes_over(scenario, 500_000) == "1 pass over 500,000 samples"
    assert passes_over(scenario, 1_000_000) == "1,000 batches of 500, 50 % of 1,000,000 samples"
    assert passes_over(with_values(scenario, {"run.passes": 3}), 44_928) == "3 passes over 44,928 samples"


def test_where_auc_falls_the_advice_is_fewer_passes_and_not_more_batches():
    scenario = with_values(preset("tiny").scenario, {"data.batch_size": 500})
    training = [{"Batch": n, "AUC": auc} for n, auc in ((99, 0.6), (199, 0.7), (299, None), (399, 0.68))]
    advice = falling_auc.falling_auc_advice(training, scenario, 50_000)
    assert "after 2 passes" in advice and "set Passes to 2" in advice and "fallen by 0.0200" in advice
    assert "fewer batches" in falling_auc.falling_auc_advice(training, scenario)
    assert "more batches" not in training_panel.yardstick_sentence(0.68, 0.72, True)
    assert "more batches" in training_panel.yardstick_sentence(0.68, 0.72, False)
    sentences = [training_panel.yardstick_sentence(0.68, 0.72, rises=rises) for rises in (True, False)]
    assert ["train more batches" in sentence for sentence in sentences] == [True, False]
    assert all("change Optimizer" in sentence for sentence in sentences)
    assert (
        falling_auc.falling_auc_advice(training[:2], scenario, 50_000)
        == ""
        == falling_auc.falling_auc_advice([], scenario, 50_000)
    )


def test_the_curve_of_auc_is_titled_with_its_error_and_has_a_rule_of_it_at_each_point():
    rows = [{"Batch": n, "AUC": auc, "AUC error": 0.0123, "Loss": 0.5} for n, auc in ((99, 0.7), (199, 0.71231))]
    frame = tables.curve([{**row, "Elapsed [s]": row["Batch"]} for row in rows], ())
    assert training_panel.auc_title(frame) == "AUC on held-out samples reaches 0.712 ± 0.012"
    fell = frame.assign(auc=[0.7, 0.68])
    assert training_panel.auc_title(fell).endswith("0.680 ± 0.012; its highest value is 0.700 ± 0.012 after 100 batches")
    rules = [layer for layer in charts.curve("auc", "AUC", "batch")["layer"] if layer["mark"]["type"] == "rule"]
    assert (rules[0]["encoding"]["y"]["field"], rules[0]["encoding"]["y2"]["field"]) == ("low", "high")
    kept_without = tables.curve([{"Batch": 9, "Elapsed [s]": 1.0, "Loss": 0.5, "AUC": 0.7}], ())
    assert training_panel.auc_title(kept_without) == "AUC on held-out samples reaches 0.700"


@pytest.mark.slow
def test_design_says_how_many_passes_a_run_on_a_file_makes(clicks, trusted):
    Path(f"{clicks}.toml").write_text('label = "label"\nids = ["user", "item", "category"]\n')
    app = typed(clicks)
    app.button(key="own training").click().run()
    apps.ANSWERS.found()
    assert "passes over 540 samples" in text(app.run().caption)
