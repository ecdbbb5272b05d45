"""Parts of a folder of one's own: are they chosen as ours are, do keys and numbers follow the files, is a wrong one refused?"""

import json
import mmap
import pickle
import subprocess
import sys
import warnings

import pytest

from engine import api as ep
from engine.__main__ import main
from engine.core import catalog
from engine.core.part_files import use
from engine.errors import BadFile, BadKnob
from engine.estimate import estimate
from engine.scenario.keys import key
from engine.scenario.machine import PARTS, MachineKnobs
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.store import requests, result_rows
from tests import ROOT
from tests.parts.conftest import BUILT_IN, shipped

STEP = "Step time [ms]"
OWN = {"machine.pmem": "crystal", "system": "pmem"}


FPGA_CARD = shipped("expander/fpga-card")
CURVE = FPGA_CARD[FPGA_CARD.index("[latency-under-load]") :]


def slower(text):
    """Return a medium that is updated and appended to slowly."""
    return text.replace("value = 0.8472972972972973\n", "value = 0.6\n").replace("value = 0.5\n", "value = 0.35\n")


def row(capsys, *words):
    """Return the JSON of a command's result."""
    assert main([*words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_knob_whose_choices_are_parts_takes_parts_of_ones_own():
    declared = {
        path
        for path, knob in KNOBS.items()
        if callable(knob.choices) and {*knob.allowed} <= {*catalog.part_names_of(*catalog.kinds())}
    }
    assert declared == {f"machine.{name}" for name in PARTS}


@pytest.mark.slow
def test_a_part_of_a_folder_is_a_choice_of_each_command(folder, capsys):
    words = ["run", "--estimate", "--set", "machine.gpu=mine", "--set", "system=all-hbm", "--set", "machine.num_gpus=8"]
    found = row(capsys, *words, "--parts-dir", str(folder.path))
    assumed = "machine.assume=gpu.memory-bandwidth=8000;network.fabric-bandwidth=900"
    asked = [word.replace("=mine", "=h100-sxm") for word in words]
    assert found["results"] == row(capsys, *asked, "--set", assumed)["results"]
    assert found["scenario"]["machine.gpu"].partition("~")[0] == "mine"
    assert main(["list", "parts", "--parts-dir", str(folder.path)]) == 0
    assert "own-link" in capsys.readouterr().out
    for command in (
        ["sweep", "--estimate", "--axis", "machine.gpu=mine,v100", "--csv", "-"],
        ["enough", "--set", "machine.gpu=mine"],
    ):
        assert main([*command, "--parts-dir", str(folder.path)]) == 0
    assert main(words) == 2 and "machine.gpu='mine' is not known" in capsys.readouterr().err


def test_the_environment_names_a_folder_for_commands_and_scripts(folder, capsys):
    script = "import emberpool as ep; print(ep.scenario(gpu='mine').machine.gpu)"
    given = {"env": {"EMBERPOOL_PARTS": str(folder.path), "PATH": ""}, "cwd": ROOT, "capture_output": True, "text": True}
    assert subprocess.run([sys.executable, "-c", script], **given).stdout.startswith("mine~")
    assert main(["list", "devices", "--parts-dir", "/nowhere"]) == 2
    assert capsys.readouterr().err.startswith("/nowhere cannot be read as a folder of parts")


def test_a_script_takes_a_folder_and_a_file_that_changes_moves_its_numbers(folder):
    assert ep.parts(folder.path)["name"].tolist() == ["own-link", "mine", "crystal"]
    before = ep.scenario("dlrm-kaggle", pmem="crystal", system="pmem")
    first = ep.estimate("dlrm-kaggle", pmem="crystal", system="pmem")[0]
    folder.put("media/crystal", slower(shipped("media/optane-100")))
    second = ep.estimate("dlrm-kaggle", pmem="crystal", system="pmem")[0]
    assert second.results[STEP] > 1.01 * first.results[STEP]
    assert key(first.scenario, "estimate") != key(second.scenario, "estimate")
    with pytest.warns(UserWarning, match="crystal with its values at the time of the choice"):
        assert ep.estimate(before)[0].results == first.results
    with warnings.catch_warnings(action="error"):
        assert len(ep.parts()) == 3 and ep.parts(None).empty
    with pytest.raises(BadKnob, match="'crystal' is not known"):
        ep.scenario(pmem="crystal")


def test_a_comment_or_the_way_a_number_is_written_does_not_move_a_key(folder):
    use.use_folder(folder.path)
    one = key(with_values(Scenario(), OWN), "full")
    folder.put("media/crystal", "# mine\n" + shipped("media/optane-100").replace("value = 6.6\n", "value = 8.0\n"))
    use.look_at_folder()
    assert key(with_values(Scenario(), OWN), "full") == one


def test_a_part_that_another_uses_moves_the_key_of_both(folder):
    use.use_folder(folder.path)
    one = with_values(Scenario(), {"machine.gpu": "mine"})
    folder.put("fabric/own-link", shipped("fabric/nvlink-3"))
    use.look_at_folder()
    assert key(with_values(Scenario(), {"machine.gpu": "mine"}), "full") != key(one, "full")
    assert estimate(one).results[STEP]


def test_keys_of_scenarios_without_such_parts_are_what_they_were(folder):
    before = {name: (key(preset(name).scenario, "full"), key(preset(name).scenario, "estimate")) for name in preset_names()}
    assert before["tiny"] and not any("~" in str(preset(name).scenario.machine) for name in preset_names())
    use.use_folder(folder.path)
    assert before == {
        name: (key(preset(name).scenario, "full"), key(preset(name).scenario, "estimate")) for name in preset_names()
    }


def test_however_a_scenario_is_made_it_names_a_part_by_its_content(folder):
    use.use_folder(folder.path)
    made = Scenario(machine=MachineKnobs(pmem="crystal"))
    assert made == with_values(Scenario(), {"machine.pmem": "crystal"}) == pickle.loads(pickle.dumps(made))
    assert made.machine.pmem.startswith("crystal~")


def test_a_pickle_brings_the_values_along(folder):
    use.use_folder(folder.path)
    made = with_values(preset("dlrm-kaggle").scenario, OWN | {"machine.gpu": "mine"})
    text, found = pickle.dumps(made), estimate(made).results
    folder.elsewhere()
    with pytest.raises(BadKnob, match="whose values are unknown here"):
        with_values(Scenario(), {"machine.gpu": made.machine.gpu})
    assert estimate(pickle.loads(text)).results == found


@pytest.mark.slow
def test_kept_results_are_of_the_file_as_it_is(folder, tmp_path):
    from engine.service import service

    use.use_folder(folder.path)
    store, base = tmp_path / "store.db", preset("dlrm-kaggle").scenario

    def computed():
        use.look_at_folder()
        scenario = with_values(base, OWN)
        service.serve(store, 1, 0, request=requests.submit(store, [scenario], "estimate"))
        ((_, found),) = result_rows.stored_results(store, [scenario], "estimate")
        return found.results[STEP]

    first = computed()
    text = (folder.path / "media" / "crystal.toml").read_text()
    folder.put("media/crystal", slower(text))
    assert computed() > 1.01 * first
    folder.put("media/crystal", text)
    assert computed() == first


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("gpu/h100-sxm", shipped("gpu/v100"), r"gpu/h100-sxm\.toml has the same name as a part in .*give the file another name"),
        ("gpu/trainingcxl", shipped("gpu/v100"), r"has the same name as a part in .*gpu-replay"),
        ("media/bad", "x = [", r"media/bad\.toml is not valid TOML: .*correct that line"),
        (
            "media/bad",
            shipped("media/optane-100").replace("value = 6.6\n", ""),
            "lacks value of read-rate; a constant has",
        ),
        ("gpu/bad", shipped("gpu/v100").replace("nvlink-2", "nvlnk-2"), "names the fabric 'nvlnk-2', which has no file"),
        ("gpu/bad", shipped("gpu/v100").replace("nvlink-2", f"own-link~{16 * '0'}"), "write only the name"),
        (
            "room/mine",
            shipped("room/server-room"),
            "has the kind room, which no knob chooses; own parts can be gpu",
        ),
        ("gpus/mine", shipped("gpu/v100"), "gpus is not a kind of part; did you mean gpu"),
        ("expander/bad", FPGA_CARD.replace("584, 663", "584"), "gives 4 loads and 3 latencies of latency-under-load"),
        ("expander/bad", FPGA_CARD.replace("0.1636, 0.7523", "0.7523, 0.1636"), "loads that do not rise; sort them"),
        ("expander/bad", FPGA_CARD.replace("[584", '["fast"'), "latency-under-load.latencies = .*; write two numbers or more"),
        ("expander/bad", FPGA_CARD.replace("0.8645, 1]", "0.8645, 1.2]"), "loads = .*each from 0 to 1"),
        ("expander/bad", FPGA_CARD.replace("962, 951", "962, 100"), "where a higher load has fewer accesses in flight"),
        ("expander/bad", FPGA_CARD.replace("[584", "[0"), "latencies that begin at 0; write the latency of an access"),
        ("fabric/bad", shipped("fabric/nvlink-2") + CURVE, "says 'latency-under-load', which is not known"),
        ("mine", shipped("gpu/v100"), "mine.toml is not inside a folder of a kind of part; put it in one"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_path_and_takes_nothing(name, text, sentence, folder, capsys):
    folder.put(name, text)
    with pytest.raises(BadFile, match=sentence) as refused:
        ep.parts(folder.path)
    assert str(refused.value).startswith(str(folder.path)) and (BUILT_IN,) == catalog.FOLDERS
    assert main(["list", "systems", "--parts-dir", str(folder.path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_that_breaks_is_left_out_and_what_uses_it_too(folder):
    use.use_folder(folder.path)
    folder.put("fabric/own-link", "broken")
    with pytest.raises(BadFile, match="own-link"):
        use.look_at_folder()
    assert {"crystal"} == {name for _, name in catalog.own_folder().parts}
    with pytest.raises(BadKnob, match=r"machine\.gpu='mine' is a part whose file has an error"):
        with_values(Scenario(), {"machine.gpu": "mine"})
    folder.put("fabric/own-link", shipped("fabric/nvlink-3"))
    use.look_at_folder()
    assert len(catalog.own_folder().parts) == 3


def test_a_file_is_read_again_by_its_bytes_not_by_its_times(folder):
    use.use_folder(folder.path)
    first_look = catalog.own_folder()
    with folder.put("media/crystal", shipped("media/optane-100")).open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:1] = memory[:1]  # the page is dirty from now on: later writes to it leave the times alone
        second_look = catalog.look_again()
        place = memory.find(b"value = 6.6\n") + len("value = ")
        memory[place : place + 1] = b"7"
        third_look = catalog.look_again()
    assert len({look.parts["media", "crystal"].digest for look in (first_look, second_look, third_look)}) == 3
    assert catalog.look_again() is third_look
