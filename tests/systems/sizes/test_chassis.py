"""Chassis: does a node have one with places for its GPUs, pay for it, and say where it has too few?"""

import pytest

from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine
from engine.systems.capacity import fit
from tests.cases import each

CHASSIS = "machine.chassis"


def node(gpus, system="all-hbm", **knobs):
    """Return a question on one node of so many GPUs."""
    count = {"machine.num_gpus": gpus, "machine.gpus_per_node": gpus}
    own = {"system": system, "data.batch_size": 4096, "run.training": False, "run.batches": 4}
    return with_values(preset("optane-kaggle").scenario, {**own, **count, **knobs})


@each(
    ("gpus", "name", "count"),
    [
        (1, "two-socket", 1),
        (2, "two-socket", 1),
        (3, "gpu-4-pcie", 1),
        (8, "gpu-8-sxm", 1),
        (9, "gpu-8-sxm", 2),
        (16, "gpu-8-sxm", 2),
        (64, "gpu-8-sxm", 8),
    ],
)
def test_a_node_takes_the_smallest_chassis_with_places_for_its_gpus_and_several_of_the_largest(gpus, name, count):
    device = ready_machine(node(gpus)).devices["chassis"]
    assert device.copies == count and name in device.title


def test_a_host_without_gpus_stands_in_two_sockets_however_many_ranks_share_it():
    assert "two-socket" in ready_machine(node(8, "cpu-only")).devices["chassis"].title


@each(("chassis", "places"), [("two-socket", 2), ("one-socket", 1), ("gpu-4-pcie", 4)])
def test_more_gpus_than_a_chosen_chassis_has_places_for_are_refused_and_the_remedies_work(chassis, places):
    asked = node(8, **{CHASSIS: chassis})
    refused = estimate(asked)
    assert not refused.ran and refused.outcome.startswith(f"machine.chassis={chassis} has places for {places} GPU")
    assert not fit(with_values(asked, {CHASSIS: None})).problems
    assert not fit(with_values(asked, {"machine.gpus_per_node": places})).problems


def test_sixteen_gpus_pay_and_idle_in_two_chassis():
    one, two = (estimate(node(gpus, **{CHASSIS: "gpu-8-sxm", "machine.host_dram_GiB": 64.0})) for gpus in (8, 16))
    of_gpus = 8 * ready_machine(node(8)).devices["gpu"].price / 8
    more = two.results["Capital cost [USD]"] - one.results["Capital cost [USD]"]
    assert more == pytest.approx(of_gpus + 40_000)
