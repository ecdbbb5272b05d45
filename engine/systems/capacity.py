"""Capacity: choose memory sizes, and find models that do not fit the machine."""

from math import ceil

from ..core import figures
from ..core.memo import is_given
from ..errors import BadKnob
from ..hardware.device import expanders, nodes
from ..hardware.devices.chassis import MOST_PLACES
from ..hardware.devices.expander_dram import card, dram_controllers
from ..hardware.devices.gpu import memory_bytes, no_attention, no_unit
from ..hardware.devices.pmem import module_bytes, modules, modules_for, own_link
from ..hardware.devices.ssd import drive_bytes
from ..hardware.hosts import no_unit as no_host_unit
from ..scenario.knobs import write
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, is_sequential, with_checked_values
from ..units import GB, GiB
from ..workload.caching.unique_rows import expected_unique
from .balance import table_placement
from .exchange.fullest import even_tables, fullest_gpu, fullest_tables, sender_bytes
from .kernels.in_force import refuse_kernels, system_in_force
from .node_limits import crowded_chassis, more_nodes, port_problems
from .parts import EVEN_SHARES, Kind, kind_of, memories
from .sharding import filled
from .sizing import CAPACITY, DEDUPED, EXPANDER, HOST, MOST_GB, SERVER, cache_refusal, sizes_of, without_idle_dedup
from .steps.stashing import alike_shares, peak_bytes, room_for_tables, stashed_bytes
from .steps.wires import wires_of
from .system import Settled, Sizes, System, log_policy, medium_cache
from .table_placement import Balance, TablePlacement
from .traffic import hottest_bytes, log_bytes, mlp_bytes, table_bytes


def fit(scenario: Scenario) -> Settled:
    """Return the scenario with chosen sizes and placed tables; raises BadKnob for impossible policies."""
    system = system_in_force(scenario)
    return with_sizes(scenario, system, *place_and_size(scenario, system))


def with_sizes(scenario: Scenario, system: System, placement: TablePlacement, sizes: Sizes) -> Settled:
    """Return the scenario settled by `placement` and `sizes`; raises BadKnob for impossible policies."""
    s = with_checked_values(scenario, sizes.knobs) if sizes.knobs else scenario
    refuse_kernels(s, system)
    _refuse_stashing(s, system)
    wires = wires_of(s.machine, system.devices)
    return Settled(s, system, log_policy(s, system), placement, medium_cache(s, system), sizes, wires)


def _refuse_stashing(s: Scenario, system: System) -> None:
    """Raise BadKnob for stashing under a system that does not hold all tables in HBM."""
    if s.policy.stashing == "off" or system.can_stash:
        return
    kernels = " with kernels by table" if system.groups else ""
    raise BadKnob(
        f"policy.stashing={s.policy.stashing} is not possible: system={s.system}{kernels} does not hold all tables in HBM; "
        "set policy.stashing=off, or choose system=all-hbm."
    )


def place_and_size(scenario: Scenario, system: System) -> tuple[TablePlacement, Sizes]:
    """Return the placed tables, and the chosen sizes with all problems of fitting."""
    knobs = sizes_of(scenario, system) | without_idle_dedup(scenario, system)
    s = with_checked_values(scenario, knobs) if knobs else scenario
    placement, refusal = _place(s, system)
    checks = CHECKS | ({} if is_given(scenario.machine, "pmem_capacity_GB") else {"pmem": _largest})
    problems = [more_nodes(s, system), _linked(s), *port_problems(s, system), refusal]
    for place, need in _needs(s, system).items():
        problems += [checks[place](s, need)]
    problems += [_replicas(s, system, placement), _stash(s) if system.can_stash else ""]
    problems += [_cache(s) if system.memory == "ssd" else "", _gpu(s, system, placement.balance), _window(s, system)]
    problems += [_expanders(s, system.memory)] if "cxl" in system.devices else []
    gpu_bytes = _gpu_bytes(s, system, placement.balance) + hottest_bytes(s, placement.replicas.rows)
    return placement, Sizes(knobs, gpu_bytes, tuple(filter(None, problems)))


def _place(s: Scenario, system: System) -> tuple[TablePlacement, str]:
    """Return the placed tables, and a refusal of the plan in force or ""."""
    kind, plan, sharding = kind_of(system), s.policy.plan, s.policy.sharding
    plan_setting = f"policy.plan={plan[:40]}" if plan else f"policy.sharding={sharding}"
    try:
        placement = table_placement(s, system)
    except BadKnob as error:
        if not plan:
            raise
        return TablePlacement(), str(error)
    if kind is None:
        is_even = not plan and sharding in (None, EVEN_SHARES)
        remedy = "nothing" if plan else "auto"
        return (
            placement,
            "" if is_even else f"{plan_setting} is not possible: system={s.system} divides all work evenly; set it to {remedy}.",
        )
    return placement, _overfull(s, system, kind, placement.balance, plan_setting) if placement.balance else ""


def _overfull(s: Scenario, system: System, kind: Kind, balance: Balance, plan_setting: str) -> str:
    """Return a sentence about the fullest part if only an even division would fit."""
    for place, need, capacity, size in memories(s, system):
        part_bytes = balance.nbytes_by_memory[place] if balance.nbytes_by_memory else balance.table_bytes * need / table_bytes(s)
        room_bytes = filled(part_bytes, size)
        if room_bytes.max() > capacity >= need / len(room_bytes):
            fullest = int(room_bytes.argmax())
            owner = f"{kind.title} {fullest}" if size == 1 else f"node {fullest}"
            alternative = "give it fewer tables" if s.policy.plan else "choose policy.sharding=planner or row-wise"
            size_knob = kind.room_knob or (HOST if place == "dram" else EXPANDER if place == "expander-dram" else CAPACITY)
            asks = plan_setting if s.policy.plan or s.policy.sharding else "policy.sharding=auto"
            return (
                f"{asks} puts {_gb(room_bytes[fullest])} on {owner}, whose {place} has {_gb(capacity)} left for tables; "
                f"{alternative}, or raise {size_knob}."
            )
    return ""


def whole_modules(machine: MachineKnobs, nbytes: float) -> float:
    """Return the bytes of the whole PMEM modules that hold `nbytes`."""
    return modules_for(machine, nbytes) * module_bytes(machine)


def _needs(s: Scenario, system: System) -> dict[str, float]:
    """Return the bytes that must fit each memory beside the GPUs' own.

    A memory without a check always fits.
    """
    logs = log_bytes(s) if system.memory in ("pmem", "ssd") and not system.places else 0.0
    return {place: need + logs for place, need in system.nbytes_by_memory(s).items() if place in CHECKS}


def _gpu_bytes(s: Scenario, system: System, balance: Balance | None) -> float:
    """Return the bytes of the fullest GPU between batches: tables or cache, MLPs, a copy.

    The cache counts with its maps.
    """
    return fullest_tables(s, system, balance) + 2 * mlp_bytes(s) if "gpu" in system.devices else 0.0


def _replicas(s: Scenario, system: System, placement: TablePlacement) -> str:
    """Return a refusal of replicated rows that do not fit the fullest GPU, else ""."""
    _, tables, vectors = fullest_gpu(s, system, placement.balance)
    reserved = 2 * mlp_bytes(s) + peak_bytes(s, tables) + vectors
    free_bytes = max(memory_bytes(s.machine) - reserved, 0.0)
    if s.policy.replicated_rows is None or hottest_bytes(s, placement.replicas.rows) <= free_bytes:
        return ""
    setting = write(KNOBS["policy.replicated_rows"], s.policy.replicated_rows)  # as in links; pages add the unit
    return (
        f"policy.replicated_rows={setting} does not fit the {_gib(free_bytes)} that the fullest GPU has left; "
        "lower it, or set it to auto."
    )


def _linked(s: Scenario) -> str:
    """Return a refusal of sample correlation together with locality, else ""."""
    if not (s.data.sample_correlation and s.data.locality):
        return ""
    return (
        f"data.sample_correlation={s.data.sample_correlation:g} and data.locality={s.data.locality:g} cannot be combined; "
        "set one of them to 0."
    )


def _size(s: Scenario, path: str) -> float:
    """Return a size of the machine, 0 for an automatic size that is not chosen yet."""
    return getattr(s.machine, path.partition(".")[2]) or 0.0


def _gib(nbytes: float) -> str:
    """Return bytes as text in GiB."""
    return figures.figure(nbytes / GiB, "GiB")


def _gb(nbytes: float) -> str:
    """Return bytes as text in GB."""
    return figures.figure(nbytes / GB, "GB")


def _raise(path: str, number: int, alternative: str) -> str:
    """Return the remedy of a larger value, if the knob's range allows the value."""
    return f"raise it to {number}{alternative}" if number <= (KNOBS[path].high or 0) else ""


# By memory: a function that returns the refusal of a need [bytes] beyond its room, else "".


def _pmem(s: Scenario, need: float) -> str:
    """Return the refusal of tables and logs that do not fit PMEM, else ""."""
    capacity = (s.machine.pmem_capacity_GB or 0.0) * GB
    if need <= capacity * nodes(s.machine) * (1 + 1e-9):
        return ""
    enough_bytes = whole_modules(s.machine, need / nodes(s.machine))
    return (
        f"machine.pmem_capacity_GB={capacity / GB:g} cannot hold {_gb(table_bytes(s))} of embedding tables and "
        f"{_gb(log_bytes(s))} of logs; {_raise('machine.pmem_capacity_GB', ceil(enough_bytes / GB), ', set it to auto, or ')}"
        "lower model.num_embeddings."
    )


def _largest(s: Scenario, need: float) -> str:
    """Return the refusal of tables and logs that do not fit the largest automatic PMEM, else ""."""
    if need <= MOST_GB * GB * nodes(s.machine):
        return ""
    return (
        f"machine.pmem_capacity_GB=auto is limited to {figures.exact(MOST_GB)}, but embedding tables and logs need "
        f"{_gb(need)}; lower model.num_embeddings, model.num_tables or model.embedding_dim."
    )


def _expander(s: Scenario, need: float) -> str:
    """Return the refusal of tables that do not fit the expanders' DRAM, else ""."""
    if not (card_part := card(s.machine)):
        return _dram(s, need, EXPANDER)
    if need <= _size(s, EXPANDER) * GiB * (1 + 1e-9):
        return ""
    count, card_bytes = expanders(s.machine), card_part.capacity.value * GB
    remedy = (
        _raise("machine.num_expanders", ceil(need / card_bytes - 1e-9), ", ")
        and f"set {EXPANDER} and machine.num_expanders to auto, "
    )
    return (
        f"{figures.count(count)} {s.machine.expander} of {_gb(card_bytes)} cannot hold {_gb(need)} of embedding tables; {remedy}"
        "choose a larger "
        "machine.expander, or lower model.num_embeddings."
    )


def _stash(s: Scenario) -> str:
    """Return a refusal of a stash that does not fit, or differs by table, else ""."""
    need, capacity = stashed_bytes(s), _size(s, HOST) * GiB * nodes(s.machine)
    if need and not alike_shares(s):
        return (
            f"policy.stashing={s.policy.stashing} is not possible: tables with different rows would stash different shares "
            "of themselves; set it to both or off."
        )
    if need <= capacity:
        return ""
    return f"{HOST}={figures.exact(_size(s, HOST))} cannot hold a stash of {_gib(need)}; raise it, or set policy.stashing=off."


def _dram(s: Scenario, need: float, path: str = HOST) -> str:
    """Return the refusal of tables beyond the DRAM of all hosts, or beyond another size in GiB, else ""."""
    gibibytes, hosts = _size(s, path), nodes(s.machine) if path == HOST else 1
    node_clause = f" on each of {figures.count(hosts, 'node')}" if hosts > 1 else ""
    if need <= gibibytes * GiB * hosts:
        return ""
    remedy = _raise(path, ceil(need / GiB / hosts), ", ")
    return (
        f"{path}={gibibytes:g}{node_clause} cannot hold {_gib(need)} of embedding tables; "
        f"{remedy}lower model.num_embeddings, or choose system=cxl."
    )


def _ssd(s: Scenario, need: float) -> str:
    """Return the refusal of tables and logs that do not fit the drives, else ""."""
    drive, count = drive_bytes(s.machine) * nodes(s.machine), s.machine.num_ssds or 1
    if need <= drive * count:
        return ""
    return (
        f"machine.num_ssds={count} of {s.machine.ssd} hold {_gib(drive * count)}, but tables and "
        f"logs need {_gib(need)}; {_raise('machine.num_ssds', ceil(need / drive), ' or ')}lower model.num_embeddings."
    )


def _servers(s: Scenario, need: float) -> str:
    """Return the refusal of tables that do not fit the embedding servers, else ""."""
    servers, server_GiB = s.machine.embedding_servers, _size(s, SERVER)
    if need <= servers * server_GiB * GiB:
        return ""
    return (
        f"machine.embedding_servers={servers} of {figures.exact(server_GiB)} GiB cannot hold {_gib(need)} of embedding tables; "
        f"{_raise('machine.embedding_servers', ceil(need / server_GiB / GiB), ' or ')}lower model.num_embeddings."
    )


CHECKS = {"pmem": _pmem, "dram": _dram, "expander-dram": _expander, "ssd": _ssd, "servers": _servers}


def _cache(s: Scenario) -> str:
    """Return a refusal of a row cache that does not fit host DRAM, else ""."""
    need, capacity = s.policy.cache_load_factor * table_bytes(s), _size(s, HOST) * GiB * nodes(s.machine)
    if need <= capacity:
        return ""
    max_factor = 0.995 * capacity / table_bytes(s)  # still fits when rounded to three digits
    return (
        f"policy.cache_load_factor={s.policy.cache_load_factor:g} needs {_gib(need)} of DRAM, but {HOST}="
        f"{figures.exact(_size(s, HOST))}; lower the factor to {max_factor:.3g} or raise the DRAM."
    )


def _expanders(s: Scenario, memory: str) -> str:
    """Return a refusal if an expander has no memory: no PMEM module, or no DRAM channel."""
    num_expanders, machine = expanders(s.machine), s.machine
    dram = memory == "expander-dram"
    available, component = (dram_controllers(machine), "DRAM channels") if dram else (modules(machine), "PMEM modules")
    if num_expanders <= available:
        return _too_few(s, dram, available)
    gigabytes = ceil(num_expanders * module_bytes(machine) / GB)
    path, number = ("machine.expander_dram_channels", num_expanders) if dram else ("machine.pmem_capacity_GB", gigabytes)
    remedy = f", or raise {path} to {number}" if number <= (KNOBS[path].high or 0) else ""
    return (
        f"machine.num_expanders={num_expanders} needs at least as many {component}, but there are {available}; lower it to "
        f"{available}{remedy}."
    )


def _too_few(s: Scenario, dram: bool, available: int) -> str:
    """Return a refusal of too few cards or links, else "".

    Too few are cards that have less DRAM than asked for, and the most links if modules with links of their own need more.
    """
    machine, links, max_links = s.machine, expanders(s.machine), int(KNOBS["machine.num_expanders"].high or 1)
    if dram and (card_part := card(machine)):
        room, size = links * card_part.capacity.value * GB / GiB, _size(s, EXPANDER)
        remedy = _raise("machine.num_expanders", ceil(size / room * links - 1e-9), ", ")
        sentence = f"{EXPANDER}={size:g} is more than the {figures.figure(room, 'GiB')} of {links} {machine.expander}; "
        sentence += f"{remedy}or set either to auto."
        return sentence if size > room * (1 + 1e-9) else ""
    if dram or links < max_links or available <= links or not own_link(machine):
        return ""
    return (
        f"machine.num_expanders={links} is less than the {figures.count(available, 'module')} of {machine.pmem}, each of "
        "which needs its own link; raise machine.pmem_module_GB, choose another medium, or lower model.num_embeddings."
    )


def _window(s: Scenario, system: System) -> str:
    """Return a refusal if rows of batches to be cached together do not fit, else ""."""
    batches = system.cache.window(s) if system.cache else 0
    if not system.cache or not batches:
        return ""
    need, capacity = expected_unique(s, batches), system.cache.rows(s)
    return (
        cache_refusal(s, capacity, need, f"{batches} batch{'es' if batches > 1 else ''} together use") if need > capacity else ""
    )


def _gpu(s: Scenario, system: System, balance: Balance | None) -> str:
    """Return a refusal of a GPU, or of its memory, that does not suffice, else ""."""
    if "gpu" not in system.devices:
        return no_host_unit(s.machine)  # the layers run on the host
    if refusal := no_unit(s.machine) or no_attention(s.machine, is_sequential(s.model)) or crowded_chassis(s, system):
        return refusal
    tables, vectors = even_tables(s, system), float(sender_bytes(s, system, balance).mean())
    need, capacity = 2 * mlp_bytes(s) + peak_bytes(s, tables) + vectors, memory_bytes(s.machine)
    if need <= capacity:
        return _hot_gpu(s, system, balance)
    hbm_bytes = system.nbytes_by_memory(s).get("hbm", 0.0)
    if not hbm_bytes:
        narrower = "or model.hstu_layers, shorten the histories" if is_sequential(s.model) else "or the MLP widths"
        return (
            f"machine.gpu={s.machine.gpu} has {_gib(capacity)}, but MLPs, gradients and activations need {_gib(need)}; "
            f"lower data.batch_size {narrower}, or choose a larger GPU."
        )
    room = room_for_tables(s, free_bytes := capacity - 2 * mlp_bytes(s) - vectors)
    less = "lower policy.cache_load_factor" if system.cache else "lower policy.hot_rows_MiB" if system.hot else "use a cache"
    less = less if room > 0 else "lower data.batch_size"
    can_stash_more = system.can_stash and s.policy.stashing != "both"
    if can_stash_more and room_for_tables(with_checked_values(s, {"policy.stashing": "both"}), free_bytes) >= tables:
        less = "stash with policy.stashing=both, use a cache"
    gpus_needed = ceil(hbm_bytes / room) if room > 0 and not system.hot else 0
    can_add_gpus = gpus_needed and system.can_use_many_gpus and (gpus_needed <= MOST_PLACES or not system.one_node)
    gpu_remedy = f"raise machine.num_gpus to {gpus_needed}, " if can_add_gpus else ""
    hold = f"hold {_gib(capacity)} each" if s.machine.num_gpus > 1 else f"holds {_gib(capacity)}"
    return (
        f"machine.num_gpus={s.machine.num_gpus} of {s.machine.gpu} {hold}, but tables or cache, MLPs and activations need "
        f"{_gib(need)}; {gpu_remedy}{less}, or choose a larger GPU."
    )


def _hot_gpu(s: Scenario, system: System, balance: Balance | None) -> str:
    """Return the refusal of tables and vectors for which only the fullest GPU has no room, else ""."""
    gpu, tables, vectors = fullest_gpu(s, system, balance)
    need = 2 * mlp_bytes(s) + peak_bytes(s, tables) + vectors
    if not vectors or need <= memory_bytes(s.machine):
        return ""
    dedup = "set policy.input_dedup=on, " if system.parts_kind in DEDUPED and not s.policy.input_dedup else ""
    return (
        f"machine.gpu={s.machine.gpu} has {_gib(memory_bytes(s.machine))}, but GPU {gpu} needs {_gib(need)}, with {_gib(tables)} "
        f"of tables and {_gib(vectors)} of vectors for others; {dedup}divide the tables otherwise by "
        f"{'policy.plan' if s.policy.plan else 'policy.sharding'}, or lower data.batch_size."
    )
