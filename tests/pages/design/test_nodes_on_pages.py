"""Where a throughput is asked for: do pages answer in nodes, and tell why the others wait?"""

from dataclasses import replace

import altair
import pytest

from engine.scenario.knobs import write
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from pages.answers import estimates, headline
from pages.search_page import axes_panel
from pages.systems import compare_charts, comparison, nodes_panel
from tests import apps
from tests.cases import each

PAIR = ("dram-hbm-nodes", "mtrains")
SAMPLES = preset("mtrains-capacity").scenario


def at(target, systems=PAIR):
    scenario = with_values(SAMPLES, {"machine.target_throughput": target})
    return scenario, {name: estimates.estimate_of(replace(scenario, system=name)) for name in systems}


@pytest.mark.parametrize(
    ("target", "explore", "compare"),
    [
        (
            460000.0,
            "MTrainS trains terabyte-x24 on 2 nodes at 523,000 samples/s: 5.50 × fewer than the 11 nodes of dram-hbm-nodes",
            "MTrainS trains terabyte-x24 at 460,000 samples/s on the fewest nodes, 2: "
            "5.50 × fewer than the 11 nodes of dram-hbm-nodes",
        ),
        (
            1840000.0,
            "MTrainS trains terabyte-x24 on 14 nodes at 1,850,000 samples/s: 1.07 × fewer than the 15 nodes of dram-hbm-nodes",
            "MTrainS trains terabyte-x24 at 1,840,000 samples/s on the fewest nodes, 14: 1.07 × fewer than the 15 "
            "nodes of dram-hbm-nodes",
        ),
    ],
)
def test_a_throughput_asked_for_is_answered_in_nodes(target, explore, compare):
    scenario, found = at(target)
    told = headline.headline(found["mtrains"], found)
    assert told.startswith(explore + ", with ") and told.endswith(" energy")
    assert comparison.headline(found, scenario) == compare
    assert comparison.details(found)[0] == "Only the headline number of MTrainS is published."
    assert headline.headline(found["dram-hbm-nodes"], found).endswith("J a batch")
    nodes = {name: result.results["Nodes"] for name, result in found.items()}
    assert headline.node_comparison(found["dram-hbm-nodes"], {"Nodes": 2.0 * nodes["dram-hbm-nodes"]}, "x").startswith(
        "2.00 × fewer"
    )
    assert headline.node_comparison(found["dram-hbm-nodes"], {"Nodes": nodes["dram-hbm-nodes"] / 2}, "x").startswith(
        "2.00 × as many as the "
    )


def test_explore_shows_nodes_as_a_tile_and_compare_as_a_column():
    app = apps.opened(query={"preset": "mtrains-capacity"})
    assert not app.exception and next((one.label, one.value) for one in app.metric) == ("Nodes", "2")
    app = apps.opened("compare", {"preset": "mtrains-capacity"})
    assert not app.exception and list(app.dataframe[0].value["Nodes"]) == [11.0, 2.0]
    tiny = apps.opened("compare", {"preset": "tiny"})
    assert "Nodes" not in tiny.dataframe[0].value and not [one for one in tiny.toggle if one.key == "nodes over throughput"]


def test_nodes_by_throughput_are_those_of_the_estimates_and_the_finding_says_where_it_ends(monkeypatch):
    monkeypatch.setattr(nodes_panel, "TIMES", (0.25, 1.0, 4.4))
    found = nodes_panel.table(SAMPLES, PAIR)
    asked = SAMPLES.machine.target_throughput
    for times in nodes_panel.TIMES:
        _, results = at(times * asked)
        mine = found[found.target == times * asked].set_index("system")
        assert {name: mine.nodes[name] for name in PAIR} == {name: results[name].results["Nodes"] for name in PAIR}
        assert (mine.rate >= times * asked).all()
    told = "mtrains needs up to 11.0 × fewer nodes than dram-hbm-nodes, at 115,000 samples/s; from 2,020,000 samples/s on as many"
    assert nodes_panel.finding(found, PAIR) == told
    assert nodes_panel.finding(found[found.target < 1e6], PAIR) == told.split(";")[0]
    even = found[found.target > 1e6]
    assert nodes_panel.finding(even, PAIR).startswith("All systems need the same number of nodes") and len(
        nodes_panel.finding(even.assign(nodes=None), PAIR)
    )
    spec = compare_charts.nodes(PAIR)
    altair.Chart.from_dict({**spec, "data": {"values": []}}).to_dict()


@pytest.mark.parametrize(
    ("name", "systems", "words"),
    [
        (
            "optane-kaggle",
            ("pmem", "dram"),
            "The reason: PMEM waits longer, by 0.508 ms for Embedding on host, 0.314 ms for Checkpoint on pmem and ",
        ),
        ("optane-kaggle", ("pmem", "dram"), "DRAM waits longest for Top MLP on gpu, 0.133 ms of its 0.234 ms."),
        ("optane-kaggle", ("cxl",), "CXL waits longest for Top MLP on gpu, 0.133 ms of its 0.242 ms."),
        (
            "cached-embedding-kaggle",
            ("torchrec-uvm", "cached-embedding"),
            "TorchRec, UVM caching waits longest for Training loop on host, 12.4 ms of its 12.4 ms.",
        ),
    ],
)
def test_the_reason_names_what_the_beaten_waits_for_and_what_paces_the_fastest(name, systems, words):
    scenario = preset(name).scenario
    found = {one: estimates.estimate_of(replace(scenario, system=one)) for one in systems}
    assert words in comparison.wait_sentence(found, scenario)
    for result in found.values():
        waits = comparison._waits(result)
        assert sum(waits.values()) == pytest.approx(result.results["Step time [ms]"], rel=1e-6)


def test_energies_that_hardly_differ_are_the_same():
    found = estimates.estimates_by_system(preset("nvidia-hstu").scenario, ("torchrec-uvm", "all-hbm"))
    assert headline.headline(found["torchrec-uvm"], found).endswith(": as fast as All in HBM, with the same energy")


@each(
    ("name", "path", "text", "machine", "told"),
    [
        ("mtrains-capacity", "num_gpus", "8", (8, None), "target_throughput is auto now, since machine.num_gpus decides"),
        ("hotline-kaggle", "target_throughput", "1e5", (1, 1e5), "num_gpus is 1 now, since machine.target_throughput decides"),
    ],
    few=1,
)
def test_a_count_takes_a_target_back_and_a_target_a_count_and_the_page_says_so(name, path, text, machine, told):
    app = apps.opened(query={"preset": name})
    app.session_state[f"knob machine.{path}"] = text
    app.run()
    held = app.session_state["scenario"].machine
    assert not app.exception and (held.num_gpus, held.target_throughput) == machine
    assert [toast.value for toast in app.toast] == [f"machine.{told} the number of GPUs."]
    assert app.session_state[f"knob machine.{path}"] == write(KNOBS[f"machine.{path}"], getattr(held, path))


def test_a_search_that_nobody_has_chosen_sweeps_the_target_where_there_is_one():
    axes = axes_panel.first_axes(SAMPLES)
    assert axes[0] == "machine.target_throughput:230000.0,460000.0,920000.0,1840000.0"
    assert len(axes_panel.sweep_of(SAMPLES, axes, "")) == 4 * len(axes[1].split(","))
