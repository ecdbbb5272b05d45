"""Do many GPUs and nodes, folded into one, take the time and the energy of closed formulas?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.work import AllGather, AllReduce, AllToAll, BottomMLP, Copy, HostRows, Pool, RowUpdates, Stream, written_bytes
from engine.estimate import estimate
from engine.hardware.device import combine_copies, joules, nodes, seconds, stored_bytes
from engine.registry import load_variant
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.exchange.crossing import even_crossing
from engine.systems.sharding import Parts
from engine.units import MS, US
from tests.cases import each

GB = 1e9
FABRIC, NET, START, HOP, MESSAGE = 0.667 * 300 * GB, 0.56 * 22.5 * GB, 10 * US, 20 * US, 4.3 * US
ROUTES = ("direct", "by node")


def network(gpus, **more):
    return load_variant("devices", "network").build(MachineKnobs(num_gpus=gpus, **more))


def exactly(value):
    return pytest.approx(value, rel=1e-12)


@each(
    ("name", "work", "share"),
    [
        ("gpu", Pool(8e9), Pool(2e9)),
        ("gpu", RowUpdates(4e6, 512), RowUpdates(1e6, 512)),
        ("gpu", BottomMLP(4096, (13, 512, 64), "forward"), BottomMLP(1024, (13, 512, 64), "forward")),
        ("pcie", Copy(8e9, handoffs=2), Copy(2e9, handoffs=2)),
        ("host", HostRows(4e6, 512), HostRows(1e6, 512)),
        ("ssd", Stream(8e9), Stream(2e9)),
    ],
)
def test_four_parts_that_share_work_take_the_time_of_a_quarter_and_the_energy_of_four(name, work, share):
    one = load_variant("devices", name).build(MachineKnobs(pmem_capacity_GB=100.0))
    four = combine_copies(one, 4)
    assert seconds(four, work) == exactly(seconds(one, share))
    assert joules(four, work) == exactly(4 * joules(one, share))
    for drawn in ("idle_watts", "busy_watts", "price", "modules"):
        assert getattr(four, drawn) == exactly(4 * getattr(one, drawn))
    assert four.full_watts == (None if one.full_watts is None else exactly(4 * one.full_watts))


def test_the_slowest_part_decides_the_time_and_all_parts_the_energy_and_what_is_stored():
    four, one = (combine_copies(load_variant("devices", "gpu").build(MachineKnobs()), copies) for copies in (4, 1))
    uneven = RowUpdates(4e6, 512, skew=2.5)
    assert seconds(four, uneven) == exactly(seconds(one, RowUpdates(2.5e6, 512)))
    assert joules(four, uneven) == exactly(4 * joules(one, RowUpdates(1e6, 512)))
    assert written_bytes(uneven) == 4e6 * 512


def test_what_a_memory_stores_does_not_depend_on_how_many_share_it():
    one = load_variant("devices", "pmem").build(MachineKnobs(pmem_capacity_GB=100.0))
    work = RowUpdates(4e6, 64)
    assert stored_bytes(combine_copies(one, 4), work) == exactly(stored_bytes(one, work))


@each(("gpus", "in_node", "expected"), [(1, 8, 1), (8, 8, 1), (9, 8, 2), (16, 8, 2), (3, 1, 3)])
def test_nodes_are_as_many_as_the_gpus_fill(gpus, in_node, expected):
    assert nodes(MachineKnobs(num_gpus=gpus, gpus_per_node=in_node)) == expected


@pytest.mark.parametrize("gpus", [2, 8])
def test_an_all_to_all_inside_a_node_sends_all_but_a_gpus_own_share_over_the_fabric(gpus):
    total = 8e9
    sent = even_crossing(Parts(gpus, 8), total)
    assert sent.nbytes == exactly(total * (1 - 1 / gpus))
    assert seconds(network(gpus), AllToAll(*sent)) == exactly(START + total / gpus * (1 - 1 / gpus) / FABRIC)


def test_an_all_to_all_over_two_nodes_waits_for_the_slower_of_fabric_and_network():
    total = 16e9
    sent, work = total / 16, AllToAll(*even_crossing(Parts(16, 8), total))
    begin = START + HOP + 8 * MESSAGE
    assert seconds(network(16), work) == exactly(begin + max(sent * 7 / 16 / FABRIC, sent * 8 / 16 / NET))
    near = AllToAll(work.nbytes, 100 * work.fabric, work.network)
    assert seconds(network(16), near) == exactly(begin + 100 * sent * 7 / 16 / FABRIC)


def test_an_all_to_all_sends_a_message_to_each_gpu_of_another_node_or_one_to_each_other_node():
    total = 64e9
    sent, work = total / 64, AllToAll(*even_crossing(Parts(64, 8), total))
    direct, by_node = (seconds(network(64, network="infiniband", exchange_route=route), work) for route in ROUTES)
    far = sent * 56 / 64 / (0.9 * 22.5 * GB)
    assert direct == exactly(START + HOP + 56 * MESSAGE + far)
    assert by_node == exactly(START + HOP + 7 * MESSAGE + far)


def exchanges(changes):
    """Return the milliseconds of each exchange in a machine's timeline."""
    rows = estimate(with_values(preset("a100-terabyte").scenario, changes)).timeline
    return [row["End [ms]"] - row["Start [ms]"] for row in rows if "all-to-all" in row["Task"]]


@each(("route",), ROUTES)
def test_hosts_send_a_message_to_each_other_host_and_nothing_over_a_fabric(route):
    far = 1e9
    took = seconds(network(64, exchange_route=route), AllToAll(7e9, 0.0, far, hosts=True))
    assert took == exactly(START + HOP + 7 * MESSAGE + far / NET)


@each(("system",), ["cpu-gpu", "cpu-only", "fae"])
def test_systems_whose_hosts_exchange_pay_no_message_for_a_gpu(system):
    fp32 = {"machine.matrix_precision": "fp32"}
    changes = {"system": system, "machine.num_gpus": 16, "machine.gpus_per_node": 8, **fp32}
    paid, free = ({**changes, "machine.assume": (("network.message-overhead", us),)} for us in (4.3, 0.0))
    longer = np.array(exchanges(paid)) - np.array(exchanges(free))
    assert len(longer) and longer == pytest.approx(MESSAGE / MS, rel=1e-3)


def test_gathering_by_node_sends_what_the_neighbours_gather_over_the_fabric_too():
    work = AllToAll(1e12, 1e9, 8e9)
    assert seconds(network(64, exchange_route="by node", network_bandwidth_GBps=1000.0), work) == exactly(
        START + HOP + 7 * MESSAGE + max((1e9 + 8e9 * 7 / 8) / FABRIC, 8e9 / (0.56 * 1000 * GB))
    )


@each(("kind", "share"), [("infiniband", 0.9), ("roce", 0.56), ("efa", 0.5)])
def test_a_network_sustains_its_own_share_of_a_cards_bandwidth(kind, share):
    far = AllToAll(1e12, 0.0, 1e12)
    assert seconds(network(16, network=kind), far) == exactly(START + HOP + 8 * MESSAGE + 1e12 / (share * 22.5 * GB))


@given(gpus=st.sampled_from([16, 64, 256, 1024]), nbytes=st.floats(1e3, 1e12), route=st.sampled_from(ROUTES))
def test_sharing_a_message_among_more_gpus_never_makes_it_cheaper(gpus, nbytes, route):
    few, many = (network(count, exchange_route=route) for count in (gpus, 2 * gpus))
    work = AllToAll(nbytes, 0.0, nbytes)
    assert seconds(few, work) <= seconds(many, work)


def test_an_all_reduce_is_a_ring_over_the_fabric_then_one_over_the_network_for_each_gpus_part():
    nbytes = 1e9
    assert seconds(network(8), AllReduce(nbytes)) == exactly(START + 2 * nbytes * (7 / 8) / FABRIC)
    assert seconds(network(16), AllReduce(nbytes)) == exactly(
        START + HOP + 2 * nbytes * (7 / 8) / FABRIC + 2 * nbytes * (1 / 2) / (8 * NET)
    )


def test_an_all_gather_brings_each_gpu_what_the_others_have_over_the_network_once():
    nbytes = 1e9
    assert seconds(network(8), AllGather(nbytes)) == exactly(START + nbytes * (7 / 8) / FABRIC)
    assert seconds(network(16), AllGather(nbytes)) == exactly(
        START + HOP + nbytes * (7 / 8) / FABRIC + nbytes * (1 / 2) / (8 * NET)
    )


def test_the_energy_of_a_collective_counts_every_byte_that_leaves_a_gpu_at_both_ends():
    each = 8 * 2 * 7.5e-12
    assert joules(network(8), AllToAll(7e9, 1e9, 0.0)) == exactly(7e9 * each)
    assert joules(network(8), AllReduce(1e9)) == exactly(2 * 7 * 1e9 * each)
    assert joules(network(8), AllGather(1e9)) == exactly(7 * 1e9 * each)


def test_one_gpu_exchanges_nothing_and_two_nodes_power_a_card_for_each_gpu():
    alone = AllToAll(*even_crossing(Parts(1, 8), 1e9))
    assert seconds(network(1), alone) == seconds(network(1), AllReduce(1e9)) == 0
    assert joules(network(1), alone) == joules(network(1), AllReduce(1e9)) == 0
    assert (network(8).idle_watts, network(16).idle_watts) == (0, 16 * 20)


@each(("work",), [Pool(8e9), RowUpdates(4e6, 512), BottomMLP(65536.0, (13, 512, 64), "forward")])
def test_a_batch_waits_for_the_slowest_of_all_gpus(work):
    gpu = load_variant("devices", "gpu")
    for count, deviations in ((1, 0.0), (2, 1.17741), (8, 2.03933), (512, 3.53230)):
        even, uneven = (gpu.build(MachineKnobs(num_gpus=count, step_jitter=jitter)) for jitter in (0.0, 0.03))
        assert seconds(uneven, work) == pytest.approx(seconds(even, work) * (1 + 0.03 * deviations), rel=1e-5)
