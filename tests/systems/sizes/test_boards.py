"""Boards: are SXM and OAM GPUs paid for and powered by whole boards, PCIe cards singly, and papers' machines as before?"""

import pytest

from engine.core.catalog import list_words, part_names_of
from engine.estimate import estimate
from engine.hardware.devices.chassis import (
    BOARD_CHASSIS,
    CHASSIS,
    GPU_BOARDS,
    board_sizes,
    bought_gpus,
    sold_on_boards,
    takes_gpu,
)
from engine.hardware.devices.gpu import ACCELERATORS
from engine.insight.running_costs import bill_of
from engine.scenario.machine import RECORDED
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine, settle
from engine.systems.buildable import does_not_fit, parts_of, spare_gpus_note, states_of
from tests.cases import each
from tests.parts.conftest import folder, shipped

__all__ = ["folder"]
PRICES, CHASSIS_KNOB, OWNED = "machine.prices", "machine.chassis", "machine.owned_parts"
IDLE, KERNELS, LIMIT = 105, 0.6 * 700, 700  # W of an H100: with a context held, between kernels, at its limit


def machine(gpus=1, gpu="h100-sxm", system="all-hbm", **knobs):
    """Return a small model on so many GPUs at prices of 2026."""
    settings = {"system": system, "machine.gpu": gpu, "machine.num_gpus": gpus, **knobs}
    return with_values(preset("dlrm-kaggle").scenario, settings)


def item(scenario, kind):
    """Return the count, the idle ones and the USD of a kind on a machine's bill."""
    (line,) = (line for line in bill_of(scenario) if line.kind == kind)
    return line.count, line.spare, line.usd


BY_HAND = [  # GPUs that train; chassis; how many of these and of GPUs are paid for
    (1, "h100-sxm", "gpu-4-sxm", 1, 4),
    (4, "h100-sxm", "gpu-4-sxm", 1, 4),
    (5, "h100-sxm", "gpu-8-sxm", 1, 8),
    (8, "h100-sxm", "gpu-8-sxm", 1, 8),
    (12, "h100-sxm", "gpu-8-sxm", 2, 16),
    (16, "h100-sxm", "gpu-8-sxm", 2, 16),
    (1, "b200", "gpu-8-sxm", 1, 8),
    (2, "mi350x", "gpu-8-sxm", 1, 8),
    (1, "h100-pcie", "two-socket", 1, 1),
    (3, "h100-pcie", "gpu-4-pcie", 1, 3),
]


@each(("gpus", "gpu", "chassis", "nodes", "paid"), BY_HAND)
def test_a_bill_has_whole_boards_in_the_smallest_chassis_that_takes_them(gpus, gpu, chassis, nodes, paid):
    scenario = machine(gpus, gpu)
    built = settle(scenario)
    assert built.scenario.machine.chassis == chassis and built.scenario.machine.num_gpus == gpus
    price = ACCELERATORS[gpu].price.in_year(2026).value
    assert item(scenario, "gpu") == (paid, paid - gpus, paid * price)
    assert item(scenario, "chassis")[0] == nodes and parts_of(built)[gpu] == paid
    assert does_not_fit(built) == ()


@each(("gpus", "watts", "full"), [(1, KERNELS + 3 * IDLE, LIMIT + 3 * IDLE), (8, 8 * KERNELS, 8 * LIMIT)])
def test_gpus_that_do_not_train_draw_idle_watts(gpus, watts, full):
    device = ready_machine(machine(gpus)).devices["gpu"]
    assert (device.idle_watts, device.full_watts, device.copies) == (pytest.approx(watts), full, gpus)
    constant = ready_machine(machine(gpus, **{"machine.constant_power": True})).devices["gpu"]
    assert (constant.idle_watts, constant.busy_watts) == (full, 0)
    metered = ready_machine(machine(gpus, **{"machine.energy_level": "node"})).devices
    assert metered["gpu"].idle_watts == pytest.approx(metered["wall"].drawn_per_joule * watts)


def test_twelve_gpus_pay_for_sixteen_of_which_four_are_idle_and_take_the_time_of_twelve():
    whole, singly = machine(12), machine(12, **{PRICES: RECORDED})
    assert item(whole, "gpu")[:2] == (16, 4) and item(singly, "gpu")[:2] == (12, 0)
    watts = [ready_machine(scenario).devices["gpu"].idle_watts for scenario in (whole, singly)]
    assert watts == pytest.approx([12 * KERNELS + 4 * IDLE, 12 * KERNELS])
    numbers, fewer = (estimate(scenario).results for scenario in (whole, singly))
    step = fewer["Step time [ms]"]
    assert numbers["Step time [ms]"] == step
    assert numbers["Energy per batch [J]"] == pytest.approx(fewer["Energy per batch [J]"] + 4 * IDLE * step / 1e3)


@each("gpu", ["h100-sxm", "mi350x", "a100-80"])
def test_at_recorded_prices_nothing_is_whole(gpu):
    for gpus, chassis in ((1, "two-socket"), (2, "two-socket"), (3, "gpu-4-pcie"), (8, "gpu-8-sxm")):
        scenario = machine(gpus, gpu, **{PRICES: RECORDED})
        assert item(scenario, "gpu")[:2] == (gpus, 0)
        assert settle(scenario).scenario.machine.chassis == chassis and not estimate(scenario).warnings


def test_a_run_says_once_what_is_idle():
    (note,) = estimate(machine(1)).warnings
    assert note.startswith("The machine has 4 × h100-sxm, since SXM boards are sold whole, here in gpu-4-sxm: ")
    assert note.endswith("1 trains, and 3 are idle, counted at 105 W each.")
    assert estimate(machine(7, "mi350x")).warnings[0].endswith("in gpu-8-sxm: 7 train, and 1 is idle, counted at 180 W.")
    for whole in (machine(8), machine(1, "h100-pcie"), machine(1, system="cpu-only")):
        built = ready_machine(whole)
        assert spare_gpus_note(built.scenario.machine, built.devices) == ()


def test_owned_gpus_fill_a_board_and_the_rest_of_it_is_bought():
    assert [item(machine(1, **{OWNED: owned}), "gpu")[2] for owned in ("gpu/h100-sxm:1", "gpu/h100-sxm:4", "h100-sxm")] == [
        3 * 30000,
        0,
        0,
    ]
    some, all_of_them = (settle(machine(1, "a100-80", **{OWNED: f"gpu/a100-80:{count}"})) for count in (3, 4))
    assert states_of(some)["a100-80"] == "discontinued" and "a100-80" not in states_of(all_of_them)


def test_four_gpus_on_a_board_are_of_generations_that_have_one():
    named = list_words("chassis", "gpu-4-sxm", GPU_BOARDS)
    assert {*named} <= {*part_names_of("gpu")} and all(board_sizes(gpu) == (4, 8) for gpu in named)
    assert [CHASSIS[name].gpus.value for name in BOARD_CHASSIS] == [4, 8]
    for gpu in ACCELERATORS:
        assert board_sizes(gpu) == ((1,) if not sold_on_boards(gpu) else (4, 8) if gpu in named else (8,)), gpu
    (unfit,) = does_not_fit(settle(machine(4, "b200", **{CHASSIS_KNOB: "gpu-4-sxm"})))
    assert unfit == "b200 is on no board of gpu-4-sxm, which has boards of v100 or a100-40 or a100-80 or h100-sxm or h200."


@each(("chassis", "gpus"), [("two-socket", 2), ("gpu-4-pcie", 4)])
def test_a_chassis_without_boards_takes_no_sxm_gpu_and_adds_none(chassis, gpus):
    built = settle(machine(1, **{CHASSIS_KNOB: chassis}))
    assert bought_gpus(built.scenario.machine) == 1
    assert does_not_fit(built)[0] == f"1 h100-sxm needs 1 place for SXM; {chassis} has 0, and {gpus} for PCIe."


def test_a_chassis_of_ones_own_says_whose_boards_it_takes(folder):
    folder.put(
        "chassis/two-gpus",
        shipped("chassis/gpu-4-sxm").replace(
            'value = 4\nunit = "GPUs"\nlow = 4\nhigh = 4', 'value = 2\nunit = "GPUs"\nlow = 2\nhigh = 2'
        ),
    )
    folder.elsewhere(folder.path)
    asked = machine(1, **{CHASSIS_KNOB: "two-gpus"})
    assert item(asked, "gpu")[:2] == (2, 1)
    assert takes_gpu("two-gpus", "h200") and not takes_gpu("two-gpus", "b200")


def test_supplies_feed_the_idle_gpus_too():
    alone = machine(1, **{CHASSIS_KNOB: "gpu-4-sxm"})
    rest = sum(device.idle_watts for name, device in ready_machine(alone).devices.items() if name not in ("gpu", "host"))
    need = LIMIT + 3 * IDLE + 700 + rest
    fed, short = (
        does_not_fit(settle(with_values(alone, {"machine.assume": (("chassis.supply-rating", watts),)})))
        for watts in (need + 1e-6, need - 1e-6)
    )
    assert fed == () and "the supplies of gpu-4-sxm give" in short[0]


def test_a_slice_of_a_gpu_is_bought_alone():
    slices = machine(1, "a100-80-mig-1g", **{CHASSIS_KNOB: "gpu-8-sxm"})
    assert item(slices, "gpu")[:2] == (1, 0)


@each(("gpu", "chassis"), [("h100-sxm", "two-socket"), ("mi300x", "gpu-4-sxm"), ("b200", "gpu-4-sxm")])
def test_a_chassis_without_the_board_of_its_gpus_is_told_beside_the_price(gpu, chassis):
    warned = estimate(machine(2, gpu, **{"machine.chassis": chassis})).warnings
    assert warned[0] == f"No board of {chassis} has {gpu}, so this machine cannot be bought; its price is of the GPUs that train."
    assert not any(
        "No board" in one
        for one in estimate(machine(2, gpu, **{"machine.chassis": chassis, "machine.prices": "recorded"})).warnings
    )


def test_cards_without_places_are_told_beside_the_price():
    """The largest chassis with places for cards has four: eight cards of a node get the places of a board."""
    eight = estimate(machine(8, "h100-pcie")).warnings
    told = "No place of gpu-8-sxm takes h100-pcie, so this machine cannot be bought; its price is of the GPUs that train."
    assert eight[0] == told and not any("No place" in one for one in estimate(machine(4, "h100-pcie")).warnings)
