"""Wires: does every byte of a GPU cross its port, are uplinks and host memory shared, and is what no port carries refused?"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.analysis.in_force import AutomaticValue, find_automatic_value
from engine.core.graph import Demand, Task
from engine.core.work import AllGather, AllReduce, AllToAll, Copy, Direct, Fetch, Move, Persist, Pool, RowReads
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.hardware.devices.gpu_port import host_port, port_rate
from engine.hardware.devices.pcie import uplink_rate
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, settle
from engine.systems.node_limits import COPIES
from engine.systems.steps.wires import FILLED, HOST_ACCESS, PORT, Wires, with_wires
from tests.cases import each
from tests.machines import flow

STEP, GB = "Step time [ms]", 1e9
TERABYTE = preset("dlrm-terabyte").scenario  # one H100 in a host of PCIe 5
GENERATIONS = {"avx512-2019": 3, "server": 4, "epyc-2024": 5}
EIGHT = {"machine.gpu": "a100-80", "machine.host": "server", "machine.num_gpus": 8}
UVM = {"system": "torchrec-uvm", "model.num_tables": 60, "model.num_embeddings": 2_000_000, "model.pooling": 30}
UVM |= {"machine.framework": "lean", "data.batch_size": 8192, "policy.cache_load_factor": 0.01, "machine.num_gpus": 4}


def asked(**knobs):
    return with_values(TERABYTE, knobs)


def machine(**knobs):
    return asked(**knobs).machine


def step(**knobs):
    found = estimate(asked(**knobs))
    assert found.ran, found.outcome
    return found.results[STEP]


def port_seconds(work, **knobs):
    return float(np.max(seconds(load_variant("devices", PORT).build(machine(**knobs)), work)))


@each(("host", "generation"), [*GENERATIONS.items()])
def test_sixteen_lanes_are_twice_as_fast_with_each_generation_and_the_slower_end_decides(host, generation):
    lanes = 13 * 2 ** (generation - 3)
    assert host_port(machine(**{"machine.host": host})) == lanes
    for gpu, end in {"v100": 13, "a100-80": 26, "h100-sxm": 52}.items():
        assert port_rate(machine(**{"machine.host": host, "machine.gpu": gpu})) == min(end, lanes)


def test_a_superchip_has_a_link_of_its_own_and_a_slice_a_part_of_its_gpus_port():
    assert port_rate(machine(**{"machine.host": "avx512-2019", "machine.gpu": "gh200"})) == 450
    slices = [port_rate(machine(**{"machine.gpu": f"a100-80-mig-{size}g"})) for size in (1, 3)]
    assert slices == pytest.approx([26 / 7, 3 * 26 / 7], rel=0.01)


@each(("gpus", "fills"), [(1, True), (2, True), (4, False), (8, False)])
def test_links_of_a_pool_fill_the_ports_of_all_gpus_only_if_they_are_as_fast_together(gpus, fills):
    """Four links have 103 GB/s and a port 52, so the ports of four GPUs leave room for other transfers."""
    settled = settle(asked(**{"machine.num_gpus": gpus}))
    assert ("cxl" in settled.wires.filling) == fills


def test_each_kind_of_transfer_takes_its_bytes_at_the_port():
    one = {"machine.gpu": "h100-sxm"}
    assert port_seconds(Copy(52 * GB, handoffs=3), **one) == pytest.approx(1)
    assert port_seconds(Copy(52 * GB, pinned=False), **one, **{"machine.num_gpus": 4}) == pytest.approx(1 / 4)
    assert port_seconds(Move(26 * GB), **one) == pytest.approx(1 / 2)
    assert port_seconds(Direct(1e6, 100), **one) == pytest.approx(1e6 * 128 / (52 * GB))  # whole sectors
    assert port_seconds(Fetch(52 * GB), **one, **{"machine.num_gpus": 2}) == pytest.approx(1 / 2)


@each("gpu", ["h100-sxm", "h100-pcie"])
def test_collectives_cross_the_port_between_nodes_and_between_gpus_without_a_fabric_of_their_own(gpu):
    two = {"machine.gpu": gpu, "machine.num_gpus": 8, "machine.gpus_per_node": 4}
    within = gpu == "h100-pcie"
    assert port_seconds(AllToAll(1.0, 26 * GB, 13 * GB), **two) == pytest.approx((13 + 26 * within) / 52)
    assert port_seconds(AllToAll(1.0, 26 * GB, 13 * GB, hosts=True), **two) == 0
    ring = 2 * (2 - 1) / 2 / 4 + within * 2 * 3 / 4  # between nodes each GPU sums a fourth
    assert port_seconds(AllReduce(52 * GB), **two) == pytest.approx(ring)
    assert port_seconds(AllGather(52 * GB), **two) == pytest.approx(ring / 2)


def test_more_cxl_lanes_than_a_port_carries_are_worth_nothing():
    times = [step(**{"system": "cxl", "machine.cxl_bandwidth_GBps": rate}) for rate in (3.2, 12.9, 51.7, 103.0)]
    assert times[0] > times[1] >= times[2] == times[3]
    assert times[1] == pytest.approx(times[3], rel=0.03)


def test_a_lookup_over_more_links_than_the_port_carries_takes_its_vectors_at_the_port():
    """The vectors of a batch: 26 tables, each sample's 512 B from one of four modules, so all of them cross."""
    wide = {"system": "dram", "machine.num_expanders": 4, "machine.cxl_bandwidth_GBps": 51.7, "machine.near_data_lanes": 1024}
    settled = settle(asked(**wide))
    m = machine_of(settled)
    (lookup,) = [one for one in m.system.graph(settled, flow(settled.scenario, 4)).tasks if one.name == "Embedding lookup"]
    (at_port,) = [one.work for one in lookup.demands if one.device == PORT]
    (on_links,) = [one.work for one in lookup.demands if one.device == "cxl"]
    assert at_port is on_links
    assert float(np.max(seconds(m.devices[PORT], at_port))) == pytest.approx(float(np.max(at_port.nbytes)) / (52 * GB))
    assert float(np.max(at_port.nbytes)) >= 26 * TERABYTE.data.batch_size * 512


@each(
    ("knobs", "sentence"),
    [
        (
            {"machine.pcie_bandwidth_GBps": 52.1},
            "pcie_bandwidth_GBps=52.1 GB/s is more than a GPU's port carries, 52.0 GB/s",
        ),
        (
            {"machine.pcie_bandwidth_GBps": 27.0, "machine.host": "server"},
            r"26.0 GB/s each way (machine.host=server); set it",
        ),
        ({"machine.network_bandwidth_GBps": 1000.0, "machine.num_gpus": 16}, r"network_bandwidth_GBps=1,000 GB/s is more than"),
        (
            {"machine.gpu": "v100", "machine.num_gpus": 16, "machine.network_bandwidth_GBps": 25.0},
            r"13.0 GB/s each way (machine.gpu=v100); lower it, or choose a GPU",
        ),
    ],
)
def test_a_rate_beyond_the_port_is_refused_with_both_numbers(knobs, sentence):
    found = estimate(asked(**{"system": "all-hbm", **knobs}))
    assert not found.ran and sentence in found.outcome


def test_rates_up_to_the_ports_and_cards_that_no_batch_uses_are_accepted():
    at_limit = {"system": "all-hbm", "machine.pcie_bandwidth_GBps": 52.0, "machine.num_gpus": 16}
    assert estimate(asked(**at_limit, **{"machine.network_bandwidth_GBps": 52.0})).ran
    one_node = {"system": "all-hbm", "machine.num_gpus": 8, "machine.network_bandwidth_GBps": 1000.0}
    assert estimate(asked(**one_node)).ran
    assert estimate(asked(**{"system": "cpu-only", "machine.pcie_bandwidth_GBps": 1000.0})).ran


def test_the_usual_card_in_a_slower_slot_works_at_the_slots_rate():
    v100 = {"system": "all-hbm", "machine.gpu": "v100", "machine.num_gpus": 32, "model.num_embeddings": 1_000_000}
    v100 |= {"machine.framework": "none"}
    times = [step(**v100, **{"machine.network_bandwidth_GBps": rate}) for rate in (6.5, 13.0 / 0.9, 18.0, 22.5)]
    assert times[0] > 1.3 * times[1] and times[1:] == pytest.approx([times[1]] * 3, rel=0.1)


@each(("gpus", "chassis", "rate"), [(1, None, 26), (2, None, 26), (4, None, 26), (8, None, 13), (8, "gpu-4-pcie", 26)])
def test_gpus_behind_one_switch_share_its_uplink(gpus, chassis, rate):
    knobs = {**EIGHT, "machine.num_gpus": gpus, "machine.chassis": chassis, "system": "all-hbm"}
    assert uplink_rate(settle(asked(**knobs)).scenario.machine) == rate


def test_the_automatic_copy_rate_says_which_end_limits_it_and_who_shares_an_uplink():
    machines = (asked(**{**EIGHT, "system": "all-hbm", "machine.num_gpus": gpus}) for gpus in (4, 8))
    four, eight = (find_automatic_value(scenario, COPIES) for scenario in machines)
    assert four == AutomaticValue(26.0, "that of a GPU's port, limited by machine.gpu=a100-80")
    assert eight == replace(four, reason=f"{four.reason}; GPUs that share an uplink copy at 13.0 GB/s each")


def test_a_copy_rate_below_an_uplinks_half_keeps_its_rate_and_a_superchip_has_no_uplink():
    assert uplink_rate(machine(**EIGHT, **{"machine.chassis": "gpu-8-sxm", "machine.pcie_bandwidth_GBps": 5.0})) == 5
    assert uplink_rate(machine(**{**EIGHT, "machine.gpu": "gh200", "machine.chassis": "gpu-8-sxm"})) == 450


def test_a_faster_end_is_never_slower_and_pays_only_where_it_is_the_slower_one():
    uvm = {**UVM, "machine.num_gpus": 1, "model.num_tables": 26}
    v100, h100 = (
        [step(**uvm, **{"machine.gpu": gpu, "machine.host": host}) for host in GENERATIONS] for gpu in ("v100", "h100-sxm")
    )
    assert max(v100) == pytest.approx(min(v100), rel=0.01)  # hosts differ in their DRAM alone
    assert all(slower > 1.2 * faster for slower, faster in pairwise(h100))


def test_fewer_channels_cost_time_where_gpus_read_more_than_they_give():
    reads = {**UVM, "policy.kernel": "uvm"}
    for gpu, spare in (("h100-sxm", 1.03), ("gb200", 0.0)):  # eight channels feed four H100
        times = [step(**reads, **{"machine.gpu": gpu, "machine.host_dram_channels": count}) for count in (16, 8, 2, 1)]
        assert times == sorted(times) and times[3] == pytest.approx(2 * times[2], rel=0.02)
        assert times[1] < spare * times[0] if spare else times[1] > 1.9 * times[0]


def first_devices(**knobs):
    """Return the device in whose queue each transfer of a machine waits, by task."""
    settled = settle(asked(**knobs))
    tasks = machine_of(settled).system.graph(settled, flow(settled.scenario, 4)).tasks
    return {task.name: task.demands[0].device for task in tasks if any(one.device == PORT for one in task.demands)}


def test_a_transfer_waits_for_the_port_if_its_link_fills_it_and_for_the_link_if_not():
    sixteen = {"system": "all-hbm", "machine.num_gpus": 16, "machine.gpu": "h100-sxm"}
    slow, fast = (first_devices(**sixteen, **{"machine.network_bandwidth_GBps": FILLED * 52 + more}) for more in (-0.1, 0.1))
    assert {slow["All-reduce"], slow["Pooled all-to-all"]} == {"network"} and slow["Sparse features"] == "pcie"
    assert {fast["All-reduce"], fast["Pooled all-to-all"]} == {PORT}
    assert first_devices(**{"system": "all-hbm"})["Sparse features"] == PORT


@each(
    ("knobs", "filling"),
    [
        ({"system": "all-hbm", "machine.gpu": "h100-pcie"}, {"pcie", "network"}),  # a fabric over PCIe has .667 of the port
        ({"system": "all-hbm", "machine.network_bandwidth_GBps": 1.0}, {"pcie"}),
        ({"system": "cxl", "machine.cxl_bandwidth_GBps": 10.0}, set()),  # of three links
        ({"system": "cxl", "machine.cxl_bandwidth_GBps": 10.5}, {"cxl"}),
        ({"system": "cpu-only"}, set()),
    ],
)
def test_a_link_of_most_of_the_ports_rate_fills_it(knobs, filling):
    capacity = {"machine.num_expanders": 3, "machine.pmem_capacity_GB": 96.0, "model.num_embeddings": 100_000}
    capacity["machine.cxl_bandwidth_GBps"] = knobs.get("machine.cxl_bandwidth_GBps", 10.0)
    settled = settle(asked(**{**capacity, **knobs}))
    assert settled.wires.filling == filling and settled.wires.host_share == 1


def demands_of(task, *filling, share=1.0):
    (wired,) = with_wires(Wires(frozenset(filling), share), (task,))
    return [(demand.device, demand.lane) for demand in wired.demands], wired


def test_a_collective_takes_both_directions_of_the_port_and_waits_for_the_one_of_copies():
    for work in (AllToAll(1.0, 1.0, 1.0), AllReduce(1.0), AllGather(1.0)):
        task = Task("Exchange", "Transfer", (Demand("network", work),), ("Top MLP",))
        assert demands_of(task, "network")[0] == [(PORT, "in"), (PORT, "out"), ("network", "")]
        assert demands_of(task)[0] == [("network", ""), (PORT, "in"), (PORT, "out")]


def test_a_rolling_log_keeps_the_queue_in_which_it_finds_the_slowest_of_its_devices():
    log = Task(
        "MLP log", "Checkpoint", (Demand("cxl", Move(1.0), "in"), Demand("pmem", Persist(1.0))), (), (), gate_task="Top MLP"
    )
    assert demands_of(log, "cxl")[0] == [("cxl", "in"), ("pmem", ""), (PORT, "out")]
    assert demands_of(replace(log, gate_task=""), "cxl")[0][0] == (PORT, "out")


def test_host_memory_moves_whole_lines_of_rows_and_the_bytes_of_copies():
    ways = (Demand("pcie", Direct(10.0, 33), "to GPU"), Demand("pcie", Direct(5.0, 65), "from GPU"))
    places, wired = demands_of(Task("Update", "Embedding", (Demand("gpu", Pool(1.0)), *ways), ("Top MLP",)))
    assert places[-2:] == [(PORT, "in"), (PORT, "out")] and places[3] == ("dram", HOST_ACCESS)
    assert wired.demands[3].work.nbytes == 10 * 64 + 5 * 128
    copy = Task("Copy", "Transfer", (Demand("pcie", Copy(100.0), "from GPU"),), ("Top MLP",))
    assert demands_of(copy, share=2.0)[1].demands[1].work.nbytes == 200
    assert [device for device, _ in demands_of(copy, share=0.0)[0]] == ["pcie", PORT]
    read = replace(copy, demands=(*copy.demands, Demand("dram", RowReads(1.0, 64))))
    assert [device for device, _ in demands_of(read)[0]] == ["pcie", "dram", PORT]
