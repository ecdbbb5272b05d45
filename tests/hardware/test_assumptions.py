"""Assumptions: does a scenario's own value of a constant reach the device, the link and the result?"""

import numpy as np
import pytest

from engine.core.catalog import part_names_of
from engine.core.constants import upper_limit
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.hardware.device import check_assumptions, name_of
from engine.registry import all_variants, load_variant
from engine.registry import variant_names as registry_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import _constant_names, settle
from engine.systems.system import constants as in_use
from tests.cases import SELECTION, each

BASE = preset("trainingcxl-rm1").scenario
NAMES = sorted({name_of(d, one) for d, kind in all_variants("devices").items() for part in kind.parts().values() for one in part})

MANY = {name for name in registry_names("systems") if load_variant("systems", name).can_use_many_gpus}


def changed(name, value):
    return with_values(BASE, {"machine.assume": ((name, value),)})


def test_a_faster_update_shortens_the_update_by_its_ratio():
    own = estimate(BASE)
    fast = estimate(changed("pmem.in-place-update-rate", 2 * 1.476))
    exposed = [sum(row["Exposed [s]"] for row in r.breakdown if row["Stage"] == "Embedding") for r in (own, fast)]
    assert exposed[1] == pytest.approx(exposed[0] / 2, rel=1e-3)  # but for the latency of the first


def test_an_assumption_equal_to_the_catalogue_changes_nothing():
    assert estimate(changed("pmem.in-place-update-rate", 1.476)).results == estimate(BASE).results


def test_the_order_of_assumptions_makes_no_difference():
    pairs = (("pmem.read-rate", 5.0), ("cxl.switch-hop", 90.0))
    assert with_values(BASE, {"machine.assume": pairs}) == with_values(BASE, {"machine.assume": pairs[::-1]})


def test_an_assumption_about_nothing_is_refused_with_the_nearest_name():
    with pytest.raises(BadKnob, match=r"machine\.assume has the name 'pmem\.red-rate'.*pmem\.read-rate"):
        estimate(changed("pmem.red-rate", 5.0))


def test_only_the_device_of_an_assumption_that_the_machine_lacks_is_searched_for_it():
    asked = []
    check_assumptions(changed("ssd.read-rate", 5.0).machine, [], lambda device: asked.append(device) or ("ssd.read-rate",))
    assert asked == ["ssd"]
    assert set(_constant_names("ssd")) == {name for name in NAMES if name.startswith("ssd.")}
    assert list(_constant_names("no-device")) == NAMES


@pytest.mark.parametrize("pairs", [(("pmem.read-rate", 1.0), ("pmem.read-rate", 2.0)), (("a=b", 1.0),), (("x;y", 1.0),)])
def test_assumptions_that_a_link_could_not_carry_are_refused(pairs):
    with pytest.raises(BadKnob, match=r"machine\.assume"):
        with_values(BASE, {"machine.assume": pairs})


@each("name", NAMES)
def test_every_constant_can_be_assumed(name):
    """Twice a constant's value, or half of a share, is read by some device: its machine, part by part, knows the new value."""
    device, kind = name.split(".")[0], all_variants("devices")[name.split(".")[0]]
    knob = {
        "pmem": "pmem",
        "ssd": "ssd",
        "host": "host",
        "gpu": "gpu",
        "pcie": "host",
        "chassis": "chassis",
        "dram": "host_dram",
    }.get(device)
    for part, constants in kind.parts().items():
        for one in constants:
            if name_of(device, one) == name:
                chooses = {"framework": "framework", "host-software": "host_software"}
                chosen = next((path for folder, path in chooses.items() if part in part_names_of(folder)), knob)
                chosen = (
                    ("expander" if part in part_names_of("expander") else "expander_dram")
                    if device == "expander-dram"
                    else chosen
                )
                where = {f"machine.{chosen}": part or None} if chosen else {}
                where |= {"machine.near_data_clock_MHz": 1000.0 if part == "asic" else 250.0} if device == "near-data" else {}
                where |= {"machine.energy_level": "room"} if device == "wall" else {}
                value = one.value / 2 if upper_limit(one.name, one.unit) <= 2 else 2 * one.value  # shares are at most 1
                machine = with_values(BASE, {**where, "machine.pmem_capacity_GB": 100, "machine.assume": ((name, value),)})
                assert value in [c.value for c in kind.build(machine.machine).constants if name_of(device, c) == name]


@each("system", registry_names("systems"), few=1)
def test_a_constant_assumed_to_be_nothing_is_refused_or_gives_a_finite_step(system):
    """Rates, sizes and counts divide work, so that 0 of them is refused with a sentence; without latency or power one can be."""
    s = with_values(BASE, {"system": system, "machine.gpu": "a100-80", "machine.num_gpus": 2 if system in MANY else 1})
    found = {}
    for name, one in in_use(settle(s).scenario).items():
        for value in (0.0, 5e-324, 1e-12) if SELECTION.all else (0.0, 1e-12):
            try:
                result = estimate(with_values(s, {"machine.assume": ((name, value),)}))
                found[name, value] = not result.ran or np.isfinite(result.results["Energy per batch [J]"])
            except BadKnob as error:
                whole = f"{one.name} {value:g} {one.unit}, which are whole ones; assume 1 or more" in str(error)
                divides = f"{one.name} {value:g} {one.unit}, by which work is divided" in str(error)
                nothing = name == "chassis.supply-rating" and "supply-rating=0 W cannot power a node" in str(error)
                found[name, value] = whole or (value < 1e-12 and (divides or nothing))
    assert all(found.values()), [name for name, right in found.items() if not right]
