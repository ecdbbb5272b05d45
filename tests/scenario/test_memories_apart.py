"""Host, expander and server DRAM were one knob until format 8: does what was written then still mean the part that it meant?"""

import pytest

from engine import version
from engine.__main__ import main
from engine.errors import BadInput, BadKnob
from engine.estimate import estimate
from engine.scenario.presets import preset, scenario_file
from engine.scenario.scenario import declaration
from engine.sweep import links
from tests.cases import each
from tests.machines import scenario

CAPACITY, CHANNELS = "machine.dram_capacity_GiB", "machine.dram_channels"
KEPT = (None, 6, None, None, None)  # host, expanders, servers where a link says nothing: hosts had 6 channels until format 8


def memories(scenario):
    """Return GiB and channels of a host, of all expanders, and the GiB of a server."""
    m = scenario.machine
    return m.host_dram_GiB, m.host_dram_channels, m.expander_dram_GiB, m.expander_dram_channels, m.server_dram_GiB


def opened(said, preset_="dlrm-kaggle", format_=7, page="design"):
    """Return an old link, opened; what it opens as comes back from today's link as it is, without a banner."""
    found = links.open_link(f"/{page}?preset={preset_}&{said}&v={format_}&model=0.13")
    again = links.open_link(links.link(found.scenario, preset_, page, found.axes, questions=found.questions))
    assert (again.scenario, again.axes, again.banner) == (found.scenario, found.axes, "")
    return found


@each(
    ("system", "meant"),
    [
        ("dram", (None, 6, 512.0, 4, None)),
        ("cpu-gpu", (512.0, 4, None, None, None)),
        ("cpu-only", (512.0, 4, None, None, None)),
        ("ssd", (512.0, 4, None, None, None)),
        ("cxl", (512.0, 4, None, None, None)),
        ("bagpipe", (None, 4, None, None, 512.0)),
        ("remote-no-cache", (None, 4, None, None, 512.0)),
    ],
)
@each("format_", [1, 3, 7])
def test_an_old_link_means_the_dram_of_its_system(system, meant, format_):
    found = opened(f"system={system}&{CAPACITY}=512&{CHANNELS}=4", format_=format_)
    assert memories(found.scenario) == meant
    named = {"dram": ("expander_dram_GiB", "expander_dram_channels")}.get(system, ("host_dram_GiB", "host_dram_channels"))
    capacity = "server_dram_GiB" if meant[4] else named[0]
    assert f"Its {CAPACITY}=512 is machine.{capacity}=512 now." in found.banner
    assert f"Its {CHANNELS}=4 is machine.{named[1]}=4 now." in found.banner


def test_a_link_that_names_no_system_means_its_presets():
    assert memories(opened(f"{CAPACITY}=512").scenario) == (512.0, *KEPT[1:])
    assert memories(opened(f"{CAPACITY}=512", "bagpipe-kaggle").scenario) == (*KEPT[:4], 512.0)
    assert memories(links.open_link(f"?system=dram&{CAPACITY}=512").scenario) == (
        None,
        None,
        512.0,
        None,
        None,
    )  # without a format
    assert preset("bagpipe-kaggle").scenario.system == "bagpipe"


def test_other_knobs_of_a_preset_stay_as_they_are():
    """Its machine has a channel or four on either side."""
    assert memories(opened(f"system=dram&{CHANNELS}=8", "trainingcxl-rm2").scenario) == (64.0, 4, 64.0, 8, None)
    assert memories(opened(f"system=ssd&{CHANNELS}=8", "trainingcxl-rm2").scenario) == (64.0, 8, 64.0, 4, None)


@each("axis", ["system:cxl,dram,bagpipe", "system=cxl,dram,bagpipe"])
def test_a_link_over_several_systems_means_the_dram_of_each(axis):
    found = opened(f"axis={axis}&{CAPACITY}=512&{CHANNELS}=4", page="search")
    assert memories(found.scenario) == (512.0, 4, 512.0, 4, 512.0)
    for old, new in ((f"{CAPACITY}=512", "host_dram_GiB=512"), (f"{CHANNELS}=4", "host_dram_channels=4")):
        assert f"Its {old} is machine.{new} now." in found.banner
    for old, system, new in (
        (f"{CAPACITY}=512", "dram", "expander_dram_GiB=512"),
        (f"{CAPACITY}=512", "bagpipe", "server_dram_GiB=512"),
        (f"{CHANNELS}=4", "dram", "expander_dram_channels=4"),
    ):
        assert f"Its {old}, under {system}, is machine.{new} now." in found.banner


@each("axis", ["system:dram", "system=dram"])
def test_a_link_over_one_system_means_its_part_alone(axis):
    assert memories(opened(f"axis={axis}&system=dram&{CAPACITY}=512", page="search").scenario) == (None, 6, 512.0, None, None)


def test_axes_and_bounds_over_the_old_knobs_are_of_the_systems_part():
    asked = f"axis={CAPACITY}:64,128&axis={CHANNELS}=2:8:3&where={CAPACITY}%3C%3D100&pareto={CHANNELS}:min,AUC"
    for system, part in (("dram", "expander"), ("cpu-gpu", "host")):
        found = opened(f"system={system}&{asked}", page="search")
        assert found.axes == (f"machine.{part}_dram_GiB:64,128", f"machine.{part}_dram_channels=2:8:3")
        assert found.questions.bounds == (f"machine.{part}_dram_GiB<=100",)
        assert found.questions.pareto == f"machine.{part}_dram_channels:min,AUC"
        assert f"machine.{part}_dram_GiB:64,128 now" in found.banner


def test_an_assumption_about_dram_moves_with_the_part():
    rates = "machine.assume=dram.channel-peak%3D20.0;gpu.memory%3D70.0"
    found = opened(f"system=dram&{rates}")
    assert dict(found.scenario.machine.assume) == {"expander-dram.channel-peak": 20.0, "gpu.memory": 70.0}
    assert "Its assumption about the DRAM of expanders is machine.assume=" in found.banner
    slow, host, own = (
        estimate(scenario("optane-rm2", "dram", **{"machine.expander_dram_channels": 1, "machine.assume": assumed}))
        for assumed in ((("expander-dram.channel-peak", 20.0),), (("dram.channel-peak", 20.0),), ())
    )
    assert slow.results["Step time [ms]"] > host.results["Step time [ms]"] == own.results["Step time [ms]"]
    assert dict(opened(f"system=ssd&{rates}").scenario.machine.assume) == {"dram.channel-peak": 20.0, "gpu.memory": 70.0}
    both = opened(f"axis=system:cxl,dram&{rates}", page="search").scenario.machine.assume
    assert dict(both) == {"dram.channel-peak": 20.0, "expander-dram.channel-peak": 20.0, "gpu.memory": 70.0}
    today = links.open_link(f"/design?system=dram&{rates}&v={version.LINK}&model={version.MODEL}")
    assert dict(today.scenario.machine.assume) == {"dram.channel-peak": 20.0, "gpu.memory": 70.0} and today.banner == ""


def test_a_file_of_before_means_the_dram_of_its_system(tmp_path):
    file = tmp_path / "old.toml"
    for system, meant in (
        ("dram", (None, None, 512.0, 4, None)),
        ("cpu-gpu", (512.0, 4, None, None, None)),
        ("bagpipe", (None, 4, None, None, 512.0)),
    ):
        knobs = f'system = "{system}"\nmachine.dram_capacity_GiB = 512\nmachine.dram_channels = 4\n'
        file.write_text(f'preset = "tiny"\n[knobs]\n{knobs}', encoding="utf-8")
        read = scenario_file(file)
        assert read.system == system and memories(read) == meant
    file.write_text('preset = "bagpipe-kaggle"\n[knobs]\nmachine.dram_capacity_GiB = 512\n', encoding="utf-8")
    assert memories(scenario_file(file)) == (*KEPT[:4], 512.0)


def test_both_names_in_one_link_and_sizes_that_are_none_are_refused():
    for said, named in (
        (f"system=dram&{CAPACITY}=512&machine.expander_dram_GiB=512", "twice"),
        (f"{CAPACITY}=512&machine.host_dram_GiB=64", "twice"),
        (f"system=dram&{CAPACITY}=nan", "expander_dram_GiB"),
        (f"system=dram&{CHANNELS}=0", "expander_dram_channels"),
        (f"system=drum&{CAPACITY}=512", "did you mean dram"),
    ):
        with pytest.raises(BadInput, match=named):
            links.open_link(f"/design?{said}&v=7")


@each(("old", "new"), [(CAPACITY, "host_dram_GiB"), (CHANNELS, "host_dram_channels")])
def test_who_writes_an_old_name_now_is_told_the_new_ones(old, new, capsys):
    with pytest.raises(BadKnob, match=rf"write machine\.{new}, under system dram machine\.{new.replace('host', 'expander')}"):
        declaration(old)
    assert main(["run", "--estimate", "--set", f"{old}=4"]) != 0
    assert f"'{old}' is a knob of an older version; write machine.{new}" in capsys.readouterr().err
