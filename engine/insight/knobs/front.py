"""The knobs that a page shows first.

They are knobs that a training system reads; among them those that move something come first.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...hardware.device import readers
from ...registry import load_variant
from ...scenario.scenario import KNOBS, Scenario
from ...systems.kernels.in_force import system_in_force
from ...systems.system import device_names
from ..decomposition import BOUND, RELAXED
from .moves import is_flat
from .strips import Strip

MOST_KNOBS = 5
GPUS = "machine.num_gpus"
# What a system without persistent memory has to set, the strongest first.
OTHER_KNOBS = (
    "policy.cache_load_factor",
    GPUS,
    "machine.pcie_bandwidth_GBps",
    "machine.network_bandwidth_GBps",
    "machine.num_ssds",
    "data.batch_size",
)


class FrontKnobs(NamedTuple):
    """Knobs by what they move, in the order of a page.

    acting: knobs that move step time, energy or price by 1 %. flat: knobs that move nothing. unread: knobs that the system's
    devices and policies do not read.
    """

    acting: tuple[str, ...]
    flat: tuple[str, ...]
    unread: tuple[str, ...]


def front_knobs(scenario: Scenario, added: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the knobs whose strips a page looks at, those `added` last.

    They are the main knobs that the system reads, relaxed lookup, the GPUs of a system of one node, and others up to five in all.
    """
    main = [path for path in _main_knobs(scenario) if is_read(scenario, path)]
    main += [GPUS] * system_in_force(scenario).one_node
    others = [path for path in OTHER_KNOBS if path not in main and is_read(scenario, path)]
    return tuple(dict.fromkeys((*main, *others[: max(MOST_KNOBS - len(main), 0)], *added)))


def by_effect(scenario: Scenario, strips: Sequence[Strip], kept: Sequence[str] = ()) -> FrontKnobs:
    """Return the knobs of strips by what they move; knobs in `kept` count as acting.

    Main knobs without a strip, because the system does not read them, are `unread`.
    """
    acting = tuple(strip.path for strip in strips if strip.path in kept or not is_flat(strip))
    flat = tuple(strip.path for strip in strips if strip.path not in acting)
    unread = tuple(path for path in _main_knobs(scenario) if not is_read(scenario, path))
    return FrontKnobs(acting, flat, tuple(path for path in unread if path not in (*acting, *flat)))


def is_read(scenario: Scenario, path: str) -> bool:
    """Return whether a scenario's system has the device or the policy of a knob."""
    system = system_in_force(scenario)
    if path == BOUND:
        return bool(system.log_policy.log)
    if path == "machine.near_data_compute":  # its device is there only where it is on
        return "near-data" in system.devices
    if path == "policy.cache_load_factor":
        return system.cache is not None
    if path == GPUS:
        return system.can_use_many_gpus
    owners = readers(path)
    return not owners or bool({*owners} & {*device_names(scenario.system, scenario.machine)})


def _main_knobs(scenario: Scenario) -> list[str]:
    main = [path for path, knob in KNOBS.items() if knob.main and path != "system"]
    return [*main, *[RELAXED] * load_variant("systems", scenario.system).can_relax]
