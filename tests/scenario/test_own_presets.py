"""Presets of one's own: a folder of files, their round trip, and links that open without them."""

import json
import re
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import api as ep
from engine.__main__ import main
from engine.core.part_files import use
from engine.errors import BadFile, BadInput, BadKnob, BadLink
from engine.scenario import own_presets, presets
from engine.scenario.preset_text import preset_text
from engine.scenario.presets import DEFAULT, preset, preset_names, scenario_file
from engine.scenario.scenario import Scenario, values, with_values
from engine.sweep import links
from tests import ROOT
from tests.parts.conftest import folder as parts_folder  # noqa: F401  a fixture
from tests.strategies import scenarios

MINE = 'description = "Half the batch."\npreset = "tiny"\n[knobs]\ndata.batch_size = 8\nmachine.cxl_bandwidth_GBps = 17.25\n'


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder of own presets that is in use."""
    monkeypatch.setattr(presets, "_own_path", tmp_path)
    monkeypatch.setattr(presets, "_last_look", own_presets.NO_FOLDER)
    monkeypatch.setattr(presets, "_roots", {})

    def put(name, text):
        path = tmp_path / f"{name}.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def forget():
        """Be as a computer that never had these files."""
        presets.use_folder(None)
        presets._roots.clear()

    return SimpleNamespace(path=tmp_path, put=put, forget=forget)


def test_a_file_is_a_preset(own):
    own.put("mine", MINE)
    found = preset("mine")
    assert (found.title, found.description, found.paper) == ("mine", "Half the batch.", "")
    assert found.list_title == "mine (your own)" and preset("tiny").list_title == "Tiny"
    expected = {"data.batch_size": 8, "machine.cxl_bandwidth_GBps": 17.25}
    assert found.scenario == with_values(preset("tiny").scenario, expected)
    assert presets.own_preset_names() == ("mine",) and "mine" not in preset_names()
    own.put("free", '[knobs]\nrun.batches = 7\nmodel.num_embeddings = "9*26"\n')
    assert values(preset("free").scenario)["run.batches"] == 7
    assert preset("free").scenario == with_values(Scenario(), {"run.batches": 7, "model.num_embeddings": (9,) * 26})


def test_a_changed_file_is_read_again_and_an_equal_one_is_not(own):
    path = own.put("mine", MINE)
    first = presets.look_again()
    assert presets.look_again() is first
    path.write_text(MINE.replace("17.25", "18"))
    assert presets.look_again() is not first and preset("mine").scenario.machine.cxl_bandwidth_GBps == 18
    path.unlink()
    presets.look_again()
    with pytest.raises(BadKnob, match="preset='mine' is not known"):
        preset("mine")


BROKEN = {  # name of a file: text, and words of the sentence
    "dlrm-kaggle": (MINE, "has the name of a preset that Emberpool ships; give the file another name"),
    "DLRM-Kaggle": (MINE, "has the name of a preset that Emberpool ships"),
    "a b": (MINE, "is not a valid name of a preset; a name has at most 40 letters, digits and '-'"),
    "-a": (MINE, "is not a valid name"),
    "é": (MINE, "is not a valid name"),
    "a" * 41: (MINE, "is not a valid name"),
    "no-toml": ("[knobs", "is not valid TOML"),
    "latin": (b'title = "\xe9"', "is not UTF-8"),
    "entry": ("batch = 3", "has an unknown entry 'batch'; put knobs under"),
    "table": ("knobs = 3", "knobs is not a table"),
    "unknown": ("[knobs]\ndata.batch_sise = 3", "'data.batch_sise' is not a knob"),
    "nan": ("[knobs]\nmachine.cxl_bandwidth_GBps = nan", "machine.cxl_bandwidth_GBps=nan is not finite"),
    "infinite": ("[knobs]\nmachine.cxl_bandwidth_GBps = inf", "machine.cxl_bandwidth_GBps=inf is not finite"),
    "negative": ("[knobs]\ndata.batch_size = -3", "data.batch_size=-3"),
    "words": ('[knobs]\ndata.batch_size = "many"', "data.batch_size='many' is not a number"),
    "based": ('preset = "mine"', "has preset='mine', which is no preset that Emberpool ships"),
    "listed": ('preset = ["tiny"]', "which is no preset that Emberpool ships"),
    "title": ('title = "a\\nb"', "title must be one printable line of at most 80 characters"),
    "long": (f'description = "{"a" * 301}"', "description must be one printable line of at most 300"),
    "number": ("paper = 3", "paper must be one printable line"),
    "part": ('[knobs]\nmachine.gpu = "mine~0123456789ab"', "machine.gpu='mine~0123456789ab'"),
    "huge": ("#" * 1_000_001, "at most 1,000,000 are read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_used_is_named_and_the_others_stay(own, capsys, name):
    text, words = BROKEN[name]
    own.put("mine", MINE)
    path = own.put(name, text)
    folder = presets.look_again()
    assert list(folder.presets) == ["mine"] and list(folder.refused) == [path.name]
    sentence = str(folder.refused[path.name])
    assert words in sentence and path.stem[:30] in sentence
    if name not in preset_names():
        with pytest.raises(BadInput):
            preset(name)
    own.forget()
    assert main(["list", "presets", "--presets-dir", str(own.path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_cannot_be_read_or_has_too_many_files(own, capsys, monkeypatch):
    assert main(["list", "presets", "--presets-dir", str(own.path / "none")]) == 2
    assert "cannot be read as a folder of presets: No such file" in capsys.readouterr().err
    own.put("mine", MINE)
    monkeypatch.setattr(own_presets, "MAX_FILES", 0)
    assert "has 1 preset, but at most 0 can be used" in str(presets.look_again().refused[""])


def test_the_command_line_takes_and_lists_own_presets(own, capsys):
    own.put("mine", MINE)
    own.forget()
    where = ["--presets-dir", str(own.path)]
    assert main(["list", "presets", *where]) == 0
    assert "mine (your own)" in capsys.readouterr().out
    assert main(["list", "presets", "--json", *where]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["mine"]["file"] == str(own.path / "mine.toml") and rows["tiny"]["file"] == ""
    assert main(["run", "--estimate", "--preset", "mine", "--json", "-", *where]) == 0
    ran = json.loads(capsys.readouterr().out)
    assert ran["scenario"]["data.batch_size"] in (8, "8")
    assert main(["run", "--estimate", "--scenario", str(own.path / "mine.toml"), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["results"] == ran["results"]
    assert main(["run", "--estimate", "--preset", "mine"]) == 2
    assert "preset='mine' is not known" in capsys.readouterr().err


def test_the_file_of_the_document_works(own, capsys):
    (text,) = re.findall("```toml\n(.*?)```", (ROOT / "docs" / "presets.md").read_text(encoding="utf-8"), re.DOTALL)
    own.put("lab-box", text)
    own.forget()
    assert main(["run", "--preset", "lab-box", "--estimate", "--presets-dir", str(own.path), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["data.batch_size"] in (1024, "1024")


def test_a_saved_preset_names_its_own_parts(own, parts_folder):  # noqa: F811
    use.use_folder(parts_folder.path)
    scenario = with_values(preset("optane-rm1").scenario, {"machine.pmem": "crystal", "machine.gpu": "mine"})
    text = preset_text(scenario, "optane-rm1", "built")
    assert f"media/crystal.toml as {scenario.machine.pmem}:" in text and "fabric/own-link.toml as own-link~" in text
    assert f'machine.pmem = "{scenario.machine.pmem}"' in text
    own.put("built", text)
    presets.look_again()
    assert preset("built").scenario == scenario
    parts_folder.elsewhere()
    assert "is a user's own part whose values are unknown here" in str(presets.look_again().refused["built.toml"])


def test_a_script_takes_own_presets(own):
    path = own.put("mine", MINE)
    own.forget()
    try:
        frame = ep.presets(own.path)
        assert frame.set_index("name")["file"]["mine"] == str(path)
        assert ep.scenario("mine").data.batch_size == 8
        path.write_text(MINE.replace("batch_size = 8", "batch_size = 9"))
        assert ep.scenario("mine").data.batch_size == 9
        other = own.path / "other"
        other.mkdir()
        (other / "tiny.toml").write_text(MINE)
        with pytest.raises(BadFile, match="has the name of a preset that Emberpool ships"):
            ep.presets(other)
        assert ep.scenario("mine").data.batch_size == 9
        with pytest.raises(BadInput, match="3 is not a folder"):
            ep.presets(3)
        assert "mine" not in ep.presets(None)["name"].tolist()
    finally:
        presets.use_folder(None)


sentences = st.text(st.characters(), max_size=40)


@given(scenarios, st.sampled_from(preset_names()), sentences)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_saved_preset_is_the_same_scenario_again(own, scenario, base, sentence):
    try:
        text = preset_text(scenario, base, "saved", sentence)
    except BadInput:
        assert not sentence.isprintable()
        text, sentence = preset_text(scenario, base, "saved"), ""
    path = own.put("saved", text)
    presets.look_again()
    found = preset("saved")
    assert found.scenario == scenario and values(found.scenario) == values(scenario)
    assert found.description == sentence
    assert scenario_file(path) == scenario
    # A link from it opens here as the preset, and the same without the file.
    link = links.link(scenario, "saved")
    assert "from=saved" in link and f"preset={base}" in link
    opened = links.open_link(link)
    assert (opened.preset, opened.scenario) == ("saved", scenario)
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setattr(presets, "_own_path", None)
        opened = links.open_link(link)
        assert (opened.preset, opened.scenario, opened.questions.origin) == (base, scenario, "saved")


def test_texts_survive_the_file_or_are_refused(own):
    scenario = preset("tiny").scenario
    sentence = "He said \"50 %\" \\ 'half' of Zürich's 東京 #1 = [x] 😀"
    own.put("mine", preset_text(scenario, "tiny", "mine", sentence))
    assert preset("mine").description == sentence
    for bad in ("a\nb", "a\tb", "a\x00b", "a\u202eb", "a\ud800b", "a" * 301):
        with pytest.raises(BadInput, match="one printable line of at most 300 characters"):
            preset_text(scenario, "tiny", "mine", bad)
    for name in ("", "a/b", "../a", "a.b", "a b", "a\n", "é", "-a", "a" * 41):
        with pytest.raises(BadInput, match="is not a valid name of a preset"):
            preset_text(scenario, "tiny", name)
    with pytest.raises(BadInput, match="is the name of a preset that Emberpool ships"):
        preset_text(scenario, "tiny", "Tiny")


def test_a_link_keeps_its_text_where_no_own_preset_is_named(own):
    own.put("mine", MINE)
    scenario = preset("mine").scenario
    shared = links.link(scenario, "tiny")
    assert "from=" not in shared
    assert links.link(scenario, "mine") == shared.replace("&v=", "&from=mine&v=")
    assert links.link(scenario) == links.link(scenario, DEFAULT)


def test_a_link_names_its_preset_after_the_file_is_gone(own):
    path = own.put("mine", MINE)
    scenario = preset("mine").scenario
    path.unlink()
    presets.look_again()
    assert links.open_link(links.link(scenario, "mine")).scenario == scenario
    own.forget()
    with pytest.raises(BadKnob, match="is not known"):
        links.link(scenario, "mine")


@pytest.mark.parametrize("name", ["a b", "<b>x</b>", "a" * 41, "../a", "é", "a%0Ab", "[x](http://y)", "-"])
def test_a_hostile_origin_is_refused_in_a_sentence(own, name):
    with pytest.raises(BadLink) as refused:
        links.open_link(f"/design?preset=tiny&from={name}")
    assert "from" in str(refused.value) and len(str(refused.value)) < 200
