"""Pages: does each page run, open a good link, refuse a bad one, and keep to the last good scenario?"""

import json
import re
from concurrent.futures import Future
from dataclasses import replace

import pytest

from engine.insight.knobs.front import front_knobs
from engine.results.result import Result
from engine.scenario import keys
from engine.scenario.presets import DEFAULT, EXPLORED, preset
from engine.scenario.scenario import GROUPS, KNOBS, with_values
from engine.simulate import simulate
from engine.store import result_rows
from engine.store.database import DEFAULT as STORE
from engine.store.database import open_store as opened_store
from engine.sweep import links
from engine.training.yardsticks import Yardsticks, yardsticks
from pages.answers import estimates
from pages.full_run import training_panel
from pages.knob_cards import strips
from pages.shell import frame
from pages.shell.sidebar import sections
from pages.ui import tables
from tests import apps, fakes
from tests.apps import address
from tests.cases import each

LIGHT = "runs"  # has the bar and the drawer of every page, and little else to draw
BANDWIDTH, EXACT = "machine.cxl_bandwidth_GBps", "knob machine.cxl_bandwidth_GBps"


@pytest.fixture
def engine(monkeypatch):
    """Put the made-up engine in place of the real one, for what is shown of each system."""
    monkeypatch.setattr(estimates, "estimate", fakes.estimate)
    estimates.estimate_of.cache_clear()
    yield
    estimates.estimate_of.cache_clear()


@pytest.fixture
def opened(engine):
    """Return `open(query, page)`, which runs the app on a link and returns it."""

    def run(query="", page="design"):
        return apps.opened(page, apps.link(query))

    return run


def headers(app):
    return [header.value for header in app.header]


def unfold(app, group):
    """Open a group of the sidebar: only then are its knobs drawn."""
    app.session_state[f"group {group}"] = True
    return app.run()


def test_design_opens_with_the_explored_preset_at_a_bare_address(opened):
    app = opened()
    assert not app.exception
    assert headers(app) == ["CXL trains dlrm-dcnv2 in 4.04 ms a batch\\: 1.62 × slower than DRAM, with 61.7 % more energy"]
    assert address(app) == links.query(preset(EXPLORED).scenario, EXPLORED)
    assert address(opened("model.name=rm1")) == links.query(with_values(preset(DEFAULT).scenario, {"model.name": "rm1"}))


def test_every_knob_has_a_widget_that_shows_its_value(opened):
    app = opened("preset=tiny&policy.relaxed_lookup=on&data.locality=0.25")
    assert app.session_state["knob policy.relaxed_lookup"] == "on" and "knob data.locality" not in app.session_state
    for group in GROUPS:
        app.session_state[f"group {group}"] = app.session_state[f"idle {group}"] = True
    app.session_state[strips.FLAT_SECTION] = True
    assert app.run().text_input(key="knob data.locality").value == "0.25"
    drawn = {widget.key for kind in (app.text_input, app.selectbox, app.toggle) for widget in kind}
    assert {f"knob {path}" for path in KNOBS} <= drawn
    folded = [expander.label for expander in app.sidebar.expander if expander.label.lower() in GROUPS]
    assert folded == [group.capitalize() for group in GROUPS]


def test_a_knob_whose_widget_streamlit_forgot_keeps_its_value(opened):
    app = unfold(opened("preset=tiny&data.locality=0.25"), "data")
    assert "knob data.locality" in app.session_state
    app.session_state["group data"] = False
    app.run()
    assert "knob data.locality" not in app.session_state
    assert not app.switch_page("pages/data.py").run().exception and ("data.locality", "0.25") in address(app)


def test_a_link_sets_the_widgets_and_stays_in_the_address(opened):
    app = opened("preset=dlrm-kaggle&machine.cxl_bandwidth_GBps=10&v=1&model=0.2")
    assert app.text_input(key=EXACT).value == "10.0" and app.select_slider(key=f"slide {BANDWIDTH} 0").value == "10.0"
    assert (BANDWIDTH, "10.0") in address(app)


@each(
    "query",
    [
        "machine.cxl_bandwidth_GBps=nan",
        "axis=[click](http://evil.example):**1**",
        "axis=data.seed:1&axis=run.batches:2&axis=data.batch_size:3&axis=faults.seed:4&axis=system:cxl&axis=run.passes:1&axis=model.pooling:1",
    ],
    few=2,
)
def test_a_bad_link_keeps_the_page_and_says_what_was_left_out(engine, query):
    app = apps.opened(query=apps.link(query))
    assert not app.exception and len(app.error) == 1
    assert query.partition("=")[0] in app.error[0].value.replace("\\", "") and "Left out" in app.error[0].value
    assert "](http" not in app.error[0].value, "text of a link is never markup"
    assert app.header and app.metric, "the page stands"
    app.button(key="put left out away").click().run()
    assert not app.error and not app.exception


def test_a_moved_slider_changes_the_finding_and_the_link(opened):
    app = opened()
    before = headers(app)
    app.select_slider(key=f"slide {BANDWIDTH} 0").set_value("4.0").run()
    assert headers(app) != before and (BANDWIDTH, "4.0") in address(app) and app.text_input(key=EXACT).value == "4.0"


def test_an_automatic_capacity_stands_at_its_modules_and_moves_from_there(opened):
    """RM2's 61.9 GB of tables and logs take four of the prototype's modules of 16 GB, at 11.3 GB/s and 5 W each."""
    path, module = "machine.pmem_capacity_GB", 16
    app = opened("preset=trainingcxl-rm2")
    slider = app.select_slider(key=f"slide {path} 0")
    assert slider.value == "auto" and slider.options[:3] == ["3 × 16 GB", "auto, 4 × 16 GB", "5 × 16 GB"]
    app.session_state[f"about {path}"] = True
    app.run()
    assert "auto: 4 × 16 GB = 64 GB, 45.2 GB/s read, 20.0 W idle; 61.88 GB of tables and logs take 4 modules" in apps.text(
        app.markdown
    )
    slider.set_value(str(8.0 * module)).run()
    assert (path, "128.0") in address(app) and "8 × 16 GB = 128 GB, 90.4 GB/s read, 40.0 W idle" in apps.text(app.markdown)
    app.text_input(key=f"knob {path}").set_value("auto").run()
    assert not any(name == path for name, _ in address(app)) and app.text_input(key=f"knob {path}").value == "auto"
    app.text_input(key=f"knob {path}").set_value("100").run()
    assert "100 GB rounded up to 7 × 16 GB = 112 GB" in apps.text(app.markdown) and (path, "100.0") in address(app)
    unfold(app, "machine").selectbox(key="knob machine.pmem").set_value("battery-dram").run()
    assert "100 GB rounded up to 4 × 32 GB = 128 GB" in apps.text(app.markdown) and not app.exception


def strips_of(app):
    """Return the knobs that Design draws on cards."""
    return front_knobs(app.session_state["scenario"])


def test_every_automatic_knob_on_the_page_says_what_is_in_force(opened):
    app = opened("preset=dlrm-kaggle&faults.rates=llama3", LIGHT)
    app.session_state[strips.FLAT_SECTION] = True
    for path in strips_of(app):
        app.session_state[f"about {path}"] = True
    drawn = [unfold(app, group) for group in ("machine", "policy", "faults")]
    told = " ".join(apps.text([*page.caption, *page.markdown]) for page in drawn)
    for words in (
        "auto: 25.83 GB/s; the link of a module of nv-cmm",
        "auto: 32 GB; a module of nv-cmm",
        "auto: on;",
        "auto: 100 batches;",
        "no target, trains on the 1 GPU",
        "81,040 h; published rate",
    ):
        assert words in told, words


def test_a_refused_value_shows_its_sentence_and_the_last_good_scenario_stays(opened):
    app = opened()
    app.text_input(key=EXACT).set_value("8").run()
    good = headers(app)
    app.text_input(key=EXACT).set_value("fast").run()
    assert headers(app) == good and (BANDWIDTH, "8.0") in address(app) and not app.exception
    assert any("not a number" in caption.value for caption in app.caption)
    app.text_input(key=EXACT).set_value("16").run()
    assert headers(app) != good and not any("not a number" in caption.value for caption in app.caption)


PATH = re.compile(r"\b(model|data|run|machine|policy|faults)\.[a-z]\w+_\w+")


@each("page", ["design", "search", "failures", "data"])
@each("refused", ["model.optimizer=adagrad", "machine.num_gpus=4", "machine.pmem_capacity_GB=1"], few=5)
def test_no_word_of_the_code_reaches_a_page(page, refused):
    app = apps.opened(page, apps.link(f"preset=dlrm-kaggle&{refused}"))
    said = apps.text([*app.header, *app.markdown, *app.caption, *app.error, *app.warning, *app.info])
    assert not app.exception and not PATH.search(said), PATH.search(said)


def test_knobs_that_contradict_each_other_are_refused_together(opened):
    app = unfold(opened(page=LIGHT), "model")
    app.text_input(key="knob model.bottom_mlp").set_value("13-64-32").run()
    assert "Embedding dim" in app.error[0].value and "the last valid scenario" in app.error[0].value
    app.text_input(key="knob model.embedding_dim").set_value("32").run()
    assert not app.error and ("model.embedding_dim", "32") in address(app)


def test_a_knob_keeps_its_value_while_its_group_is_folded_and_unfolded(opened):
    app = unfold(opened("data.locality=0.25", LIGHT), "data")
    app.text_input(key="knob data.locality").set_value("0.75").run()
    app.session_state["group data"] = False
    for _ in range(3):
        app.run()
        assert "knob data.locality" not in {widget.key for widget in app.text_input}
        assert ("data.locality", "0.75") in address(app) and not app.exception
    app.text_input(key="find").set_value("locality").run()
    app.text_input(key="knob data.locality").set_value("0.5").run()
    app.text_input(key="find").set_value("").run()
    assert ("data.locality", "0.5") in address(app.run())
    assert unfold(app, "data").text_input(key="knob data.locality").value == "0.5"
    app.selectbox(key="preset").set_value("tiny").run()
    assert address(app) == links.query(preset("tiny").scenario, "tiny")


def test_a_named_model_brings_its_own_knobs(opened):
    app = unfold(opened(page=LIGHT), "model")
    app.selectbox(key="knob model.name").set_value("dlrm-terabyte").run()
    expected = with_values(preset(DEFAULT).scenario, {"model.name": "dlrm-terabyte"})
    assert links.open_pairs(address(app)).scenario == expected


def test_a_named_model_drops_lists_for_the_tables_of_the_one_before_and_says_so(opened):
    app = unfold(opened("preset=tiny&system=all-hbm&policy.kernel=hbm;uvm;uvm-cache", LIGHT), "model")
    app.selectbox(key="knob model.name").set_value("dlrm-terabyte").run()
    scenario = links.open_pairs(address(app)).scenario
    assert (scenario.model.num_tables, scenario.policy.kernel) == (26, "auto") and not app.exception
    assert any(one.value.startswith("policy.kernel had a value for each table") for one in app.toast)


def test_reset_takes_everything_back_to_the_preset(opened):
    app = opened("machine.cxl_bandwidth_GBps=10&data.seed=9", LIGHT)
    app.button(key="chip data.seed").click().run()
    assert address(app) == links.query(with_values(preset(DEFAULT).scenario, {BANDWIDTH: 10.0}))
    app.button(key="undo").click().run()
    app.button(key="reset").click().run()
    assert address(app) == links.query(preset(DEFAULT).scenario)
    app.button(key="undo").click().run()
    assert {("data.seed", "9"), (BANDWIDTH, "10.0")} < set(address(app))


def test_a_chip_that_cannot_go_alone_takes_its_group_along_and_a_series_on_one_knob_is_undone_at_once(opened):
    app = opened("preset=dlrm-kaggle&model.embedding_dim=64&model.bottom_mlp=13-512-64", LIGHT)
    app.button(key="chip model.embedding_dim").click().run()
    assert not app.exception and address(app) == links.query(preset(DEFAULT).scenario)
    for value in ("8", "16", "32"):
        app.text_input(key=EXACT).set_value(value).run()
    app.button(key="undo").click().run()
    assert address(app) == links.query(preset(DEFAULT).scenario) and not app.button(key="undo").disabled
    app.button(key="undo").click().run()
    assert ("model.embedding_dim", "64") in address(app)


def test_baseline_and_target_are_part_of_the_link_and_of_the_finding(opened):
    app = opened("preset=dlrm-kaggle&against=pmem&within=25")
    assert "faster than PMEM" in headers(app)[0] and {("against", "pmem"), ("within", "25")} < set(address(app))
    app.selectbox(key="told against").set_value("dram").run()
    assert "slower than DRAM" in headers(app)[0] and "against" not in dict(address(app))  # what is usual is left out
    app.selectbox(key="preset").set_value("hotline-kaggle").run()
    assert app.selectbox(key="told against").value == "cpu-gpu" and "against" not in dict(address(app))  # its family's own
    app.selectbox(key="preset").set_value("dlrm-kaggle").run()
    app.selectbox(key="knob system").set_value("dram").run()
    assert headers(app)[0].endswith(" less energy") and "than PMEM" in headers(app)[0] and not app.exception


def test_a_model_of_ones_own_is_not_called_by_the_name_of_its_preset(opened):
    app = opened("preset=dlrm-kaggle&model.num_tables=40&model.num_embeddings=5000000")
    assert "your model \\(40 tables, 13.6 GB\\)" in headers(app)[0]


def test_the_share_box_holds_the_engines_own_link(opened):
    app = opened("machine.cxl_bandwidth_GBps=10&data.seed=9")
    scenario = with_values(preset(DEFAULT).scenario, {BANDWIDTH: 10.0, "data.seed": 9})
    assert links.open_link(app.code[0].value).scenario == scenario


def test_a_scenario_that_cannot_run_shows_its_sentence_instead_of_charts(opened):
    app = opened("machine.cxl_bandwidth_GBps=13")
    assert not app.exception and "choose 14" in headers(app)[0] and not app.metric


def test_an_axis_that_cannot_be_read_gets_its_sentence_and_no_button(opened):
    app = opened("axis=machine.cxl_bandwidth_GBps:8,16", "search")
    app.text_input(key="axis 0 values").set_value("8,,16").run()
    assert not app.exception and not [button for button in app.button if button.key == "run"]


def test_a_link_of_another_model_version_opens_under_a_banner(opened):
    app = opened("v=1&model=0.0")
    assert not app.exception and "0.0" in app.info[0].value


def keep(result, how="full"):
    """Put a finished result where the pages look for it."""
    keep_all([result], how)


def keep_all(results, how):
    """Put several there."""
    with opened_store(STORE) as store:
        result_rows.store_results(store, [(keys.key(result.scenario, how), result_rows.row_text(result)) for result in results])


def notes(app):
    return " ".join(caption.value.replace("\\", "") for caption in app.caption)


def test_a_finished_run_tells_every_event_in_full(opened):
    struck = with_values(preset("tiny").scenario, {"faults.power_loss_at_seconds": (0.001,)})
    keep(fakes.simulate(struck))
    app = opened("preset=tiny&faults.power_loss_at_seconds=0.001")
    said = "- recovered at 0.201 s, batch 3: Rows of batch 3 were rolled back."
    assert not app.exception and said in apps.text(app.markdown)


@each("page", ["design", "search"], few=1)
def test_a_link_to_a_data_file_that_the_server_lacks_says_so(opened, page):
    app = opened("data.digest=" + "ab" * 32, page)
    assert not app.exception and "does not have" in app.warning[0].value
    assert not opened("preset=tiny", page).warning


def test_a_run_without_training_has_no_empty_curves_but_its_notes(engine, opened):
    scenario = with_values(preset("tiny").scenario, {"run.training": False})
    result = replace(fakes.estimate(scenario), warnings=("The power loss never struck.",))
    keep(result)
    app = opened("preset=tiny&run.training=off")
    assert "none was trained" in notes(app) and "never struck" in notes(app)
    assert "Held-out AUC" not in [tile.label for tile in app.metric]
    assert not any(str(box.key).startswith("against") for box in app.segmented_control)
    keep(fakes.simulate(preset("tiny").scenario))
    trained = opened("preset=tiny")
    assert "none was trained" not in notes(trained)
    assert [tile.value for tile in trained.metric if tile.label == "Held-out AUC"] == ["0.711 ± 0.006"]
    assert "± is one standard error" in notes(trained) and "The model learned from 31,936 samples of the generator" in notes(
        trained
    )


@pytest.mark.slow
def test_the_auc_of_a_finished_run_stands_beside_a_regression_and_the_model_that_clicks(opened):
    scenario = preset("tiny").scenario
    keep(fakes.simulate(scenario))
    app = opened("preset=tiny")
    assert "logistic regression is being trained" in notes(app)
    apps.ANSWERS.found()
    app.run()
    found = yardsticks(scenario)
    note = training_panel.yardstick_note(found)
    assert note in notes(app) and f"{found.regression[-1][1]:.3f} ± " in note and f"{found.teacher:.3f} ± " in note
    said = [text.value for text in app.markdown if "logistic regression" in text.value]
    assert len(said) == 1 and said[0].startswith("This run ends at an AUC of 0.") and " ± 0.006, " in said[0]
    layers = [json.loads(chart.proto.spec).get("layer", ()) for chart in app.get("vega_lite_chart")]
    dashed = [
        {one["encoding"]["y"]["field"] for one in held if "strokeDash" in one.get("mark", ()) and "y" in one["encoding"]}
        for held in layers
    ]
    assert {"logistic regression", "model that clicks"} in dashed and set() in dashed


def test_a_run_that_learned_less_than_a_line_says_so_with_what_to_change():
    assert training_panel.yardstick_sentence(0.75, 0.74) == (
        "This run ends at an AUC of 0.750, 0.0100 above a logistic regression on the same batches."
    )
    assert "an AUC of 0.7500 ± 0.0012, 0.0100 above" in training_panel.yardstick_sentence(0.75, 0.74, error=0.0012)
    assert "0.0500 below" in training_panel.yardstick_sentence(
        0.69, 0.74
    ) and "Learning rate" in training_panel.yardstick_sentence(0.69, 0.74)


def test_the_note_on_the_yardsticks_says_the_auc_of_each_with_its_error():
    note = training_panel.yardstick_note(Yardsticks(((10, 0.5), (20, 0.75)), 0.1, 0.8, 0.007, 0.006))
    assert "ends at an AUC of 0.750 ± 0.007 (Adagrad with the best of four learning rates, 0.1)" in note
    assert "The model that generated the clicks reaches 0.800 ± 0.006;" in note
    assert "reaches" not in training_panel.yardstick_note(Yardsticks(((20, 0.75),), 0.1, None))


@pytest.mark.slow
def test_each_evaluation_of_a_run_has_its_value_of_both_lines():
    result, asked = simulate(with_values(preset("tiny").scenario, {"data.seed": 31})), Future()
    asked.set_result(found := yardsticks(result.scenario))
    frame = tables.curve(result.training, (), tables.power_pace(result))
    shown = training_panel.with_yardsticks(frame, asked).dropna(subset="auc")
    assert shown[training_panel.REGRESSION].tolist() == [auc for _, auc in found.regression]
    assert set(shown[training_panel.TEACHER]) == {found.teacher}


def test_a_sweep_counts_a_point_that_does_not_fit_as_finished_but_one_that_failed_as_missing(engine, opened):
    one, other = (with_values(preset("tiny").scenario, {"data.seed": seed}) for seed in (1, 2))
    keep(fakes.estimate(one), "estimate")
    keep(Result(other, ran=False, outcome="It does not fit.", results={"Step time [ms]": None}), "estimate")
    app = opened("preset=tiny&axis=data.seed:1,2", "search")
    assert any("all done" in line.value for line in app.markdown) and not [one for one in app.button if one.key == "run"]
    failed = keys.key(with_values(one, {"data.seed": 3}), "estimate")
    with opened_store(STORE) as store:
        store.execute("INSERT INTO failures (key, sentence, bug, created) VALUES (?, 'It failed.', 0, 0)", (failed,))
    again = opened("preset=tiny&axis=data.seed:1,2,3", "search")
    assert [button.label for button in again.button if button.key == "run"] == ["Run 1 point"]


@pytest.mark.parametrize("page", ["design", "search", "runs"])
def test_a_store_in_trouble_costs_its_sentence_and_not_the_page(engine, opened, page):
    STORE.parent.mkdir()
    STORE.write_bytes(b"This is no database." * 500)
    app = opened("preset=tiny", page)
    assert not app.exception and "not a store" in app.error[0].value
    assert len(app.header) == 1 and bool(app.metric) == (page == "design")


def test_a_knob_is_found_by_words_of_its_name_or_help_and_keeps_its_value(opened):
    app = opened("data.seed=7", LIGHT)
    app.text_input("find").set_value("data seed").run()
    assert not app.exception
    shown = [widget.key for widget in app.sidebar.text_input]
    assert shown.count("knob data.seed") == 1 and shown.index("knob data.seed") == shown.index("find") + 1
    assert app.text_input("knob data.seed").value == "7"
    app.text_input("find").set_value("").run()
    assert unfold(app, "data").text_input("knob data.seed").value == "7"
    app.text_input("find").set_value("no such words").run()
    assert any("No other knob" in caption.value for caption in app.sidebar.caption)


def test_knobs_of_a_group_stand_under_the_fault_or_device_they_belong_to():
    for group in GROUPS:
        paths = [path for path in KNOBS if path.startswith(f"{group}.")]
        found = sections(paths)
        assert sorted(path for members in found.values() for path in members) == sorted(paths)
    faults = sections([path for path in KNOBS if path.startswith("faults.")])
    assert next(iter(faults)) == "All faults" and "faults.seed" in faults["All faults"]
    assert {path.split(".")[1][:8] for path in faults["Link down"]} == {"link_dow"}
    assert "machine.num_ssds" in sections([path for path in KNOBS if path.startswith("machine.")])["SSD"]


@pytest.mark.parametrize("page", ["design", "search", "runs"])
def test_every_page_with_a_bar_has_its_drawer_even_one_that_stops_early(opened, page):
    app = opened("preset=tiny", page)
    assert {group.capitalize() for group in GROUPS} <= {one.label for one in app.sidebar.expander} and not app.exception


def test_what_a_page_has_loaded_is_set_aside_from_the_collector_once(monkeypatch):
    collected = []
    monkeypatch.setattr(frame.gc, "freeze", lambda: collected.append(None))
    frame.freeze_loaded.clear()
    app = apps.opened("data")
    assert len(collected) == 1
    app.run()
    assert len(collected) == 1, "each time costs as much as it spares every run"
