"""DIMMs: are they the cheapest that hold the GiB in channels and slots, and the same in price, parts, watts and slots?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.analysis.in_force import find_automatic_value
from engine.hardware.devices.dram import DIMMS_GiB, like_dimms
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, ready_machine, settle
from engine.systems.buildable import does_not_fit, parts_of
from tests.cases import each

KAGGLE = preset("dlrm-kaggle").scenario
HOST, ASSUME = "machine.host_dram_GiB", "machine.assume"
DDR5 = 14.1  # USD per GB of 64 GB modules in 2026
GRADES = st.tuples(*[st.floats(1, 5)] * 3).map(lambda times: tuple(zip((96, 128, 256), times, strict=True)))


def dram_of(**knobs):
    """Return the DRAM of a machine with one GPU, of DDR5 on two sockets, at the prices of 2026."""
    asked = {"system": "cpu-gpu", **{f"machine.{name}": knob for name, knob in knobs.items()}}
    return machine_of(settle(with_values(KAGGLE, asked))).devices["dram"]


@each(
    ("host", "gib", "count", "size", "units"),
    [
        ("amx-2023", 1024.0, 16, 64, 64),
        ("amx-2023", 1536.0, 16, 96, 96 * 1.14),  # 24,690 USD; 32 of 64 are 28,877
        ("amx-2023", 2048.0, 32, 64, 64),  # 28,877 USD; 16 of 128 are 49,374
        ("amx-2023", 3000.0, 32, 96, 96 * 1.14),
        ("amx-2023", 100.0, 16, 16, 16),  # whole modules are paid for
        ("epyc-2024", 1024.0, 24, 64, 64),  # 1.5 TiB: 24 of 32 are .75, and 48 find no slots
        ("epyc-2024", 2048.0, 24, 96, 96 * 1.14),
        ("epyc-2024", 3000.0, 24, 128, 128 * 1.71),
    ],
)
def test_the_price_of_dram_by_hand(host, gib, count, size, units):
    dram = dram_of(host=host, host_dram="ddr5-4800", host_dram_GiB=gib, prices="2026")
    (item,) = dram.bill
    assert (item.count, item.size) == (count, f"{size} GiB")
    assert dram.price == pytest.approx(count * units * DDR5)


def test_a_price_that_is_assumed_scales_all_modules_and_a_premium_decides_which_are_taken():
    asked = {"host": "amx-2023", "host_dram": "ddr5-4800", "host_dram_GiB": 1536.0}
    assert dram_of(**asked, assume=(("dram.price", 10.0),)).price == pytest.approx(16 * 96 * 1.14 * 10)
    dear = dram_of(**asked, assume=(("dram.price", 10.0), ("dram.premium-of-96-GB-modules", 1.4)))
    assert dear.bill[0].count == 32 and dear.price == pytest.approx(32 * 64 * 10)


@given(channels=st.integers(1, 24), premiums=GRADES, room=st.integers(0, 2), sizes=st.lists(st.floats(0, 13000), min_size=2))
def test_more_gib_are_never_cheaper(channels, premiums, room, sizes):
    times, slots = dict(premiums), room * channels
    costs = []
    for gib in sorted(sizes):
        dimms = like_dimms(channels, gib, premiums, slots)
        assert dimms.number in (channels, 2 * channels) and dimms.gib in DIMMS_GiB
        assert dimms.capacity >= min(gib, 2 * channels * 256)
        assert dimms.number <= slots or gib > channels * 256 or not room
        costs.append(dimms.capacity * times.get(dimms.gib, 1.0))
    assert costs == sorted(costs)


@each("gib", [None, 64.0, 1024.0, 1500.0, 2048.0, 2100.0, 3500.0])
@each(
    ("system", "knobs"),
    [
        ("cpu-gpu", {"machine.host": "amx-2023"}),
        ("all-hbm", {"machine.host": "epyc-2024", "machine.num_gpus": 8}),
        ("pmem", {"machine.host": "server", "machine.pmem": "optane-100", "machine.host_dram": "ddr4-3200"}),
        ("cpu-gpu", {"machine.host": "server", "machine.pmem": "optane-100", "machine.host_dram": "ddr4-3200"}),
    ],
)
def test_price_parts_watts_and_slots_are_of_the_same_dimms(system, knobs, gib):
    settled = settle(with_values(KAGGLE, {"system": system, **knobs, HOST: gib}))
    (item,) = machine_of(settled).devices["dram"].bill
    assert parts_of(settled)[f"{item.size} {item.part}"] == item.count
    watts = machine_of(settle(with_values(settled.scenario, {"machine.energy_level": "device"}))).devices["dram"].idle_watts
    assert watts == pytest.approx(5 * item.count)
    slots = [sentence for sentence in does_not_fit(settled) if "DIMMs of DRAM" in sentence]
    assert item.count + 6 * (system == "pmem") <= 32 and slots == []
    few = settle(with_values(settled.scenario, {ASSUME: (("chassis.DIMM-slots", 1.0),)}))
    (slots,) = [sentence for sentence in does_not_fit(few) if "DIMMs of DRAM" in sentence]
    assert slots.startswith(f"{machine_of(few).devices['dram'].bill[0].count} DIMMs")


def test_modules_of_persistent_memory_take_slots_of_dimms():
    """2,100 GiB are 32 of 96, or 16 of 256 where six modules lie in 6 of 32 slots."""
    asked = {"machine.host": "server", "machine.pmem": "optane-100", "machine.host_dram": "ddr4-3200", HOST: 2100.0}
    bills = {
        system: ready_machine(with_values(KAGGLE, {**asked, "system": system})).devices["dram"].bill[0]
        for system in ("pmem", "cpu-gpu")
    }
    assert (bills["pmem"].count, bills["pmem"].size) == (16, "256 GiB")
    assert (bills["cpu-gpu"].count, bills["cpu-gpu"].size) == (32, "96 GiB")


def test_automatic_dram_is_the_cheapest_and_says_its_dimms():
    eight = with_values(KAGGLE, {"system": "all-hbm", "machine.num_gpus": 8, "machine.gpu": "h200", "machine.host": "amx-2023"})
    told = find_automatic_value(eight, HOST)  # twice 8 × 141 GB are 2,101 GiB
    assert told.setting == 32 * 96 and "32 × 96 GiB, the cheapest like DIMMs" in told.reason


@each(
    ("gpu", "host", "grade", "size"),
    [
        ("mi350x", "epyc-2024", "ddr5-6000", 24 * 128),  # twice 8 × 288 GB would be 4,292 GiB, 24 of 256
        ("mi350x", "amx-2023", "ddr5-4800", 32 * 128),
        ("mi350x", "server", "ddr4-3200", 32 * 128),
        ("mi325x", "amx-2023", "ddr5-4800", 32 * 128),  # 3,815 GiB
        ("h100-sxm", "amx-2023", "ddr5-4800", 16 * 96),
        ("h100-sxm", "epyc-2024", "ddr5-6000", 24 * 64),
    ],
)
def test_a_host_without_tables_has_twice_its_gpus_memory_but_no_modules_beyond_128_for_it(gpu, host, grade, size):
    asked = {
        "system": "all-hbm",
        "machine.num_gpus": 8,
        "machine.gpu": gpu,
        "machine.host": host,
        "machine.host_dram": grade,
        HOST: None,
    }
    settled = settle(with_values(KAGGLE, asked))
    assert settled.scenario.machine.host_dram_GiB == size
