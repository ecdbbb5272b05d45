"""Parts: does each device say which knobs it reads, and does each constant in use stand beside one?"""

from engine.hardware.device import readers
from engine.hardware.hosts import LAYERS
from engine.registry import all_variants, load_variant, variant_names
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, is_sequential, with_values
from engine.systems.system import constants, powered_devices
from tests.cases import each
from tests.machines import TINY

# Knobs of the machine that belong to no single device.
SHARED = (
    "machine.assume",
    "machine.assumptions",
    "machine.all_powered",
    "machine.constant_power",
    "machine.exchange_precision",
    "machine.num_gpus",
    "machine.gpus_per_node",
    "machine.persistence_model",
    "machine.target_throughput",
    "machine.electricity_USD_per_kWh",
    "machine.service_life_years",
    "machine.training_hours_a_month",
    "machine.owned_parts",
    "machine.quotes",
)
# Read where the devices are chosen, so that no device's own code mentions it.
CHOOSES = {"near-data": {"machine.near_data_compute"}, "wall": {"machine.energy_level"}}
MACHINE = [path for path in KNOBS if path.startswith("machine.")]


class Watched:
    """A machine that notes which of its knobs are read."""

    def __init__(self, machine: MachineKnobs) -> None:
        self.machine, self.read = machine, set()

    def __getattr__(self, name):
        self.read.add(f"machine.{name}")
        return getattr(self.machine, name)


def read_by(kind):
    """Return the knobs that a device reads on any machine that its knobs can choose."""
    chosen = [(path, word) for path in kind.knobs for word in KNOBS[path].allowed] or [("system", "cxl")]
    found = set()
    for path, word in chosen:
        watched = Watched(with_values(TINY, {path: word}).machine)
        kind.build(watched)
        kind.copies(watched)
        found |= watched.read
    return found - set(SHARED)


@each("name", variant_names("devices"))
def test_a_device_reads_the_knobs_that_it_declares_and_of_others_only_those_of_devices(name):
    kind = all_variants("devices")[name]
    assert set(kind.knobs) <= set(KNOBS)
    assert set(kind.knobs) <= read_by(kind) | CHOOSES.get(name, set())
    assert read_by(kind) <= {path for one in all_variants("devices").values() for path in one.knobs}


@each("path", MACHINE)
def test_a_knob_of_the_machine_belongs_to_a_device_or_is_shared_by_all(path):
    assert bool(readers(path)) != (path in SHARED)


@each("preset_name", preset_names())
def test_the_constants_in_use_are_those_of_the_powered_devices(preset_name):
    for system in variant_names("systems"):
        uses_what_it_powers(with_values(preset(preset_name).scenario, {"system": system}))


def uses_what_it_powers(scenario):
    system = scenario.system
    found = constants(scenario)
    assert {name.partition(".")[0] for name in found} == set(powered_devices(system, scenario.machine))
    devices = powered_devices(system, scenario.machine)
    layers_on_gpus = "host" in devices and "gpu" in load_variant("systems", system).devices
    idle = [one for one in devices["host"].constants if one.name in LAYERS] if layers_on_gpus else []
    attention = [one for device in devices.values() for one in device.constants if "attention" in one.name and one not in idle]
    unread_attention = 0 if is_sequential(scenario.model) else len(attention)
    assert len(found) == sum(len(device.constants) for device in devices.values()) - len(idle) - unread_attention
