"""Sizes that are automatic: are they those of the rule, worked out by hand, and is what fits no machine refused in a sentence?"""

from typing import cast

import pytest

from engine.core.memo import Reads, Recorder
from engine.estimate import estimate
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import sized_scenario
from engine.systems.sizing import sizes_of
from tests.cases import each

ROW = 4096  # bytes of a row of 1,024 elements, by plain SGD
GIB, GB = 2**30, 10**9
CAPACITY, HOST, EXPANDER = "machine.pmem_capacity_GB", "machine.host_dram_GiB", "machine.expander_dram_GiB"
SERVER, DRIVES, LINK = "machine.server_dram_GiB", "machine.num_ssds", "machine.cxl_bandwidth_GBps"
LANES = "machine.cxl_lanes"
WIDE = {"model.num_tables": 1, "model.embedding_dim": ROW // 4, "model.bottom_mlp": (13, ROW // 4), "model.optimizer": "sgd"}
PAID = 14.1  # USD per GB of DDR4 in 2026
DIMMS = (16, 32, 64, 96, 128, 256)


def holding(nbytes, system, **knobs):
    """Return a question whose one table has so many bytes, whole rows."""
    assert nbytes % ROW == 0
    own = {**WIDE, "model.num_embeddings": (nbytes // ROW,), "data.batch_size": 1, "run.training": False, "run.batches": 2}
    return with_values(Scenario(), {"system": system, **own, **knobs})


def chosen(asked, path):
    """Return a size of the settled machine."""
    return getattr(sized_scenario(asked).machine, path.partition(".")[2])


@each(
    ("knobs", "gigabytes", "modules", "why"),
    [
        ({}, 1, 6, "×16 Gen5 carries 51.66 GB/s, which takes 8 modules of 6.6, but 6 fill a set"),
        ({LINK: 1.0}, 1, 6, "a bandwidth set by hand moves no modules"),
        ({LANES: 4}, 1, 2, "12.9 GB/s take 2 of 6.6"),
        ({LANES: 8}, 1, 4, "25.8 GB/s take 3.9 of 6.6"),
        ({LANES: 1, "machine.cxl_generation": 4}, 1, 1, "1.6 GB/s: no link is too slow for one"),
        ({LANES: 2, "machine.num_expanders": 4}, 1, 4, "4 links of 6.5 GB/s take one each"),
        ({LANES: 4}, 300, 3, "2 feed the link, but 3 hold"),
        ({}, 700, 6, "6 fill a set, and hold"),
        ({}, 800, 7, "6 fill a set, but 7 hold"),
        ({"machine.pmem_module_GB": 512.0}, 1, 6, "whatever a module holds"),
        ({"machine.pmem": "battery-dram"}, 1, 3, "51.66 GB/s takes 3 of 20.5"),
        ({"machine.pmem": "battery-dram", "machine.num_expanders": 4}, 1, 6, "10 feed the links, but 6 are a set"),
        ({"machine.pmem": "cxl-flash"}, 1, 1, "a set is one"),
        ({"machine.pmem": "cxl-flash"}, 1500, 2, "a module holds 1 TB"),
        ({"machine.pmem": "trainingcxl"}, 1, 1, "a set is one"),
        ({"machine.pmem": "trainingcxl"}, 50, 4, "a module holds 16 GB"),
        ({"machine.assume": (("pmem.read-rate", 4.5),), LANES: 4}, 1, 3, "12.9 of 4.5 GB/s, rounded"),
    ],
)
def test_persistent_memory_is_what_holds_the_tables_and_what_the_link_or_a_set_takes(knobs, gigabytes, modules, why):
    each_holds = {"battery-dram": 32, "cxl-flash": 1000, "trainingcxl": 16}.get(knobs.get("machine.pmem", ""), 128)
    asked = holding(gigabytes * GB // ROW * ROW, "cxl", **knobs)
    assert chosen(asked, CAPACITY) == modules * knobs.get("machine.pmem_module_GB", each_holds), why


@each("system", ["pmem", "pcie"])
def test_memory_without_a_link_fills_a_set_however_slow_a_link_would_be(system):
    assert chosen(holding(ROW * 1000, system, **{LANES: 1}), CAPACITY) == 6 * 128


def test_logs_take_room_beside_the_tables():
    """Two batches' rows with their numbers, and three copies of the MLPs, beside tables that fill seven modules to a row."""
    full = 7 * 128 * GB // ROW * ROW
    assert chosen(holding(full - 10**9 // ROW * ROW, "cxl"), CAPACITY) == 7 * 128
    assert chosen(holding(full, "cxl"), CAPACITY) == 8 * 128


@each("index", range(len(DIMMS)))
@each(
    ("system", "path", "channels"),
    [("cpu-only", HOST, "machine.host_dram_channels"), ("dram", EXPANDER, "machine.expander_dram_channels")],
)
@each("count", [1, 6, 12])
def test_dram_is_the_smallest_like_dimms_in_all_channels_that_hold_the_tables(system, path, channels, count, index):
    size = count * DIMMS[index]
    asked = holding(size * GIB, system, **{channels: count})
    assert chosen(asked, path) == size
    more = holding(size * GIB + ROW, system, **{channels: count})
    next_size = DIMMS[index + 1] if index + 1 < len(DIMMS) else 2 * DIMMS[-1]  # two DIMMs a channel
    larger = count * (next_size if DIMMS[index] != 128 else 2 * 96)
    assert chosen(more, path) == larger
    assert estimate(with_values(more, {path: float(size)})).outcome.startswith(f"{path}={size:g} cannot hold ")


@each(
    ("system", "path", "channels"),
    [("cpu-only", HOST, "machine.host_dram_channels"), ("dram", EXPANDER, "machine.expander_dram_channels")],
)
def test_tables_beyond_two_of_the_largest_dimms_a_channel_are_refused_with_a_sentence(system, path, channels):
    most = 2 * 2 * 256
    fits, large = (holding(most * GIB + more, system, **{channels: 2}) for more in (0, ROW))
    assert estimate(fits).ran and chosen(fits, path) == most
    refused = estimate(large)
    assert not refused.ran and refused.outcome.startswith(f"{path}={most} cannot hold 1.00 TiB of embedding tables; raise it")
    assert estimate(with_values(large, {path: most + 1.0})).ran  # a size that is said is no count of DIMMs


@each(
    ("gpu", "count", "channels", "size"),
    [
        ("a100-40", 1, 6, 6 * 16),  # 2 × 40 GB are 75 GiB
        ("a100-80", 1, 6, 6 * 32),  # 149 GiB
        ("a100-80", 1, 12, 12 * 16),
        ("a100-80", 4, 12, 12 * 64),  # 596 GiB
        ("a100-80", 4, 16, 16 * 64),
        ("a100-80", 8, 16, 16 * 96),  # 1,192 GiB
        ("a100-80", 8, 12, 12 * 128),
        ("a100-80", 16, 16, 16 * 96),  # on each of two nodes
        ("a100-80", 8, 2, 2 * 2 * 256),  # more than there can be
    ],
)
def test_a_host_has_twice_the_memory_of_its_nodes_gpus(gpu, count, channels, size):
    knobs = {"machine.gpu": gpu, "machine.num_gpus": count, "machine.host_dram_channels": channels}
    assert chosen(holding(ROW * 1000, "all-hbm", **knobs), HOST) == size
    assert chosen(holding(ROW * 1000, "cpu-only", **{**knobs, "machine.num_gpus": 1}), HOST) == 16 * channels  # no GPU to feed


def test_a_host_that_holds_tables_or_a_cache_has_what_they_take_and_no_less_than_its_gpus_ask_for():
    tables = 400 * GIB
    six = {"machine.host_dram_channels": 6}
    assert chosen(holding(tables, "cached-embedding", **six), HOST) == 6 * 96
    assert chosen(holding(100 * GIB, "cached-embedding", **six), HOST) == 6 * 32  # as for its GPU
    for share, size in ((0.01, 6 * 32), (0.5, 6 * 64), (1.0, 6 * 96)):
        assert chosen(holding(tables, "ssd", **six, **{"policy.cache_load_factor": share}), HOST) == size


@each(("servers", "channels", "size"), [(1, 6, 6 * 64), (2, 6, 6 * 32), (4, 6, 6 * 16), (3, 2, 2 * 64)])
def test_a_server_has_its_share_of_the_tables_in_as_many_channels_as_a_host(servers, channels, size):
    knobs = {"machine.embedding_servers": servers, "machine.host_dram_channels": channels}
    asked = holding(384 * GIB, "remote-no-cache", **knobs)
    assert chosen(asked, SERVER) == size and estimate(asked).ran
    assert chosen(asked, HOST) == 192  # 6 × 32, or 2 × 96


@each(("terabytes", "drives"), [(0.5, 1), (1.5, 1), (1.7, 2), (33.0, 21), (100.0, 63)])
def test_drives_are_as_many_as_hold_tables_and_logs(terabytes, drives):
    """A P5800X holds 1.6 TB; what no drive holds takes one, for what is not said to need none."""
    asked = holding(int(terabytes * 1e12) // ROW * ROW, "ssd", **{"policy.cache_load_factor": 0.001})
    assert chosen(asked, DRIVES) == drives and chosen(holding(ROW * 1000, "cxl"), DRIVES) == 1
    assert estimate(asked).ran
    full = holding(1600 * GB, "ssd", **{"policy.cache_load_factor": 0.001})  # which leaves no room for logs
    assert chosen(full, DRIVES) == 2 and estimate(full).ran and not estimate(with_values(full, {DRIVES: 1})).ran


def test_tables_beyond_all_drives_or_modules_are_refused_with_a_sentence():
    large = {"policy.cache_load_factor": 0.001}
    refused = estimate(holding(110 * 10**12 // ROW * ROW, "ssd", **large)).outcome
    assert refused.startswith("machine.num_ssds=64 of p5800x hold ") and refused.endswith("; lower model.num_embeddings.")
    tables = {"model.num_tables": 40, "model.num_embeddings": (10**10,)}
    refused = estimate(with_values(holding(ROW * 1000, "pmem"), tables)).outcome
    assert refused.startswith("machine.pmem_capacity_GB=auto is limited to 1,280,000, but embedding tables and logs need 1.64 PB")


@each("system", variant_names("systems"))
def test_sizes_that_are_said_are_kept_but_for_whole_modules(system):
    said = {HOST: 65.0, EXPANDER: 66.0, SERVER: 67.0, DRIVES: 5, CAPACITY: 200.0}
    machine = sized_scenario(with_values(Scenario(), {"system": system, **said})).machine
    found = (machine.host_dram_GiB, machine.expander_dram_GiB, machine.server_dram_GiB, machine.num_ssds)
    assert found == (65.0, 66.0, 67.0, 5) and machine.pmem_capacity_GB == 256.0
    again = sized_scenario(with_values(Scenario(), {"system": system}))
    assert sized_scenario(again) == again


@each("system", variant_names("systems"))
def test_every_machine_has_a_host_and_pays_for_its_dram(system):
    asked = with_values(Scenario(), {"system": system, "run.training": False})
    few, many = (estimate(with_values(asked, {HOST: size})).results["Capital cost [USD]"] for size in (256.0, 1024.0))
    assert "host" in load_variant("systems", system).devices
    assert many - few == pytest.approx((1024 - 256) * PAID, rel=1e-9)


def test_each_of_several_hosts_is_paid_for_and_the_expanders_dram_by_who_has_it():
    nodes = with_values(Scenario(), {"system": "all-hbm", "machine.num_gpus": 16, "run.training": False})
    few, many = (estimate(with_values(nodes, {HOST: size})).results["Capital cost [USD]"] for size in (256.0, 1024.0))
    assert many - few == pytest.approx(2 * (1024 - 256) * PAID, rel=1e-9)
    for system, paid in (("dram", (1152 - 96) * PAID), ("cxl", 0.0), ("pmem", 0.0)):  # 6 × 16 and 12 × 96 hold 64 and 1024
        asked = with_values(Scenario(), {"system": system, "run.training": False})
        few, many = (estimate(with_values(asked, {EXPANDER: size})).results["Capital cost [USD]"] for size in (64.0, 1024.0))
        assert many - few == pytest.approx(paid, rel=1e-9)


@each(
    ("system", "knob", "values"),
    [
        ("cxl", "cxl_bandwidth_GBps", (10.0, 20.0)),
        ("cxl", "cxl_latency_ns", (100.0, 300.0)),
        ("ssd", "num_ssds", (2, 3)),
        ("cpu-gpu", "host_dram_GiB", (256.0, 512.0)),
    ],
)
def test_automatic_sizes_read_of_a_given_one_only_that_it_is_given(system, knob, values):
    for value in values:
        notes, asked = Reads(), with_values(preset("dlrm-kaggle").scenario, {"system": system, f"machine.{knob}": value})
        sizes_of(cast(Scenario, Recorder(asked, notes)), load_variant("systems", system))
        assert notes[f"machine.{knob}?"] is True and f"machine.{knob}" not in notes
