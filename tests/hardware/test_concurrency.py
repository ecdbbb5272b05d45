"""Do random accesses take what single requests would, and does latency rise with load as published?"""

import heapq
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from engine.core.work import Move, RowReads
from engine.hardware.concurrency import LoadCurve, access_seconds, latency_ratio, loaded_latency
from engine.hardware.device import seconds
from engine.hardware.devices.dram import MEMORY
from engine.hardware.devices.pmem import MEDIA
from engine.registry import load_variant
from engine.scenario.machine import MachineKnobs
from tests.cases import each

NS = 1e-9


def one_by_one(services, latency, in_flight):
    """Simulate single requests: each waits for a place, then for the server, and is back `latency` after it began if alone.

    The server takes requests in order; what is no service of an access is a delay that all may spend at once.
    """
    places, server, end = [0.0] * min(in_flight, len(services)), 0.0, 0.0
    for service in services:
        begun = max(heapq.heappop(places), server)
        server = begun + service
        back = begun + max(latency, service)
        heapq.heappush(places, back)
        end = max(end, back)
    return end


@each("in_flight", [1, 4, 7, 64])
@each("ratio", [0.2, 1.0, 3.7, 64.0, 900.0])
@each("share", [0.5, 1.0, 1.5, 2.0, 3.25, 50.0])
def test_accesses_take_exactly_what_single_requests_do(in_flight, ratio, share):
    n, service = max(1, round(share * in_flight)), 3.0
    assert access_seconds(n, service, ratio * service, in_flight) == pytest.approx(
        one_by_one([service] * n, ratio * service, in_flight), rel=1e-12
    )


@each("in_flight", [4, 32])
@each("ratio", [0.5, 2.0, 20.0, 200.0])
def test_accesses_of_mixed_sizes_take_within_2_percent_of_what_single_requests_do(in_flight, ratio):
    services = np.random.default_rng(7).choice([1.0, 2.0, 4.0], 60 * in_flight)
    mean = float(services.mean())
    assert access_seconds(len(services), mean, ratio * mean, in_flight) == pytest.approx(
        one_by_one(services.tolist(), ratio * mean, in_flight), rel=0.02
    )


def test_without_a_limit_only_the_first_access_is_waited_for_and_none_takes_nothing():
    assert access_seconds(np.array([0.0, 1.0, 100.0]), 2.0, 50.0, inf).tolist() == [0, 50, 248]
    assert access_seconds(np.array([0.0, 5.0]), 50.0, 2.0, 3.0).tolist() == [0, 250]


def of(part, idle, load):
    return idle * latency_ratio(load, part.rise.value, part.bend.value, part.wall.value)


@each(("load", "published"), [(0.0, 250), (0.1, 269), (0.3, 292)])
def test_an_expanders_latency_rises_as_published(load, published):
    assert of(MEMORY["ddr4-3200"], 250, load) == pytest.approx(published, rel=0.01)


@each(("rate", "published"), [(0.4, 164), (11.0, 218), (11.5, 260)])
def test_optanes_latency_of_writes_rises_as_published(rate, published):
    assert of(MEDIA["optane-100"], 164, rate / 13.7) == pytest.approx(published, rel=0.02)


POINTS = ((3.5, 584), (16.1, 663), (18.5, 962), (21.4, 951))


@each(("rate", "published"), POINTS)
def test_a_card_answers_as_measured_at_each_point_of_its_file(rate, published):
    """As many lines in flight as that rate and that latency have together (Little's law)."""
    machine = MachineKnobs(expander="fpga-card", cxl_bandwidth_GBps=21.4, cxl_latency_ns=474.0, cxl_switch_hops=0)
    links, service = load_variant("devices", "cxl").build(machine).rates, 64 / 21.4
    in_flight = 1 + rate * published / 64
    told = float(loaded_latency(links.answer["expander-dram"], service, 1e9, in_flight, links.curves["expander-dram"]))
    assert told == pytest.approx(published, rel=1e-3)
    assert {memory for memory, curve in links.curves.items() if curve.points} == {"expander-dram"}, "PMEM is not that card"
    moved = carried(machine, in_flight - 1)
    if rate < 21.4:
        assert moved / 1e9 == pytest.approx(rate, rel=0.02)


def carried(machine, tags):
    """Return the bytes a second that a link carries with so many lines in flight."""
    link = load_variant("devices", "cxl").build(replace(machine, assume=(("cxl.lines-in-flight", tags),)))
    return 1e9 / float(seconds(link, Move(1e9, "expander-dram")))


def test_a_measured_curve_passes_its_points_stays_flat_before_and_behind_them_and_rises_with_what_is_in_flight():
    curve = LoadCurve(0.249, 0.55, 0.75, ((0.2, 1.0), (0.8, 1.5), (1.0, 2.0)))
    assert [float(latency_ratio(x, *curve)) for x in (0, 0.2, 0.5, 0.8, 1.0)] == [1, 1, 1.25, 1.5, 2]
    found = loaded_latency(100.0, 5.0, np.arange(1, 200), 100.0, curve)
    assert found[0] == 100 and (np.diff(found) >= 0).all() and found[-1] == 200
    for beside in (5, 15, 25):
        assert found[beside] == pytest.approx(100 * float(latency_ratio(beside * 5.0 / found[beside], *curve)), rel=1e-3)


def test_latency_under_load_solves_littles_law_and_never_falls_with_load():
    part = MEMORY["ddr4-3200"]
    found = loaded_latency(100.0, 5.0, np.arange(1, 200), 60.0, LoadCurve(part.rise.value, part.bend.value, part.wall.value))
    assert found[0] == 100 and (np.diff(found) >= 0).all() and (np.diff(found[60:]) == 0).all()
    for beside in (5, 15, 25):
        load = beside * 5.0 / found[beside]
        assert found[beside] == pytest.approx(of(part, 100, load), rel=1e-3)


def rows_per_second(device, **knobs):
    machine = MachineKnobs(pmem_capacity_GB=128.0, **knobs)
    work = RowReads(1e6, 256, requester="near-data" if "near_data_lanes" in knobs else "host")
    return 1e6 / float(seconds(load_variant("devices", device).build(machine), work))


def test_few_threads_or_lanes_leave_a_memory_idle_and_enough_of_them_fill_it():
    assert rows_per_second("pmem", host_threads=1) * 256 == pytest.approx(7 * 64 / (305 * NS), rel=0.02)
    assert rows_per_second("pmem", host_threads=64) * 256 == pytest.approx(6.6e9, rel=1e-3)
    few, more = (rows_per_second("pmem", near_data_lanes=1, assume=(("near-data.accesses-in-flight-a-lane", n),)) for n in (2, 4))
    assert 1.8 < more / few < 2


def test_a_links_tags_bound_what_it_carries_over_a_long_way():
    def rate(latency):
        machine = MachineKnobs(cxl_latency_ns=latency, cxl_bandwidth_GBps=60.0, cxl_switch_hops=0)
        return 1e9 / float(seconds(load_variant("devices", "cxl").build(machine), Move(1e9)))

    assert rate(100.0) == pytest.approx(60e9, rel=1e-3)
    assert rate(5000.0) == pytest.approx(1024 * 64 / (5000 * NS), rel=0.2) and rate(5000.0) < 1024 * 64 / (5000 * NS)


def test_lines_read_out_of_a_memory_wait_for_it_too():
    link = load_variant("devices", "cxl").build(MachineKnobs(cxl_switch_hops=0, pmem="optane-100"))
    alone = [float(seconds(link, Move(64.0, memory))) for memory in ("", "expander-dram", "pmem")]
    assert alone == pytest.approx([250 * NS, 352 * NS, 555 * NS])
