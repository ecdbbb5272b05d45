"""NUMA nodes without cores: are they found, measured where memory can be bound to them, and written as an expander's part?"""

import platform
import shutil

import numpy as np
import pytest

from engine.core import catalog
from engine.core.part_files.curves import LatencyPoints
from engine.estimate import estimate
from engine.hardware.devices.expander_dram import EXPANDERS
from engine.measure import memory, numa_nodes
from engine.measure.numa_nodes import MemoryNode, NodeFigures, measure_nodes, memory_nodes, reader_counts, rising_curve
from engine.measure.timing import Timing
from engine.scenario.scenario import Scenario, with_values
from tests.cases import each

GIB = 2**20  # in the kB of a meminfo


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A tree of nodes: 0 has cores, 1 and 3 memory alone, 2 nothing; node 10 lacks its files."""
    folder = tmp_path / "node"
    for number, cores, total in ((0, "0-1", 64), (1, "", 128), (2, "", 0), (3, "", 32)):
        node = folder / f"node{number}"
        node.mkdir(parents=True)
        lines = (("MemTotal", total), ("MemFree", total / 2), ("MemUsed", total / 2))
        text = "".join(f"Node {number} {key}:  {int(size * GIB)} kB\n" for key, size in lines)
        (node / "meminfo").write_text(f"{text}Node {number} HugePages_Total:     0\n", encoding="ascii")
        (node / "cpulist").write_text(f"{cores}\n", encoding="ascii")
    (folder / "node10").mkdir()
    (folder / "online").write_text("0-3\n", encoding="ascii")
    monkeypatch.setattr(numa_nodes, "NODES", folder)
    monkeypatch.setattr(numa_nodes, "cache_bytes", lambda: 2.0**20)
    monkeypatch.setattr(numa_nodes, "free_bytes", lambda: 2.0**34)
    return folder


def bound_anywhere(monkeypatch, lies_on=None):
    """Let arrays lie where the system puts them, and say that they lie on the node that they are bound to, or elsewhere."""
    asked = []
    monkeypatch.setattr(numa_nodes, "bind", lambda array, node: asked.append(node))
    monkeypatch.setattr(numa_nodes, "page_nodes", lambda array: {asked[-1] if lies_on is None else lies_on})
    monkeypatch.setattr(memory, "ROWS", 2000)
    monkeypatch.setattr(numa_nodes, "READS", 5000)
    monkeypatch.setattr(memory, "READS", 5000)
    return asked


def test_nodes_with_memory_and_without_cores_are_found(machine):
    assert memory_nodes() == [MemoryNode(1, 128 * 2**30, 64 * 2**30), MemoryNode(3, 32 * 2**30, 16 * 2**30)]
    (machine / "node3" / "cpulist").write_text("4", encoding="ascii")
    assert [node.number for node in memory_nodes()] == [1]


def test_a_machine_without_such_nodes_says_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(numa_nodes, "NODES", tmp_path)
    found = measure_nodes(2, 1)
    assert (found.figures, found.curve, found.timings, found.notes) == ({}, None, {}, ())


def test_a_node_becomes_an_expander_that_systems_use(machine, measured, monkeypatch):
    asked = bound_anywhere(monkeypatch)
    found = measure_nodes(3, 3)
    assert asked == [1, 1, 3, 3], "a chain and a table on each"
    assert all(0 < constant.low <= constant.value <= constant.high for constant in found.figures.values())
    assert all(name.startswith("node 1: ") for name in found.timings) and len(found.timings) == 3 + 2
    assert found.notes[0].startswith("NUMA node 1 has 137 GB and no cores; measured as an expander: ")
    assert found.notes[1].startswith(
        "NUMA node 3 has 34.4 GB and no cores; not written as a part, which is that of the node above"
    )
    curve = found.curve or LatencyPoints((0.1, 1.0), (300.0, 900.0), "measured", "a stand-in")  # where other work disturbed it
    (path,) = [path for path in measured({"expander": curve}, expander=found.figures) if path.parent.name == "expander"]
    catalog.check_part("expander", path, catalog.part_content("expander", "measured"))
    card = EXPANDERS["measured"]
    assert card.capacity.value == pytest.approx(128 * 2**30 / 1e9, rel=1e-5) and card.capacity.confidence == "measured"
    assert card.power.value == pytest.approx(20 * 128 * 2**30 / 256e9, rel=1e-5) and card.power.confidence == "unsourced"
    assert card.link.value == card.rate.value == pytest.approx(found.figures["link-rate"].value, rel=1e-5)
    points = catalog.latency_points("expander", "measured")
    assert points.loads == pytest.approx(curve.loads, rel=1e-5) and points.confidence == "measured"
    s = with_values(Scenario(), {"system": "dram", "machine.expander": "measured", "machine.cxl_switch_hops": 0})
    assert estimate(s).results["Step time [ms]"] > 0


def test_constants_and_curve_are_those_of_the_timings():
    """By hand: 300 ns of which the nearest part's memory is 110, and a curve without the points that fall back."""
    timings = {memory.CHAIN: Timing(1.0, 0.08, 7), memory.BY_ALL: Timing(1.0, 0.23, 7)}
    points = [(64 / 300e-9, 300e-9), (6e9, 350e-9), (9.6e9, 500e-9), (9.0e9, 700e-9), (10e9, 650e-9)]
    timed = NodeFigures(300e-9, 12e9, points, timings)
    node = MemoryNode(1, 512e9, 500e9)
    found = numa_nodes.node_constants(node, timed)
    assert found["link-latency"].value == pytest.approx(190) and "memory-latency" not in found
    assert found["link-latency"].low == pytest.approx(171) and found["link-latency"].confidence == "derived"
    assert found["memory-rate"].value == found["link-rate"].value == 12 and found["capacity"].value == 512
    assert found["link-rate"].low == pytest.approx(9)
    assert found["memory-power"][:3] == (40, 20, 60)
    curve = numa_nodes.latency_curve(node, timed)
    assert curve.loads == pytest.approx((64 / 300 / 12, 0.5, 0.8, 10 / 12)) and curve.latencies == pytest.approx(
        (300, 350, 500, 650)
    )
    assert numa_nodes.latency_curve(node, timed._replace(points=points[:1])) is None
    assert rising_curve([(0.5, 100.0), (0.6, 80.0), (0.7, 90.0)]) == [(0.5, 100.0), (0.7, 90.0)], (
        "fewer reads under way are left out"
    )


@each(("nanoseconds", "memory_part", "link"), [(80.0, 79.0, 1.0), (1.5, 1.0, 1.0), (111.5, 110.0, 1.5)])
def test_a_latency_below_the_nearest_parts_is_parted_all_the_same(nanoseconds, memory_part, link):
    timed = NodeFigures(
        nanoseconds * 1e-9, 12e9, [(1e9, 1e-7)], dict.fromkeys((memory.CHAIN, memory.BY_ALL), Timing(1.0, 0.0, 3))
    )
    found = numa_nodes.node_constants(MemoryNode(1, 1e9, 1e9), timed)
    assert found["link-latency"].value == pytest.approx(link)
    assert ("memory-latency" in found) == (memory_part < 110)
    assert memory_part == 110 or found["memory-latency"].value == pytest.approx(memory_part)


def test_readers_are_powers_of_two_and_all_cores_but_the_chains():
    assert [reader_counts(cores) for cores in (1, 2, 3, 4, 12)] == [[], [1], [1, 2], [1, 2, 3], [1, 2, 4, 8, 11]]


def test_more_readers_wait_longer_for_no_less(machine, monkeypatch):
    """Rates and waits are positive, and an interrupted chain leaves no reader behind."""
    bound_anywhere(monkeypatch)
    arrays = memory.memory_arrays(2**22, 2)
    wait, rate = numa_nodes.beside_readers(arrays, 2, 0)
    assert wait > 0 and rate > 64 / wait

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(numa_nodes, "follow_chain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        numa_nodes.beside_readers(arrays, 2, 0)


def test_a_refusal_of_the_system_is_said(machine, monkeypatch):
    def refused(purpose, *_):
        raise OSError(1, f"{purpose} is refused (Operation not permitted)")

    monkeypatch.setattr(numa_nodes, "_system_call", refused)
    found = measure_nodes(2, 1)
    assert not found.figures and found.notes == tuple(
        f"NUMA node {node} has memory and no cores, but it is not measured: "
        "binding memory to it is refused (Operation not permitted)."
        for node in (1, 3)
    )


def test_a_processor_whose_system_calls_are_not_known_is_said(machine, monkeypatch):
    monkeypatch.setattr(numa_nodes, "machine", lambda: "riscv64")
    assert "binding memory to it is not known on riscv64." in measure_nodes(2, 1).notes[0]


def test_arrays_elsewhere_are_not_measured_and_unchecked_ones_are_said(machine, monkeypatch):
    bound_anywhere(monkeypatch, lies_on=0)
    found = measure_nodes(2, 1)
    assert not found.figures and found.notes[0].endswith("it is not measured: the system put its arrays elsewhere.")

    def unsaid(array):
        raise OSError(1, "asking where pages lie is refused (Operation not permitted)")

    monkeypatch.setattr(numa_nodes, "page_nodes", unsaid)
    found = measure_nodes(2, 1)
    assert found.figures and found.notes[1].startswith("The location of its arrays could not be checked (asking where")


def test_a_node_without_free_memory_is_not_filled(machine, monkeypatch):
    asked = bound_anywhere(monkeypatch)
    monkeypatch.setattr(numa_nodes, "free_bytes", lambda: 2.0**20)
    found = measure_nodes(2, 1)
    assert not asked and "too little of its memory, or of the host's, is free" in found.notes[0]


def test_memory_is_bound_where_the_system_allows_it(machine, monkeypatch):
    array = np.arange(3 * 4096, dtype=np.int64)
    if platform.system() != "Linux":
        pytest.skip("only Linux binds memory so")
    try:
        copy = numa_nodes.bound_copy(array, 0)
        places = numa_nodes.page_nodes(copy)
    except OSError as error:
        pytest.skip(str(error))
    assert places == {0} and (copy == array).all() and copy.flags.writeable
    with pytest.raises(OSError, match="binding memory to it is refused"):
        numa_nodes.bound_copy(array, 1000)
    monkeypatch.setattr(memory, "ROWS", 2000)
    shutil.copy(machine / "node1" / "meminfo", machine / "node0" / "meminfo")
    (machine / "node0" / "cpulist").write_text("\n", encoding="ascii")
    found = measure_nodes(2, 1)
    assert found.figures["link-rate"].value > 0 and found.notes[0].startswith("NUMA node 0 has 137 GB and no cores; measured")
