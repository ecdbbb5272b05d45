"""The wires of a node: does each device stand on the wire where its bytes go, at its rate, with its busy share?"""

import pytest

from engine.estimate import estimate
from engine.insight.network.node_wires import CARD, GPU, HOST, NETWORK, SLOT, busiest_wire, node_wires
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from pages.design_page import wires_panel
from tests.cases import each
from tests.machines import PRESETS

WITHOUT_WIRE = {"host", "gpu", "chassis", "wall", "near-data", "gatherer"}


def wires_of(name, **knobs):
    found = estimate(with_values(preset(name).scenario, knobs))
    assert found.ran, found.outcome
    return found, node_wires(found.scenario, found.devices)


def test_a_node_of_eight_gpus_has_ports_shared_uplinks_a_fabric_and_network_cards():
    found, wires = wires_of("torchrec-terabyte", **{"machine.num_gpus": 16})
    rates = {(wire.device, wire.start, wire.end): wire.rate for wire in wires}
    assert rates == {
        ("gpu-port", GPU, SLOT): 26.0,
        ("pcie", SLOT, HOST): 13.0,
        ("network", GPU, "other GPUs"): pytest.approx(0.667 * 300),
        ("network", SLOT, NETWORK): 22.5,
        ("dram", HOST, "host DRAM"): pytest.approx(6 * 25.6 * 0.8),
    }
    busiest = busiest_wire(wires)
    assert (busiest.device, busiest.end) == ("network", NETWORK), "the slower of the network's two"
    assert 100 * busiest.busy == next(row["Busy [%]"] for row in found.devices if row["Device"] == "network")


def test_memory_behind_cxl_hangs_on_its_cards_and_the_port_is_the_busiest_wire():
    _, wires = wires_of("dlrm-terabyte")
    assert {(wire.device, wire.start) for wire in wires} == {
        ("gpu-port", GPU),
        ("cxl", SLOT),
        ("pmem", "CXL cards"),
        ("dram", HOST),
    }
    assert busiest_wire(wires).device == "gpu-port"
    assert wires_panel.sentence(busiest_wire(wires)).startswith("The busiest wire is gpu-port, between GPU and PCIe slot: it")


def test_the_gpus_of_a_node_reach_a_memory_card_over_its_one_link():
    _, wires = wires_of("dlrm-terabyte", system="pcie", **{"machine.num_gpus": 8})
    ends = {(wire.device, wire.start, wire.end): wire.rate for wire in wires}
    assert ends["card-link", HOST, CARD] == 52.0 and ends["pmem", CARD, "persistent memory"] is None
    assert ("pmem", HOST, "persistent memory") in {wire[:3] for wire in wires_of("dlrm-terabyte", system="pcie")[1]}


@each("system", variant_names("systems"))
@each("name", PRESETS, few=30)
def test_every_device_that_moves_bytes_has_a_wire_in_the_picture(name, system):
    found = estimate(with_values(preset(name).scenario, {"system": system}))
    if not found.ran:
        return
    wires = node_wires(found.scenario, found.devices)
    assert {row["Device"] for row in found.devices} - {wire.device for wire in wires} <= WITHOUT_WIRE | {"network"}
    picture = wires_panel.dot(wires)
    assert picture.count("penwidth=3") == 1 and picture.count(" -- ") == len(wires)
