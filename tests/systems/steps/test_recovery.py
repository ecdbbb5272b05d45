"""Does every GPU or host have the whole MLP after a recovery, in the time of a formula by hand?"""

import pytest

from engine.core.work import AllGather
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.systems.capacity import fit
from engine.systems.steps.recovery import recover
from engine.systems.system import RecoveryWork
from tests.cases import each

GB, US = 1e9, 1e-6
# The parts' own constants: NVLink 3 sustains .667 of 300 GB/s, RoCE .56 of a card; a copy is handed off in 40 us.
FABRIC, FABRIC_START = 0.667 * 300 * GB, 10 * US
CARD, HOP, MESSAGE = 0.56 * 22.5 * GB, 20 * US, 4.3 * US
COPIED, HANDOFF = 26 * GB, 40 * US
AT_ONCE = {
    "run.training": False,
    "run.batches": 20,
    "faults.detect_seconds": 0.0,
    "faults.restart_seconds": 0.0,
    "machine.gpu": "a100-80",
    "machine.host": "server",
    "machine.host_dram_channels": 6,
    "data.batch_size": 4096,
}
MANY = tuple(name for name in variant_names("systems") if load_variant("systems", name).can_use_many_gpus)


def scenario(system, gpus, **more):
    return with_values(preset("dlrm-kaggle").scenario, {**AT_ONCE, "system": system, "machine.num_gpus": gpus, **more})


def restored(system, gpus):
    """Return the seconds of a restore in a full run that loses a GPU."""
    outcome = simulate(scenario(system, gpus, **{"faults.gpu_crash_at_seconds": (0.002,)}))
    assert outcome.ran, outcome.outcome
    return outcome.results["Recovery time [s]"]


def mlp_bytes():
    """Return the bytes of weights and biases of DLRM's layers, and of their Adagrad sums."""
    pairs = 27 * 26 // 2 + 16
    widths = [(13, 512), (512, 256), (256, 64), (64, 16), (pairs, 512), (512, 256), (256, 1)]
    return 2 * 4 * sum((inputs + 1) * outputs for inputs, outputs in widths)


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_each_gpu_loads_its_part_of_the_mlp_and_gathers_those_of_the_others_over_the_fabric(gpus):
    gathered = FABRIC_START + (gpus - 1) / gpus * mlp_bytes() / FABRIC if gpus > 1 else 0.0
    copied = COPIED / (2 if gpus == 8 else 1)  # of a board of eight, two GPUs share 16 lanes
    assert restored("all-hbm", gpus) == pytest.approx(HANDOFF + mlp_bytes() / gpus / copied + gathered, rel=1e-9)


def test_the_parts_of_the_mlp_cross_the_network_once_a_node_and_then_the_fabric():
    over_network, over_fabric = mlp_bytes() / 2 / 8 / CARD, 7 / 8 * mlp_bytes() / FABRIC
    by_hand = HANDOFF + mlp_bytes() / 16 / (COPIED / 2) + FABRIC_START + HOP + over_network + over_fabric
    assert restored("all-hbm", 16) == pytest.approx(by_hand, rel=1e-9)


def test_hosts_without_gpus_gather_the_parts_of_the_mlp_too():
    one, three = restored("cpu-only", 8), restored("cpu-only", 24)
    received = 2 / 3 * mlp_bytes() / 8 / CARD  # over eight cards
    assert three == pytest.approx(one / 3 + FABRIC_START + HOP + 2 * MESSAGE + received, rel=1e-9)


@each("system", MANY, few=5)
def test_whatever_loads_a_part_of_the_mlp_gathers_the_rest_in_the_same_recovery(system):
    def tasks(gpus):
        return recover(fit(scenario(system, gpus)), RecoveryWork(5.0, 64, 300.0, 1e6)).tasks

    one, several = tasks(1), tasks(24)
    assert several[: len(one)] == one or system == "pcie"  # the same work, which the devices of all GPUs share
    (gathering,) = several[len(one) :]
    assert (gathering.name, gathering.predecessors) == ("Gather MLP", ("Load MLP",))
    (demand,) = gathering.demands
    assert demand.device == "network"
    if system != "cpu-only":
        assert demand.work == AllGather(1e6)


def test_a_recovery_waits_for_all_gpus_where_the_framework_does_before_each_collective():
    patient = scenario("all-hbm", 8, **{"machine.framework": "dlrm-v4"})
    names = [task.name for task in recover(fit(patient), RecoveryWork(0.0, 64, 0.0, 1e6)).tasks]
    assert names == ["Load MLP", "Wait for gather MLP", "Gather MLP"]
