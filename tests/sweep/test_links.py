"""Links: does a link bring back its whole scenario, and is a broken one refused with a sentence?"""

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine import version
from engine.analysis import linked
from engine.core.arithmetic import arithmetic
from engine.errors import BadInput
from engine.scenario.presets import DEFAULT, preset, preset_names
from engine.scenario.scenario import Scenario, with_values
from engine.sweep import links
from engine.sweep.questions import MOST_PINS, LinkQuestions
from tests.cases import each
from tests.machines import TINY
from tests.strategies import scenarios


@given(scenario=scenarios, base=st.sampled_from(preset_names()))
def test_a_link_brings_back_the_whole_scenario_from_any_preset(scenario, base):
    opened = links.open_link(links.link(scenario, base))
    assert opened.scenario == scenario and opened.preset == base and opened.banner == ""


@given(scenario=scenarios)
def test_a_link_survives_a_host_in_front_and_decoded_parameters(scenario):
    assert links.open_link("https://host.example:8501" + links.link(scenario)).scenario == scenario
    assert links.open_pairs(links.query(scenario)).scenario == scenario


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20), max_size=4))
def test_a_link_keeps_its_axes_in_order(words):
    axes = [f"data.digest:{word},{number}!" for number, word in enumerate(words)]
    assert links.open_link(links.link(Scenario(), page="search", axes=axes)).axes == tuple(axes)


@each("name", preset_names())
def test_a_preset_as_it_stands_needs_nothing_but_its_name_in_the_link(name):
    pairs = links.query(preset(name).scenario, name)
    trained = [("arithmetic", arithmetic())] if preset(name).scenario.run.training else []
    assert pairs == [("preset", name), ("v", str(version.LINK)), ("model", version.MODEL), *trained]


def test_an_empty_link_is_the_default_preset():
    assert links.open_link("") == links.OpenedLink(DEFAULT, preset(DEFAULT).scenario)


def test_a_link_of_another_model_version_opens_with_a_banner():
    """Whoever asked nothing then meant the machine of then: one A100, Optane, six channels, each part at its own year."""
    opened = links.open_link("/explore?v=1&model=0.0")
    assert opened.scenario.machine == with_values(preset("optane-kaggle").scenario, {"machine.host_dram_channels": 6}).machine
    for told in ("machine.prices=recorded", "machine.gpu=a100-80", "machine.pmem=optane-100", "machine.host_dram_channels=6"):
        assert told in opened.banner
    assert "0.0" in opened.banner and version.MODEL in opened.banner


def test_a_plus_sign_is_not_read_as_a_space():
    scenario = with_values(Scenario(), {"data.digest": "a+b c&d=e%41#f"})
    assert links.open_link(links.link(scenario)).scenario == scenario


def test_links_of_format_1_still_mean_the_same():
    opened = links.open_link(
        "/explore?preset=tiny&system=pmem&data.batch_size=32&faults.power_loss_at_seconds=0.5;1.5&v=1&model=0.1"
    )
    changes = {"system": "pmem", "data.batch_size": 32, "faults.power_loss_at_seconds": (0.5, 1.5)}
    changes |= {"machine.prices": "recorded", "machine.host_dram_channels": 6}
    assert opened.scenario == with_values(TINY, changes)


@each("sign", [":", "="])
def test_the_one_adagrad_of_links_until_format_4_is_the_row_wise_one(sign):
    for link in (3, 4):
        opened = links.open_link(
            f"/search?model.optimizer=adagrad&axis=model.optimizer{sign}sgd,adagrad&only=model.optimizer:adagrad&v={link}"
        )
        name = "rowwise-adagrad" if link < 4 else "adagrad"
        assert opened.scenario.model.optimizer == name and (name in opened.banner) == (link < 4)
        assert opened.axes == (f"model.optimizer{sign}sgd,{name}",) and opened.questions.allowed_words == (
            f"model.optimizer:{name}",
        )


HOSTILE = {
    "an unknown knob": ("machine.cxl_bandwith=3", "machine.cxl_bandwidth_GBps"),
    "a knob given twice": ("data.seed=1&data.seed=2", "data.seed"),
    "a version from the future": ("v=999", "v="),
    "a version that is no number": ("v=one", "v="),
    "a version of 5000 digits": ("v=" + "1" * 5000, "v="),
    "not a number": ("machine.cxl_bandwidth_GBps=nan", "machine.cxl_bandwidth_GBps"),
    "a negative size": ("data.batch_size=-5", "data.batch_size"),
    "an unknown preset": ("preset=../../etc/passwd", "preset"),
    "an unknown system": ("system=cxll", "cxl"),
    "bytes that are no text": ("data.digest=%ff%fe", "data.digest"),
    "a control character in a value": ("data.digest=a%00b", "data.digest"),
    "a line break in a name": ("data%0Aseed=1", "data\\nseed"),
    "no equals sign": ("garbage", "parameters"),
    "a link of a megabyte": ("data.digest=" + "a" * 1_000_000, "8000"),
    "a thousand parameters": ("&".join(f"a{i}=1" for i in range(1000)), "parameters"),
    "twenty thousand digits between semicolons": ("model.num_embeddings=" + "1;" * 3500, "model.num_embeddings"),
    "an axis of an unknown knob": ("axis=machine.cxl_bandwith:1,2", "machine.cxl_bandwidth_GBps"),
    "an axis without values": ("axis=data.seed:", "data.seed"),
    "an axis with a value out of range": ("axis=machine.cxl_bandwidth_GBps:8,nan", "machine.cxl_bandwidth_GBps"),
    "markup": ("preset=" + quote("<script>alert(1)</script>"), "preset"),
    "a sampling of an unknown kind": ("sample=sobel:64", "sobol"),
    "a sampling of too many points": ("sample=sobol:1000000", "sample"),
    "a sampling twice": ("sample=sobol:6&sample=lhs:6", "sample"),
    "a bound on nothing": ("where=%3C%3D5", "result"),
    "a bound that is no number": ("where=AUC%3E%3Dhigh", "high"),
    "a hundred bounds": ("&".join(["where=AUC%3E0"] * 100), "where="),
    "an objective that is none": ("pareto=Stp%20time", "Step time"),
    "six objectives": ("pareto=AUC,Loss,Nodes,Elapsed,Energy,Step%20time", "objectives"),
    "words of an unknown knob": ("only=machine.cxl:1,2", "machine.cxl"),
    "words as a range": ("only=data.seed:1:9:3", "only="),
    "words of one knob twice": ("only=system:cxl&only=system:pmem", "only="),
    "words of an unknown system": ("only=system:cxll", "cxl"),
    "a mode that is none": ("mode=ful", "mode="),
    "a view that is markup": ("view=" + quote("<b>"), "view="),
    "a metric that is none": ("metric=Stp%20time", "Step time"),
    "a metric that is a knob": ("metric=data.seed", "metric="),
    "words to find without end": ("find=" + "a" * 201, "find="),
    "a pin that is no number": ("pins=3,x", "pins="),
    "a pin in superscript": ("pins=%C2%B2", "pins="),
    "a pin of 5000 digits": ("pins=" + "1" * 5000, "pins="),
    "a pin of nine digits": ("pins=100000000", "pins="),
    "a pin twice": ("pins=3,3", "pins="),
    "nine pins": ("pins=1,2,3,4,5,6,7,8,9", "pins="),
    "a run without how it is computed": ("run=" + quote("/sweep?v=1"), "run="),
    "a run on another host": ("run=" + quote("full:https://elsewhere.example/sweep?v=1"), "run="),
    "a run that cannot be opened": ("run=" + quote("full:/sweep?system=cxll"), "cxl"),
    "a run that compares runs": ("run=" + quote("full:/history?r%75n=" + quote("full:/sweep")), "run="),
    "runs within runs": ("/history?" + "run=full:/a?" * 600 + "v=1", "run="),
    "a run twice": ("run=full:/sweep&run=full:/sweep", "run="),
    "an unknown baseline": ("against=drum", "did you mean dram"),
    "a target that is no number": ("within=nan", "within="),
    "a target beyond all": ("within=1001", "within="),
    "nine runs": ("/history?" + "&".join(f"run=full:/sweep?data.seed={n}" for n in range(9)), "run="),
}


@each(("text", "named"), HOSTILE.values())
def test_a_hostile_link_is_refused_with_one_sentence_that_names_the_parameter(text, named):
    with pytest.raises(BadInput) as caught:
        linked.read_link(text if "?" in text else "/explore?" + text)
    sentence = str(caught.value)
    assert named in sentence and sentence.isprintable() and sentence.endswith((".", "?"))


@given(st.text(max_size=200))
@example("http://[")
@example("?v=\u00b2")
@example("?=&=")
def test_any_text_is_either_opened_or_refused(text):
    try:
        assert isinstance(linked.read_link(text).scenario, Scenario)
    except BadInput as error:
        assert str(error).isprintable()


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), max_size=5))
def test_any_decoded_parameters_are_either_opened_or_refused(pairs):
    opened = linked.open_or_error(pairs)
    assert isinstance(opened, links.OpenedLink | BadInput)


@given(
    st.sampled_from(["", "grid:20", "sobol:256", "lhs:7", "random:100000"]),
    st.lists(st.sampled_from(["Step time [ms]<=5", "AUC>=0.7", "machine.num_gpus<3", "Energy [J]=1e-3"]), max_size=4),
    st.sampled_from(["", "AUC", "Step time [ms],Capital cost [USD]:max"]),
    st.lists(st.integers(1, 99_999_999), max_size=MOST_PINS, unique=True),
    st.sampled_from([("", ""), ("dram", "10"), ("all-hbm", "0.5")]),
    st.lists(st.sampled_from(["system:cxl,pmem", "policy.relaxed_lookup:on,auto"]), max_size=2, unique=True),
    st.tuples(*map(st.sampled_from, (["", "full"], ["", "heat-map"], ["", "AUC", "Step time [ms]"], ["", "my run, done"]))),
)
def test_a_link_brings_back_what_a_sweep_was_asked(sample, where, pareto, pins, question, only, shown):
    asked = LinkQuestions(sample, tuple(where), pareto, ",".join(map(str, pins)), (), *question, tuple(only), *shown)
    assert asked.pinned_points == tuple(point - 1 for point in pins)
    opened = links.open_link(links.link(Scenario(), page="search", axes=("system:cxl,pmem",), questions=asked))
    assert opened.questions == asked and opened.axes == ("system:cxl,pmem",) and opened.scenario == Scenario()


@given(st.lists(st.tuples(st.sampled_from(["full", "estimate"]), scenarios), max_size=3, unique=True))
def test_a_link_of_the_history_brings_back_what_it_compares(compared):
    whole = tuple((how, links.link(scenario, page="search", axes=("system:cxl,pmem",))) for how, scenario in compared)
    asked = LinkQuestions(runs=tuple(f"{how}:{link}" for how, link in whole))
    text = links.link(Scenario(), page="runs", questions=asked)
    if len(text) <= links.MOST_CHARACTERS:
        opened = links.open_link(text)
        found = links.compared_runs(opened.questions)
        assert found == whole and [links.open_link(link).scenario for _, link in found] == [scenario for _, scenario in compared]
