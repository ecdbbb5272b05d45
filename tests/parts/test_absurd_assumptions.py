"""Absurd assumptions about counts, supplies and rooms: is each refused by name, and the last possible one computed?"""

import pytest

from engine.errors import BadKnob
from engine.estimate import estimate
from engine.insight.running_costs import running_costs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests.cases import each

KAGGLE = with_values(preset("dlrm-kaggle").scenario, {"machine.energy_level": "room"})


def assuming(name, value, **knobs):
    return with_values(KAGGLE, {"machine.assume": ((name, value),), **knobs})


REFUSED = [
    ("chassis.fan-share", 1.0, r"chassis\.fan-share=1 of the node leaves no power for its devices; write less than 1"),
    ("chassis.supply-rating", 0.0, r"chassis\.supply-rating=0 W cannot power a node"),
    ("chassis.efficiency-at-half-load", 1.01, r"efficiency-at-half-load=1\.01 is more than all input power"),
    ("host.DRAM-channels", 0.4, r"gives DRAM channels 0\.4 channels, which are whole ones; assume 1 or more"),
    ("pmem.link-lanes", 0.4, r"gives link lanes 0\.4 lanes, which are whole ones; assume 1 or more"),
    ("pmem.link-generation", 3.0, r"pmem\.link-generation=3 is not the generation of a CXL link; write one of 4, 5 and 6"),
]
POSSIBLE = [
    ("chassis.fan-share", 0.9),
    ("chassis.supply-rating", 1e-6),
    ("chassis.efficiency-at-half-load", 1.0),
    ("host.DRAM-channels", 1.0),
    ("pmem.link-lanes", 0.0),
    ("pmem.link-generation", 6.0),
    ("wall.pue", 0.0),
]


@each(("name", "value", "says"), REFUSED)
def test_what_no_machine_has_is_refused_by_name(name, value, says):
    with pytest.raises(BadKnob, match=says):
        estimate(assuming(name, value))


@each(("name", "value"), POSSIBLE)
def test_the_last_possible_one_is_computed(name, value):
    found = estimate(assuming(name, value))
    assert found.ran and (found.results["Energy per batch [J]"] > 0) == (name != "wall.pue")
    assert running_costs(found).kwh_month >= 0


def test_a_liquid_leaves_a_node_the_power_of_its_fans():
    air, liquid = (estimate(assuming("chassis.fan-share", 0.2, **{"machine.cooling": one})) for one in ("air", "liquid"))
    joules = [one.results["Energy per batch [J]"] for one in (air, liquid)]
    assert joules[0] == pytest.approx(joules[1] / 0.8)
    assert estimate(assuming("chassis.fan-share", 1.0, **{"machine.cooling": "liquid"})).ran
