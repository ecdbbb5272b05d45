"""Conflicting sources: does a switch choose one of them whole, and does an assumption still have the last word?"""

import json
from itertools import chain

import pytest

from engine.analysis.uncertainty import uncertain_constants
from engine.commands.listing import LISTS, _catalogue
from engine.core.constants import upper_limit
from engine.core.work import Persist, RowReads, RowUpdates, Stream
from engine.estimate import estimate
from engine.hardware.device import joules, seconds
from engine.registry import all_variants, load_variant
from engine.scenario.machine import MachineKnobs
from engine.scenario.scenario import KNOBS
from engine.sweep.links import link, open_link
from tests.cases import each
from tests.machines import scenario

GB, MODULE = 1e9, 128.0
DISPUTED = [
    (device, part, one)
    for device, kind in all_variants("devices").items()
    for part, constants in kind.parts().items()
    for one in constants
    if one.switch
]
SWITCHES = sorted({one.switch for *_, one in DISPUTED})


def device(name, **knobs):
    """Return a device of the default machine with one PMEM module and some knobs changed."""
    return load_variant("devices", name).build(MachineKnobs(**{"pmem_capacity_GB": MODULE, **knobs}))


@each("switch", SWITCHES)
def test_a_switch_offers_just_the_sources_that_some_constant_knows_and_the_parts_own(switch):
    said = set(chain.from_iterable(dict(one.other_sources) for *_, one in DISPUTED if one.switch == switch))
    knob = KNOBS[f"machine.{switch}"]
    assert set(knob.allowed) - said == {knob.default}


@each(("name", "part", "one"), DISPUTED)
def test_a_device_takes_what_the_chosen_source_says_and_an_assumption_beats_it(name, part, one):
    knobs = {"pmem": {"pmem": part}, "gpu": {"gpu": part}, "ssd": {"ssd": part}}.get(name, {})
    for choice, other in one.other_sources:
        chosen = device(name, **knobs, **{one.switch: choice})
        assert other in chosen.constants and (other == one or one not in chosen.constants)
        assumed = min(321.0, upper_limit(one.name, one.unit))
        doubted = device(name, **knobs, **{one.switch: choice}, assume=((f"{name}.{one.name.replace(' ', '-')}", assumed),))
        assert assumed in [constant.value for constant in doubted.constants if constant.name == one.name]


@pytest.mark.parametrize(("choice", "rate", "write", "access"), [("paper", 0.6, 0.1, 64), ("measured", 0.36, 0.16, 256)])
def test_a_bandwidth_ratio_is_that_of_one_module_beside_its_share_of_dram(choice, rate, write, access):
    dram = {"paper": (25.6, 25.6), "measured": (105 / 6, 77 / 6)}[choice]
    pmem = device("pmem", pmem_bandwidth_source=choice)
    assert seconds(pmem, Stream(1e9, write=False)) == pytest.approx(1 / (rate * dram[0]), rel=0.01)
    assert seconds(pmem, Stream(1e9)) == pytest.approx(1 / (write * dram[1]), rel=0.03)
    once = 1e6 * access / 1e9
    assert seconds(pmem, RowUpdates(1e6, 64)) == pytest.approx(
        2 * once * (1 / (rate * dram[0]) + 1 / (write * dram[1])), rel=0.03
    )


def test_random_64_byte_rates_agree_with_whole_lines_at_64_bytes_and_are_pessimistic_above():
    own, random = (device("pmem", pmem_bandwidth_source=choice) for choice in ("own", "random"))
    assert seconds(random, RowReads(1e6, 64)) == pytest.approx(float(seconds(own, RowReads(1e6, 64))), rel=0.05)
    assert seconds(random, RowUpdates(1e6, 64)) == pytest.approx(float(seconds(own, RowUpdates(1e6, 64))), rel=0.1)
    assert seconds(random, RowReads(1e6, 256)) > 3.9 * seconds(own, RowReads(1e6, 256))
    assert joules(random, RowReads(1e6, 64)) == joules(own, RowReads(1e6, 64))


@pytest.mark.parametrize("part", ["optane-100", "trainingcxl"])
def test_a_write_is_durable_seven_times_drams_latency_later_in_the_media_but_at_once_in_the_domain(part):
    late, soon = (device("pmem", pmem=part, pmem_write_latency_source=choice) for choice in ("media", "visible"))
    assert seconds(late, Persist(1.0)) == pytest.approx(7 * 81e-9)
    assert seconds(soon, Persist(1.0)) == pytest.approx(1.04 * 81e-9, rel=1e-3)


def test_dram_of_a_fleet_draws_almost_five_times_the_static_power_of_bare_dies():
    own = {"expander_dram_GiB": 256.0}
    fleet, dies = (device("expander-dram", dram_static_power_source=choice, **own).idle_watts for choice in ("fleet", "dies"))
    assert (fleet / 256, dies / 256) == (pytest.approx(0.284 * 2**30 / GB), pytest.approx(0.06 * 2**30 / GB))


@pytest.mark.parametrize(("gpu", "picojoules"), [("a100-80", 48), ("v100", 31.2)])
def test_gpu_memory_costs_its_own_joules_or_the_boards(gpu, picojoules):
    alone, board = (device("gpu", gpu=gpu, gpu_memory_energy_source=choice) for choice in ("device", "board"))
    assert joules(alone, Stream(1.0)) == pytest.approx(2 * picojoules * 1e-12)
    assert joules(board, Stream(1.0)) == pytest.approx(2 * 124e-12)


def test_a_source_moves_the_result_travels_in_a_link_and_brings_its_own_range():
    one = {"machine.pmem_capacity_GB": MODULE}  # so that it is the memory that is waited for
    own = scenario("optane-rm1", "cxl", **one)
    paper = scenario("optane-rm1", "cxl", **one, **{"machine.pmem_bandwidth_source": "paper"})
    assert open_link(link(paper)).scenario == paper
    assert estimate(paper).results["Step time [ms]"] < 0.6 * estimate(own).results["Step time [ms]"]
    assert (uncertain_constants(own)["pmem.read-rate"].high, uncertain_constants(paper)["pmem.read-rate"].high) == (8.5, 15.36)


def test_the_list_of_devices_shows_what_each_source_says():
    found = LISTS["devices"][0]()
    text = _catalogue(found)
    for *_, one in DISPUTED:
        for choice, other in one.other_sources:
            assert f"machine.{one.switch}={choice}" in text and other.source in text
    assert json.loads(json.dumps(found)) is not None
