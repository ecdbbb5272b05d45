"""The value in force of each automatic knob, and the reason for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..campaign import fault_stream
from ..campaign.formulas.best_period import copy_mtbf, period_note
from ..campaign.simulate import campaign_terms
from ..core import figures
from ..core.catalog import part_content
from ..errors import BadKnob, EmberpoolError
from ..faults.fault import class_mtbf
from ..hardware.device import expanders, nodes, readers
from ..hardware.devices.cxl import link_latency, payload_rate
from ..hardware.devices.dram import Dimms, host_dimms
from ..hardware.devices.expander_dram import dram_controllers, expander_dimms
from ..hardware.devices.gpu_port import port_rate
from ..hardware.devices.pcie import uplink_rate
from ..hardware.devices.pmem import modules_in_words, own_link, read_rate
from ..hardware.hosts import host_channels
from ..hardware.money.prices import electricity
from ..insight.decomposition import BOUND, RELAXED
from ..insight.knobs.effect import device_titles
from ..insight.knobs.stops import CACHE, CAPACITY, LOG, MODULE, RESOLVED_VALUES, SHARDING, THREADS
from ..insight.knobs.strips import four_digits
from ..insight.relaxation import LINK
from ..registry import load_variant
from ..scenario import knobs
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, dense_optimizer, has_like_vectors, projection_dim, values, with_values
from ..schedule.machine import settle, sized_scenario
from ..systems.exchange.replicas import is_planned
from ..systems.kernels.in_force import system_in_force
from ..systems.node_limits import COPIES, slower_end
from ..systems.parts import kind_of
from ..systems.sizing import CHASSIS, DRIVES, EXPANDER, HOST, LINK_LATENCY, NUM_EXPANDERS, SERVER, modules_by_reason, server_dimms
from ..systems.system import LOG_CLAUSES, device_names, machine_around
from ..systems.traffic import hottest_bytes, log_bytes, table_bytes
from ..units import DAY, GB, HOUR, MINUTE, GiB, MiB

RATE_SUFFIX = "_mtbf_hours"
CHANNELS, EXPANDER_CHANNELS = "machine.host_dram_channels", "machine.expander_dram_channels"
CARD, GRADE = "machine.expander", "machine.host_dram"


@dataclass(frozen=True)
class AutomaticValue:
    """The value of an automatic knob.

    setting: a value to which the knob could be set with the same result, or None.
    reason: the reason for the value, as a clause.
    """

    setting: Any
    reason: str


def find_automatic_value(scenario: Scenario, path: str) -> AutomaticValue:
    """Return the value that a knob of a scenario has, or would have, when automatic."""
    automatic_scenario, knob = with_values(scenario, {path: None}), KNOBS[path]
    owners = readers(path)
    if owners and not set(owners) & set(device_names(scenario.system, scenario.machine)):
        return AutomaticValue(None, f"system {scenario.system} uses no {device_titles(owners)}")
    try:
        automatic_value = (
            _fault(automatic_scenario, path) if path.endswith(RATE_SUFFIX) else AUTOMATIC_VALUES[path](automatic_scenario)
        )
    except EmberpoolError as error:
        return AutomaticValue(None, f"none, since {str(error).rstrip('.')}")
    try:
        return AutomaticValue(knobs.check(knob, automatic_value.setting), automatic_value.reason)
    except BadKnob:
        return AutomaticValue(
            None, f"{_value_text(knob, automatic_value.setting)}, which the knob itself cannot be given: {automatic_value.reason}"
        )


def automatic_caption(scenario: Scenario, path: str) -> str:
    """Return a line with an automatic knob's value and reason, or "".

    For the knob of PMEM capacity the line names the modules, also where it is set.
    """
    knob, setting = KNOBS[path], values(scenario)[path]
    if setting is not None:
        text = modules_text(scenario) if path == CAPACITY else ""
        return f"{text}." if text else ""
    automatic_value = find_automatic_value(scenario, path)
    if automatic_value.setting is None:
        return f"auto: {automatic_value.reason}."
    text = modules_text(scenario) if path == CAPACITY else _value_text(knob, automatic_value.setting)
    return f"auto: {text}; {automatic_value.reason}."


def modules_text(scenario: Scenario) -> str:
    """Return a text on the PMEM modules of a node; "" without PMEM.

    It has their number, capacity, bandwidth and idle power.
    """
    if "pmem" not in device_names(scenario.system, scenario.machine):
        return ""
    settled, requested_GB = sized_scenario(scenario).machine, scenario.machine.pmem_capacity_GB
    capacity, watts = settled.pmem_capacity_GB or 0.0, load_variant("devices", "pmem").build(settled).idle_watts
    rounded = f"{figures.exact(requested_GB)} GB rounded up to " if requested_GB not in (None, capacity) else ""
    node_clause = f" in each of {figures.count(nodes(settled), 'node')}" if nodes(settled) > 1 else ""
    rate = f"{figures.figure(read_rate(settled) / GB, 'GB/s')} read, {figures.figure(watts, 'W')} idle"
    return f"{rounded}{modules_in_words(settled)} = {figures.exact(capacity)} GB{node_clause}, {rate}"


def _value_text(knob: knobs.Knob, setting: Any) -> str:
    number = isinstance(setting, int | float) and not isinstance(setting, bool)
    return f"{four_digits(setting)} {knob.unit}".strip() if number else knobs.write(knob, setting)


def _bytes(nbytes: float) -> str:
    unit, size = next(((unit, size) for unit, size in (("GB", GB), ("MB", 1e6)) if nbytes >= size), ("kB", 1e3))
    return f"{four_digits(nbytes / size)} {unit}"


def _capacity(s: Scenario) -> AutomaticValue:
    settled, system = sized_scenario(s), load_variant("systems", s.system)
    need, count = table_bytes(settled) + log_bytes(settled), modules_by_reason(settled, system)
    tables_clause = f"{_bytes(need)} of tables and logs take {_module_count(count.hold)}"
    if "cxl" in system.devices and own_link(settled.machine):
        return AutomaticValue(
            settled.machine.pmem_capacity_GB, f"{tables_clause}, {'each ' * (count.hold > 1)}with a link of its own"
        )
    lanes_clause = f"the link's lanes can feed {_module_count(count.feed)}, " if count.feed else ""
    return AutomaticValue(
        settled.machine.pmem_capacity_GB, f"{tables_clause}; {lanes_clause}an interleave set has {count.interleave}"
    )


def _module_count(count: int) -> str:
    return figures.count(count, "module")


def _dram(path: str, contents: str, population: Callable[[MachineKnobs, float], Dimms]) -> Callable[[Scenario], AutomaticValue]:
    """Return a function that finds the automatic size of a DRAM that holds `contents`."""

    def automatic_size(s: Scenario) -> AutomaticValue:
        machine = machine_around(s.system, sized_scenario(s).machine, "dram")
        size = getattr(machine, path.partition(".")[2])
        dimms = population(machine, size)
        return AutomaticValue(
            size, f"{dimms.number} × {dimms.gib} GiB, the cheapest like DIMMs in all channels that hold {contents}"
        )

    return automatic_size


def _link_part(s: Scenario) -> str:
    """Return the part that brings the links of the expanders, "" where knobs describe them."""
    memory, m = load_variant("systems", s.system).memory, s.machine
    if memory == "expander-dram" and m.expander:
        return f"card {m.expander}"
    return f"a module of {m.pmem}" if memory == "pmem" and own_link(m) else ""


def _link_rate(s: Scenario) -> AutomaticValue:
    part, m = _link_part(s), s.machine
    reason = f"the link of {part}" if part else f"what {m.cxl_lanes} lanes of generation {m.cxl_generation} carry"
    return AutomaticValue(payload_rate(sized_scenario(s).machine) / GB, reason)


def _link_latency(s: Scenario) -> AutomaticValue:
    part = _link_part(s)
    return AutomaticValue(
        link_latency(sized_scenario(s).machine), f"the link of {part}" if part else "the usual one, without a card"
    )


def _copies(s: Scenario) -> AutomaticValue:
    reason, shared = f"that of a GPU's port, limited by {slower_end(s.machine)}", uplink_rate(sized_scenario(s).machine)
    if shared < port_rate(s.machine):
        reason += f"; GPUs that share an uplink copy at {figures.figure(shared, 'GB/s')} each"
    return AutomaticValue(port_rate(s.machine), reason)


def _num_expanders(s: Scenario) -> AutomaticValue:
    part, count = _link_part(s), expanders(sized_scenario(s).machine)
    if not part:
        return AutomaticValue(count, "the usual one, without a card")
    return AutomaticValue(
        count, "as many cards as hold the tables" if part.startswith("card ") else f"{part} has a link of its own"
    )


def _card_size(s: Scenario) -> AutomaticValue:
    machine = sized_scenario(s).machine
    count, size = expanders(machine), machine.expander_dram_GiB or 0.0
    return AutomaticValue(
        size, f"{count} × {figures.exact(size / count * GiB / GB)} GB of {_link_part(s)}, as many as hold the tables"
    )


def _no_target(s: Scenario) -> AutomaticValue:
    machine: MachineKnobs = s.machine
    return AutomaticValue(None, f"no target, trains on the {machine.num_gpus} GPU{'s' if machine.num_gpus > 1 else ''} given")


def _policy(path: str) -> Callable[[Scenario], AutomaticValue]:
    """Return a function that finds a policy of the system.

    A system without a log has none of the log's policies but relaxed lookup.
    """

    def automatic_policy(s: Scenario) -> AutomaticValue:
        setting = RESOLVED_VALUES[path](s)
        if path == CACHE and setting is None:
            return AutomaticValue(None, f"system {s.system} has no cache of this kind")
        if path in (LOG, BOUND) and not RESOLVED_VALUES[LOG](s):
            return AutomaticValue(None, f"system {s.system} {LOG_CLAUSES['']}")
        return AutomaticValue(setting, f"as system {s.system} has it")

    return automatic_policy


def _sharding(s: Scenario) -> AutomaticValue:
    kind = kind_of(system_in_force(s))
    reason = (
        f"divides the tables of system {s.system} among its {kind.title}s"
        if kind
        else f"system {s.system} shares all work evenly"
    )
    return AutomaticValue(RESOLVED_VALUES[SHARDING](s), f"{reason}, where policy.plan gives no other" if kind else reason)


def _period(s: Scenario) -> AutomaticValue:
    protection = load_variant("protections", s.policy.protection)
    if not protection.periodic:
        return AutomaticValue(None, f"protection {s.policy.protection} has no period")
    hazards, seconds = fault_stream.hazards_of(s), s.faults.campaign_days * DAY
    terms, site = campaign_terms(s, s.policy.protection, hazards, seconds=seconds)
    mean = copy_mtbf(protection, hazards)
    reason = (
        f"least loss where a fault needs a copy every {four_digits(mean / HOUR)} h; {period_note(terms, site, hazards, seconds)}"
        if mean
        else "customary, since no fault at random needs a copy"
    )
    return AutomaticValue(protection.interval(terms.plan) * terms.plan.step / MINUTE, reason.rstrip("; ."))


def _fault(s: Scenario, path: str) -> AutomaticValue:
    name = path.removeprefix("faults.").removesuffix(RATE_SUFFIX).replace("_", "-")
    mean = class_mtbf(s, name)
    if mean is None:
        return AutomaticValue(
            None, "never, unless at listed times" if s.faults.rates == "none" else f"{s.faults.rates} has no rate of it"
        )
    return AutomaticValue(mean / HOUR, f"published rate {s.faults.rates}")


def _replicated(s: Scenario) -> AutomaticValue:
    if not system_in_force(s).can_replicate:
        return AutomaticValue(
            None, f"system {s.system} replicates no rows{', with kernels by table' * bool(system_in_force(s).groups)}"
        )
    if s.machine.num_gpus == 1:
        return AutomaticValue(None, "one GPU needs no copies")
    if not is_planned(s):
        return AutomaticValue(0.0, "tables are not sharded by the planner, which automatic copies need")
    rows = settle(s).placement.replicas.rows
    if not rows:
        return AutomaticValue(0.0, "copies would save less than they cost")
    # Half a row more, so that rounding loses no row.
    return AutomaticValue(
        hottest_bytes(s, rows + 0.5) / MiB, f"{figures.count(rows, 'row')} on every GPU, with which a step is shortest"
    )


def _projection(s: Scenario) -> AutomaticValue:
    if s.model.interaction != "dot":
        return AutomaticValue(None, f"interaction {s.model.interaction} takes vectors of any width")
    return AutomaticValue(
        projection_dim(s.model), "that of all tables" if has_like_vectors(s.model) else "that of the widest table"
    )


def _dense_optimizer(s: Scenario) -> AutomaticValue:
    has_several = isinstance(s.model.optimizer, tuple)
    return AutomaticValue(dense_optimizer(s.model), "that of the first table" if has_several else "that of the tables")


AUTOMATIC_VALUES: Mapping[str, Callable[[Scenario], AutomaticValue]] = {
    CAPACITY: _capacity,
    MODULE: lambda s: AutomaticValue(RESOLVED_VALUES[MODULE](s), f"a module of {s.machine.pmem}"),
    LINK: _link_rate,
    HOST: _dram(HOST, "what the system keeps there, and twice the GPUs' memory", host_dimms),
    EXPANDER: lambda s: _card_size(s) if s.machine.expander else _dram(EXPANDER, "the tables", expander_dimms)(s),
    SERVER: _dram(SERVER, "a server's share of the tables", server_dimms),
    CHANNELS: lambda s: AutomaticValue(host_channels(s.machine), f"the channels of host {s.machine.host}"),
    EXPANDER_CHANNELS: lambda s: AutomaticValue(
        dram_controllers(sized_scenario(s).machine), f"those of {_link_part(s) or 'an expander of six channels, without a card'}"
    ),
    NUM_EXPANDERS: _num_expanders,
    LINK_LATENCY: _link_latency,
    COPIES: _copies,
    GRADE: lambda s: AutomaticValue(str(part_content("host", s.machine.host)["dram"]), f"that of host {s.machine.host}"),
    CARD: lambda s: AutomaticValue(None, "no card; link and channels are as their knobs say"),
    CHASSIS: lambda s: AutomaticValue(
        sized_scenario(s).machine.chassis, "the smallest of two sockets with places, or boards, for a node's GPUs"
    ),
    DRIVES: lambda s: AutomaticValue(sized_scenario(s).machine.num_ssds, "as many as hold what the system keeps on drives"),
    THREADS: lambda s: AutomaticValue(RESOLVED_VALUES[THREADS](s), f"the physical cores of host {s.machine.host}"),
    "machine.target_throughput": _no_target,
    "machine.electricity_USD_per_kWh": lambda s: AutomaticValue(electricity(s.machine).value, electricity(s.machine).source),
    **{path: _policy(path) for path in (LOG, BOUND, RELAXED, CACHE)},
    SHARDING: _sharding,
    "policy.replicated_rows": _replicated,
    "policy.checkpoint_minutes": _period,
    "run.passes": lambda s: AutomaticValue(None, f"the run is counted in batches, {figures.count(s.run.batches)}"),
    "model.projection_dim": _projection,
    "model.dense_optimizer": _dense_optimizer,
    "data.history_cap": lambda s: AutomaticValue(None, "histories of any length are kept whole"),
    "run.target_samples": lambda s: AutomaticValue(None, "no target is stated, so there is no time to target"),
    "run.evaluation_samples": lambda s: AutomaticValue(None, "no evaluation counts in the time to target"),
    "model.cross_rank": lambda s: AutomaticValue(None, "each cross layer has a full matrix"),
    "model.embedding_learning_rate": lambda s: AutomaticValue(s.model.learning_rate, "the learning rate of the MLPs"),
}
