"""Capacity check: chooses memory sizes that are automatic, and says what does not fit its machine, with remedies."""

from math import ceil

from ..core import figures
from ..errors import BadKnob
from ..hardware.device import expanders, gpus_in_node, nodes
from ..hardware.devices.chassis import MOST_PLACES, places
from ..hardware.devices.expander_dram import card, dram_controllers
from ..hardware.devices.gpu import memory_bytes, no_unit
from ..hardware.devices.pmem import module_bytes, modules, modules_for, own_link
from ..hardware.devices.ssd import drive_bytes
from ..hardware.hosts import no_unit as no_host_unit
from ..scenario.knobs import write
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, with_checked
from ..units import GB, GiB
from ..workload.caching.expected_cache import expected_unique
from .balance import table_placement
from .kernels.in_force import refuse_kernels, system_in_force
from .parts import EVEN, Kind, kind_of, memories
from .sharding import filled
from .sizing import CAPACITY, EXPANDER, HOST, MOST_GB, SERVER, sizes_of
from .steps.stashing import alike_shares, most_bytes, room_for_tables, stashed_bytes
from .system import Settled, Sizes, System, log_policy, medium_cache
from .table_placement import Balance, TablePlacement, skew
from .traffic import hottest_bytes, log_bytes, mlp_bytes, num_rows, table_bytes


def fit(scenario: Scenario) -> Settled:
    """Return a scenario settled on its own nodes; raises BadKnob for an impossible policy."""
    system = system_in_force(scenario)
    return with_sizes(scenario, system, *place_and_size(scenario, system))


def with_sizes(scenario: Scenario, system: System, placement: TablePlacement, sizes: Sizes) -> Settled:
    """Return a scenario settled by a placement and sizes; raises BadKnob for an impossible policy."""
    s = with_checked(scenario, sizes.knobs) if sizes.knobs else scenario
    refuse_kernels(s, system)
    _refuse_stashing(s, system)
    return Settled(s, system, log_policy(s, system), placement, medium_cache(s, system), sizes)


def _refuse_stashing(s: Scenario, system: System) -> None:
    """Raise BadKnob where a system is asked to stash that does not hold all tables in HBM."""
    if s.policy.stashing == "off" or system.stashes:
        return
    kernels = " with kernels by table" if system.groups else ""
    raise BadKnob(
        f"policy.stashing={s.policy.stashing} is not possible: system={s.system}{kernels} does not hold all tables in HBM; "
        "set policy.stashing=off, or choose system=all-hbm."
    )


def place_and_size(scenario: Scenario, system: System) -> tuple[TablePlacement, Sizes]:
    """Choose all sizes that are automatic and place tables, then check every memory of the system."""
    knobs = sizes_of(scenario, system)
    s = with_checked(scenario, knobs) if knobs else scenario
    placement, refusal = _place(s, system)
    checks = CHECKS | ({"pmem": _largest} if scenario.machine.pmem_capacity_GB is None else {})
    problems = [_one_gpu(s, system), _linked(s), refusal]
    for place, need in _needs(s, system).items():
        have, sentence = checks[place](s, need)
        problems += [sentence] if need > have else []
    problems += [_replicas(s, system, placement), _stash(s) if system.stashes else ""]
    problems += [_cache(s) if system.memory == "ssd" else "", _gpu(s, system), _window(s, system)]
    problems += [_expanders(s, system.memory)] if "cxl" in system.devices else []
    gpu_bytes = _gpu_bytes(s, system, placement.balance) + hottest_bytes(s, placement.replicas.rows)
    return placement, Sizes(knobs, gpu_bytes, tuple(filter(None, problems)))


def _place(s: Scenario, system: System) -> tuple[TablePlacement, str]:
    """Place tables by the plan in force; return a refusal too, "" where the plan is possible."""
    kind, plan, sharding = kind_of(system), s.policy.plan, s.policy.sharding
    given = f"policy.plan={plan[:40]}" if plan else f"policy.sharding={sharding}"
    try:
        placement = table_placement(s, system)
    except BadKnob as error:
        if not plan:
            raise
        return TablePlacement(), str(error)
    if kind is None:
        even = not plan and sharding in (None, EVEN)
        then = "nothing" if plan else "auto"
        return placement, "" if even else f"{given} is not possible: system={s.system} shares its work evenly; set it to {then}."
    return placement, _overfull(s, system, kind, placement.balance, given) if placement.balance else ""


def _overfull(s: Scenario, system: System, kind: Kind, balance: Balance, given: str) -> str:
    """Return which part has more than its memory holds, if the whole would fit when shared evenly."""
    for place, need, have, size in memories(s, system):
        held = balance.kept[place] if balance.kept else balance.held * need / table_bytes(s)
        full = filled(held, size)
        worst = int(full.argmax())
        if full[worst] > have >= need / len(full):
            who = f"{kind.title} {worst}" if size == 1 else f"node {worst}"
            other = "give it fewer tables" if s.policy.plan else "choose policy.sharding=planner or row-wise"
            more = kind.more or (HOST if place == "dram" else EXPANDER if place == "expander-dram" else CAPACITY)
            asks = given if s.policy.plan or s.policy.sharding else "policy.sharding=auto"
            return (
                f"{asks} puts {_gb(full[worst])} on {who}, whose {place} has {_gb(have)} left for tables; "
                f"{other}, or raise {more}."
            )
    return ""


def whole_modules(machine: MachineKnobs, nbytes: float) -> float:
    """Return the bytes of the whole PMEM modules that hold so many."""
    return modules_for(machine, nbytes) * module_bytes(machine)


def _needs(s: Scenario, system: System) -> dict[str, float]:
    """Return the bytes that must fit each memory beside the GPUs' own; a memory without a check always fits."""
    logs = log_bytes(s) if system.memory in ("pmem", "ssd") and not system.places else 0.0
    return {place: need + logs for place, need in system.held(s).items() if place in CHECKS}


def _gpu_bytes(s: Scenario, system: System, balance: Balance | None) -> float:
    """Return the bytes that the fullest GPU holds between batches: tables or cache with maps, MLPs, a copy."""
    return _fullest_tables(s, system, balance) + 2 * mlp_bytes(s) if "gpu" in system.devices else 0.0


def _fullest_tables(s: Scenario, system: System, balance: Balance | None) -> float:
    """Return the bytes of tables or cache that the fullest GPU holds."""
    uneven = balance if system.shards in ("gpus", "tiers", "kernels") else None
    return (skew(uneven.kept.get("hbm", uneven.held)) if uneven else 1.0) * _even_tables(s, system)


def _even_tables(s: Scenario, system: System) -> float:
    """Return the bytes of an even share of tables or cache in HBM."""
    return system.held(s).get("hbm", 0.0) / s.machine.num_gpus


def _replicas(s: Scenario, system: System, placement: TablePlacement) -> str:
    """Return a refusal if replicated rows do not fit beside the tables of the fullest GPU, else ""."""
    taken = 2 * mlp_bytes(s) + most_bytes(s, _fullest_tables(s, system, placement.balance))
    free = max(memory_bytes(s.machine) - taken, 0.0)
    if s.policy.replicated_rows is None or hottest_bytes(s, placement.replicas.rows) <= free:
        return ""
    setting = write(KNOBS["policy.replicated_rows"], s.policy.replicated_rows)  # as links have it; pages add the unit
    return (
        f"policy.replicated_rows={setting} does not fit the {_gib(free)} that the fullest GPU has left; "
        "lower it, or set it to auto."
    )


def _one_gpu(s: Scenario, system: System) -> str:
    if system.scales or (s.machine.num_gpus == 1 and s.machine.target_throughput is None):
        return ""
    if s.machine.num_gpus == 1:
        return f"machine.target_throughput is not possible: system={s.system} trains on one GPU; set it to auto."
    return f"machine.num_gpus={s.machine.num_gpus} is not possible: system={s.system} trains on one GPU; set it to 1."


def _linked(s: Scenario) -> str:
    if not (s.data.sample_correlation and s.data.locality):
        return ""
    return (
        f"data.sample_correlation={s.data.sample_correlation:g} is not possible with data.locality={s.data.locality:g}; "
        "set one of them to 0."
    )


def _size(s: Scenario, path: str) -> float:
    """Return a size of the machine, 0 where it is automatic and not chosen yet."""
    return getattr(s.machine, path.partition(".")[2]) or 0.0


def _gib(nbytes: float) -> str:
    return figures.figure(nbytes / GiB, "GiB")


def _gb(nbytes: float) -> str:
    return figures.figure(nbytes / GB, "GB")


def _raise(path: str, number: int, then: str) -> str:
    """Return the remedy of a larger value, if the knob can take it."""
    return f"raise it to {number}{then}" if number <= (KNOBS[path].high or 0) else ""


# What each memory has room for, in bytes, and what to say if that is less than the need.


def _pmem(s: Scenario, need: float) -> tuple[float, str]:
    have, enough = (s.machine.pmem_capacity_GB or 0.0) * GB, whole_modules(s.machine, need / nodes(s.machine))
    return have * nodes(s.machine) * (1 + 1e-9), (
        f"machine.pmem_capacity_GB={have / GB:g} cannot hold {_gb(table_bytes(s))} of embedding tables and "
        f"{_gb(log_bytes(s))} of logs; {_raise('machine.pmem_capacity_GB', ceil(enough / GB), ', set it to auto, or ')}"
        "lower model.num_embeddings."
    )


def _largest(s: Scenario, need: float) -> tuple[float, str]:
    return MOST_GB * GB * nodes(s.machine), (
        f"machine.pmem_capacity_GB=auto goes up to {figures.exact(MOST_GB)}, but embedding tables and logs need {_gb(need)}; "
        "lower model.num_embeddings, model.num_tables or model.embedding_dim."
    )


def _dram(s: Scenario, need: float) -> tuple[float, str]:
    return _gib_of(s, need, HOST, nodes(s.machine))


def _expander(s: Scenario, need: float) -> tuple[float, str]:
    own = card(s.machine)
    if own is None:
        return _gib_of(s, need, EXPANDER, 1)
    count, each = expanders(s.machine), own.capacity.value * GB
    more = (
        _raise("machine.num_expanders", ceil(need / each - 1e-9), ", ") and f"set {EXPANDER} and machine.num_expanders to auto, "
    )
    return _size(s, EXPANDER) * GiB * (1 + 1e-9), (
        f"{figures.count(count)} {s.machine.expander} of {_gb(each)} cannot hold {_gb(need)} of embedding tables; {more}"
        "choose a larger "
        "machine.expander, or lower model.num_embeddings."
    )


def _stash(s: Scenario) -> str:
    """Return a refusal if host DRAM cannot hold a stash, or if tables leave unlike shares of themselves to the host, else ""."""
    need, have = stashed_bytes(s), _size(s, HOST) * GiB * nodes(s.machine)
    if need and not alike_shares(s):
        return (
            f"policy.stashing={s.policy.stashing} is not possible: tables of unlike rows would stash unlike shares of "
            "themselves; set it to both or off."
        )
    told = f"{HOST}={figures.exact(_size(s, HOST))} cannot hold a stash of {_gib(need)}; raise it, or set policy.stashing=off."
    return told if need > have else ""


def _gib_of(s: Scenario, need: float, path: str, hosts: int) -> tuple[float, str]:
    where, have = f" on each of {hosts} nodes" if hosts > 1 else "", _size(s, path)
    remedy = _raise(path, ceil(need / GiB / hosts), ", ")
    return have * GiB * hosts, (
        f"{path}={have:g}{where} cannot hold {_gib(need)} of embedding tables; "
        f"{remedy}lower model.num_embeddings, or choose system=cxl."
    )


def _ssd(s: Scenario, need: float) -> tuple[float, str]:
    drive, count = drive_bytes(s.machine) * nodes(s.machine), s.machine.num_ssds or 1
    return drive * count, (
        f"machine.num_ssds={count} of {s.machine.ssd} hold {_gib(drive * count)}, but tables and "
        f"logs need {_gib(need)}; {_raise('machine.num_ssds', ceil(need / drive), ' or ')}lower model.num_embeddings."
    )


def _servers(s: Scenario, need: float) -> tuple[float, str]:
    servers, each = s.machine.embedding_servers, _size(s, SERVER)
    return servers * each * GiB, (
        f"machine.embedding_servers={servers} of {figures.exact(each)} GiB cannot hold {_gib(need)} of embedding tables; "
        f"{_raise('machine.embedding_servers', ceil(need / each / GiB), ' or ')}lower model.num_embeddings."
    )


CHECKS = {"pmem": _pmem, "dram": _dram, "expander-dram": _expander, "ssd": _ssd, "servers": _servers}


def _cache(s: Scenario) -> str:
    need, have = s.policy.cache_load_factor * table_bytes(s), _size(s, HOST) * GiB * nodes(s.machine)
    if need <= have:
        return ""
    most = 0.995 * have / table_bytes(s)  # so that it still fits when written with three digits
    return (
        f"policy.cache_load_factor={s.policy.cache_load_factor:g} needs {_gib(need)} of DRAM, but {HOST}="
        f"{figures.exact(_size(s, HOST))}; lower the factor to {most:.3g} or raise the DRAM."
    )


def _expanders(s: Scenario, memory: str) -> str:
    """Each expander needs memory behind it: a PMEM module, or a DRAM channel."""
    asked, machine = expanders(s.machine), s.machine
    dram = memory == "expander-dram"
    have, what = (dram_controllers(machine), "DRAM channels") if dram else (modules(machine), "PMEM modules")
    if asked <= have:
        return _too_few(s, dram, have)
    more = ceil(asked * module_bytes(machine) / GB)
    path, number = ("machine.expander_dram_channels", asked) if dram else ("machine.pmem_capacity_GB", more)
    remedy = f", or raise {path} to {number}" if number <= (KNOBS[path].high or 0) else ""
    return f"machine.num_expanders={asked} needs as many {what}, but there are {have}; lower it to {have}{remedy}."


def _too_few(s: Scenario, dram: bool, have: int) -> str:
    """Refuse DRAM beyond what the cards have, and modules with links of their own beyond the most links."""
    machine, links, most = s.machine, expanders(s.machine), int(KNOBS["machine.num_expanders"].high or 1)
    if dram and (own := card(machine)):
        room, size = links * own.capacity.value * GB / GiB, _size(s, EXPANDER)
        more = _raise("machine.num_expanders", ceil(size / room * links - 1e-9), ", ")
        said = f"{EXPANDER}={size:g} is more than the {figures.figure(room, 'GiB')} of {links} {machine.expander}; "
        said += f"{more}or set either to auto."
        return said if size > room * (1 + 1e-9) else ""
    if dram or links < most or have <= links or not own_link(machine):
        return ""
    return (
        f"machine.num_expanders={links} links do not reach {figures.count(have, 'module')} of {machine.pmem}, "
        "each with a link of its own; "
        "raise machine.pmem_module_GB, choose another medium, or lower model.num_embeddings."
    )


def _window(s: Scenario, system: System) -> str:
    """Do the rows of batches that must be in the cache together fit?"""
    batches = system.cache.window(s) if system.cache else 0
    if not system.cache or not batches:
        return ""
    need, have = expected_unique(s, batches), system.cache.rows(s)
    return too_small(s, have, need, f"{batches} batch{'es' if batches > 1 else ''} together use") if need > have else ""


def _gpu(s: Scenario, system: System) -> str:
    if "gpu" not in system.devices:
        return no_host_unit(s.machine)  # the layers are the host's
    if refusal := no_unit(s.machine) or _crowded(s):
        return refusal
    tables = _even_tables(s, system)
    need, have = 2 * mlp_bytes(s) + most_bytes(s, tables), memory_bytes(s.machine)
    if need <= have:
        return ""
    held = system.held(s).get("hbm", 0.0)
    if not held:
        return (
            f"machine.gpu={s.machine.gpu} has {_gib(have)}, but MLPs, gradients and activations need {_gib(need)}; "
            "lower data.batch_size or the MLP widths, or choose a larger GPU."
        )
    room = room_for_tables(s, have - 2 * mlp_bytes(s))
    less = "lower policy.cache_load_factor" if system.cache else "lower policy.hot_rows_MiB" if system.hot else "use a cache"
    if system.stashes and s.policy.stashing != "both" and room_for_tables(_all_stashed(s), have - 2 * mlp_bytes(s)) >= tables:
        less = "stash with policy.stashing=both, use a cache"
    enough = f"raise machine.num_gpus to {ceil(held / room)}, " if room > 0 and system.scales and not system.hot else ""
    return (
        f"machine.num_gpus={s.machine.num_gpus} of {s.machine.gpu} hold {_gib(have)} each, but tables or cache, MLPs and "
        f"activations need {_gib(need)}; {enough}{less}, or choose a larger GPU."
    )


def _all_stashed(s: Scenario) -> Scenario:
    return with_checked(s, {"policy.stashing": "both"})


def _crowded(s: Scenario) -> str:
    """Refuse more GPUs in a node than its chassis has places for; of the largest there can be several."""
    gpus, room = gpus_in_node(s.machine), places(s.machine)
    if gpus <= room or room >= MOST_PLACES:
        return ""
    return (
        f"machine.chassis={s.machine.chassis} has places for {room} GPU{'s' * (room > 1)}, but a node has {gpus}; "
        f"set it to auto, or lower machine.gpus_per_node to {room}."
    )


def too_small(s: Scenario, capacity: float, unique: float, who: str) -> str:
    """Return the refusal of a cache that cannot hold the rows it must."""
    share = s.policy.cache_load_factor / max(capacity, 1) if capacity else 1 / num_rows(s)
    remedy = f"raise it to {min(1.0, 1.01 * unique * share):.3g}"
    fewer = "lower policy.prefetch_batches, " if s.policy.prefetch_batches > 1 else ""
    return (
        f"policy.cache_load_factor={s.policy.cache_load_factor:g} keeps {figures.count(int(capacity), 'row')}, but {who} "
        f"{figures.count(int(unique))} "
        f"different ones, which must be in the cache together; {remedy}, {fewer}or lower data.batch_size."
    )
