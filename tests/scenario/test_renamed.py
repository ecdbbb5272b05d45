"""Renamed knobs: does what was written with an old name or unit still mean the machine that it meant?"""

from math import ceil
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import version
from engine.__main__ import main
from engine.errors import BadInput, BadKnob
from engine.scenario.presets import preset, scenario_file
from engine.scenario.renamed import RENAMED
from engine.scenario.scenario import KNOBS, declaration, with_values
from engine.schedule.machine import settle
from engine.sweep import axes, links

OLD, NEW = "machine.pmem_capacity_GiB", "machine.pmem_capacity_GB"
BYTES = {"optane-100": 128e9, "battery-dram": 32e9, "cxl-flash": 1000e9, "trainingcxl": 16e9}


def modules(scenario, module):
    """Return how many modules a scenario's settled machine has."""
    return round(settle(scenario).scenario.machine.pmem_capacity_GB * 1e9 / module)


@given(st.floats(1, 1e6), st.sampled_from(sorted(BYTES)))
def test_an_old_link_has_as_many_modules_as_when_it_was_made(gibibytes, medium):
    link = f"/design?preset=tiny&machine.pmem={medium}&{OLD}={gibibytes!r}&v=1&model=0.5"
    opened = links.open_link(link)
    assert modules(opened.scenario, BYTES[medium]) == max(1, ceil(gibibytes * 2**30 / BYTES[medium] - 1e-9))
    assert f"{OLD}={gibibytes!r}" in opened.banner and NEW in opened.banner and "The knobs are the same" not in opened.banner
    assert links.open_link(links.link(opened.scenario)).scenario == opened.scenario


@pytest.mark.parametrize(
    ("text", "count"), [("512", 5), ("128", 2), ("119.20928955078125", 1), ("476.837158203125", 4), ("1", 1)]
)
def test_old_capacities_that_were_written_are_the_modules_that_they_were(text, count):
    for query in (f"?{OLD}={text}&v=1", f"?preset=optane-kaggle&{OLD}={text}"):
        assert modules(links.open_link(query).scenario, 128e9) == count


@pytest.mark.parametrize("link", ["policy.checkpoint_minutes=45", "axis=policy.checkpoint_minutes:10,45"])
def test_an_older_link_with_a_checkpoint_period_says_that_every_protection_obeys_it_now(link):
    banner = links.open_link(f"/search?preset=tiny&machine.framework=lean&{link}&v=8&model=0.18").banner
    assert "now the period of every protection that copies the state, peer, parity and relaxed-backup among them" in banner
    assert "The knobs are the same" not in banner and "Results may differ" in banner
    assert "The knobs are the same" in links.open_link("/search?preset=tiny&machine.framework=lean&v=8&model=0.18").banner
    assert "every protection" not in links.open_link(f"/search?preset=tiny&{link}&v=8&model=0.21").banner


@pytest.mark.parametrize(
    ("query", "loop", "said"),
    [
        ("preset=tiny&v=9", "lean", True),
        ("preset=cxl-memory&v=9", "lean", True),
        ("preset=tiny&axis=machine.framework:lean,stated&v=9", "pytorch-graph", False),
        ("preset=tiny&machine.framework=hugectr&v=9", "hugectr", False),
        ("preset=optane-kaggle&v=9", "lean", False),
        ("preset=torchrec-terabyte&v=9", "pytorch-early", False),
        (f"preset=tiny&v={version.LINK}", "pytorch-graph", False),
        (f"preset=cxl-memory&v={version.LINK}", "stated", False),
    ],
)
def test_an_older_link_without_a_loop_has_the_former_default_and_says_so(query, loop, said):
    opened = links.open_link(f"/search?{query}&model={version.MODEL}")
    assert opened.scenario.machine.framework == loop
    assert ("Its training loop, the former default, is machine.framework=lean now." in opened.banner) == said
    again = links.open_link(links.link(opened.scenario, opened.preset))
    assert again.scenario == opened.scenario and again.banner == ""


def test_an_automatic_capacity_stays_automatic_and_a_link_without_it_has_no_sentence():
    opened = links.open_link(f"/design?preset=meta-856&{OLD}=auto&v=1&model={version.MODEL}")
    assert opened.scenario.machine.pmem_capacity_GB is None and OLD in opened.banner
    assert links.open_link(f"/design?preset=trainingcxl-rm1&v=1&model={version.MODEL}").banner == ""


def test_old_axes_bounds_and_objectives_of_a_link_are_read_as_todays():
    wanted = ("axis", f"{OLD}:auto,512,2048"), ("axis", f"{OLD}=200:4000:5:log"), ("axis", f"{OLD}:1:1000")
    asked = (*wanted, ("where", f"{OLD}<=512"), ("where", "AUC>=0.7"), ("pareto", f"{OLD}:min,AUC"))
    opened = links.open_link("/search?v=1&" + "&".join(f"{name}={quote(text)}" for name, text in asked))
    listed, spaced, ends = (axes.parse(text) for text in opened.axes)
    assert {listed.path, spaced.path, ends.path} == {NEW}
    assert listed.values == (None, 512 * 1.073741824, 2048 * 1.073741824)
    assert len(spaced.values) == 5 and spaced.span.log and (ends.span.high, ends.span.count) == (1073.741824, None)
    before = [200 * 20 ** (step / 4) for step in range(5)]
    assert spaced.values == pytest.approx([value * 1.073741824 for value in before])
    assert opened.questions.bounds == (f"{NEW}<=549.755813888", "AUC>=0.7") and opened.questions.pareto == f"{NEW}:min,AUC"


def test_a_file_of_before_means_the_machine_of_before(tmp_path):
    file = tmp_path / "old.toml"
    file.write_text('preset = "tiny"\n[knobs]\nmachine.pmem_capacity_GiB = 512\ndata.seed = 3\n', encoding="utf-8")
    read = scenario_file(file)
    assert (modules(read, 128e9), read.data.seed) == (5, 3)
    file.write_text('[knobs]\nmachine.pmem_capacity_GiB = "auto"\n', encoding="utf-8")
    assert scenario_file(file).machine.pmem_capacity_GB is None


@pytest.mark.parametrize("asked", [["run", "--estimate", "--set", f"{OLD}=512"], ["sweep", "--csv", "-", "--axis", f"{OLD}=1,2"]])
def test_the_command_line_names_the_knob_of_today_instead_of_guessing(asked, capsys):
    assert main(asked) != 0
    assert (
        f"'{OLD}' is a knob of an older version; write {NEW}, with numbers 1.073741824 times as large." in capsys.readouterr().err
    )


def test_a_knob_under_both_names_and_values_that_are_none_are_refused():
    for text, named in (
        (f"{OLD}=512&{NEW}=512", "twice"),
        (f"{OLD}=nan", NEW),
        (f"{OLD}=big", NEW),
        (f"axis={OLD}:1:2:1e9", "COUNT"),
    ):
        with pytest.raises(BadInput, match=named):
            links.open_link(f"/design?{text}&v=1")


@pytest.mark.parametrize("path", sorted(RENAMED))
def test_a_renamed_knob_is_one_no_more_and_leads_to_one_that_is(path):
    assert path not in KNOBS and RENAMED[path].path in KNOBS
    with pytest.raises(BadKnob, match=RENAMED[path].path):
        declaration(path)
    with pytest.raises(BadKnob, match="is a knob of an older version"):
        with_values(links.open_link("").scenario, {path: 1.0})


def test_a_link_to_a_preset_of_before_trains_as_it_did():
    opened = links.open_link("/design?preset=dlrm-kaggle&data.seed=3&v=3&model=0.8")
    model, before = opened.scenario.model, declaration("model.learning_rate").default
    trained = model.optimizer, model.learning_rate, model.embedding_learning_rate, model.initial_accumulator
    assert trained == ("sgd", before, None, 0)
    assert (
        opened.scenario.run.batches == 1000 and "Its preset's former model.optimizer is model.optimizer=sgd now." in opened.banner
    )
    assert links.open_link(links.link(opened.scenario)).scenario == opened.scenario
    for format_, batches, budget in ((2, 100, 1.0), (4, 300, 1.0), (5, 300, 2.0)):
        run = links.open_link(f"/design?preset=dlrm-terabyte&v={format_}&model=0.5").scenario.run
        assert (run.batches, run.step_budget_GFLOP) == (batches, budget)
    today = links.open_link("/design?preset=dlrm-kaggle&v=4&model=0.9").scenario
    assert today.model.optimizer == "rowwise-adagrad" and today.run.batches > 1000
    was, now = (
        links.open_link(f"/design?preset=bagpipe-kaggle&v={format_}&model=0.10").scenario.model.top_mlp for format_ in (5, 6)
    )
    assert was == (512, 256, 1) and len(now) == 6


def test_what_a_link_of_before_said_itself_stays():
    said = "model.optimizer=adagrad&run.batches=7&axis=model.learning_rate:0.1,0.2"
    opened = links.open_link(f"/search?preset=dlrm-kaggle&{said}&v=3&model=0.8")
    assert (opened.scenario.model.optimizer, opened.scenario.run.batches) == ("rowwise-adagrad", 7)
    own = links.open_link("/design?preset=dlrm-kaggle&model.name=rm1&run.batches=7&v=3&model=0.8")
    assert own.scenario.model.learning_rate == 0.003 and "preset's former model." not in own.banner


def test_a_model_chosen_by_name_leaves_nothing_of_the_training_before():
    kaggle = preset("optane-kaggle").scenario
    other = with_values(kaggle, {"model.name": "rm1"}).model
    assert kaggle.model.embedding_learning_rate and kaggle.model.initial_accumulator
    assert (other.optimizer, other.embedding_learning_rate, other.initial_accumulator) == ("sgd", None, 0.0)
