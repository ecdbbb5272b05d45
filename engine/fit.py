"""Does the scenario fit its machine? Settles what is automatic, and says what does not fit, with remedies."""

from dataclasses import dataclass
from math import ceil

from engine.devices.gpu import memory_bytes
from engine.devices.pmem import module_bytes, modules
from engine.devices.ssd import DRIVES
from engine.registry import load
from engine.scenario import KNOBS, Scenario, per_table, with_values
from engine.system import System
from engine.traffic import INDEX_BYTES, mlp_bytes, row_bytes
from engine.units import FLOAT32, GB, GiB

EMBEDDING_LOGS, MLP_LOGS = 2, 3
MOST_GIB = 1e6  # of PMEM in one machine, as its knob allows


@dataclass(frozen=True)
class Fit:
    """The settled scenario; `problems` are sentences, empty when everything fits.

    `capacity_is_automatic` tells that PMEM capacity was chosen to hold tables and logs.
    """

    scenario: Scenario
    problems: tuple[str, ...]
    capacity_is_automatic: bool


def table_bytes(s: Scenario) -> float:
    """Return the bytes of all embedding tables with their optimizer state."""
    return float(sum(per_table(s.model, "num_embeddings"))) * row_bytes(s)


def log_bytes(s: Scenario) -> float:
    """Return the bytes of the log region: two batches' rows with their indices, three MLP logs."""
    rows = s.data.batch_size * sum(per_table(s.model, "pooling"))
    rows = min(rows, sum(per_table(s.model, "num_embeddings")))
    return EMBEDDING_LOGS * float(rows) * (row_bytes(s) + INDEX_BYTES) + MLP_LOGS * mlp_bytes(s)


def cached_rows(s: Scenario) -> float:
    """Return how many rows system ssd keeps in host DRAM."""
    return s.policy.cache_load_factor * float(sum(per_table(s.model, "num_embeddings")))


def fit(scenario: Scenario) -> Fit:
    """Choose PMEM modules where the capacity is automatic, then check every memory of the system."""
    system: System = load("systems", scenario.system)
    automatic = scenario.machine.pmem_capacity_GiB is None
    if automatic:
        count = max(1, ceil((table_bytes(scenario) + log_bytes(scenario)) / module_bytes(scenario.machine)))
        capacity = max(1.0, count * module_bytes(scenario.machine) / GiB)
        scenario = with_values(scenario, {"machine.pmem_capacity_GiB": min(capacity, MOST_GIB)})
    checks = {"pmem": _largest if automatic else _pmem, "dram": _dram, "ssd": _ssd}
    check = checks.get(system.memory, lambda _: "")
    problems = [check(scenario), _cache(scenario) if system.memory == "ssd" else "", _gpu(scenario)]
    problems += [_expanders(scenario, system.memory)] if "cxl" in system.devices else []
    return Fit(scenario, tuple(problem for problem in problems if problem), automatic)


def _gib(nbytes: float) -> str:
    return f"{nbytes / GiB:.3g} GiB"


def _raise(path: str, number: int, then: str) -> str:
    """Return the remedy of a larger value, if the knob can take it."""
    return f"raise it to {number}{then}" if number <= (KNOBS[path].high or 0) else ""


def _pmem(s: Scenario) -> str:
    need, have = table_bytes(s) + log_bytes(s), (s.machine.pmem_capacity_GiB or 0.0) * GiB
    if need <= have * (1 + 1e-9):
        return ""
    return (
        f"machine.pmem_capacity_GiB={have / GiB:g} cannot hold {_gib(table_bytes(s))} of embedding tables and "
        f"{_gib(log_bytes(s))} of logs; {_raise('machine.pmem_capacity_GiB', ceil(need / GiB), ', set it to auto, or ')}"
        "lower model.num_embeddings."
    )


def _largest(s: Scenario) -> str:
    need = table_bytes(s) + log_bytes(s)
    if need <= MOST_GIB * GiB:
        return ""
    return (
        f"machine.pmem_capacity_GiB=auto goes up to {MOST_GIB:g}, but embedding tables and logs need {_gib(need)}; "
        "lower model.num_embeddings, model.num_tables or model.embedding_dim."
    )


def _dram(s: Scenario) -> str:
    need, have = table_bytes(s), s.machine.dram_capacity_GiB * GiB
    if need <= have:
        return ""
    return (
        f"machine.dram_capacity_GiB={s.machine.dram_capacity_GiB:g} cannot hold {_gib(need)} of embedding tables; "
        f"{_raise('machine.dram_capacity_GiB', ceil(need / GiB), ', ')}lower model.num_embeddings, or choose system=cxl."
    )


def _ssd(s: Scenario) -> str:
    drive = DRIVES[s.machine.ssd].capacity.value * GB
    need = table_bytes(s) + log_bytes(s)
    if need <= drive * s.machine.num_ssds:
        return ""
    return (
        f"machine.num_ssds={s.machine.num_ssds} of {s.machine.ssd} hold {_gib(drive * s.machine.num_ssds)}, but tables and "
        f"logs need {_gib(need)}; {_raise('machine.num_ssds', ceil(need / drive), ' or ')}lower model.num_embeddings."
    )


def _cache(s: Scenario) -> str:
    need, have = s.policy.cache_load_factor * table_bytes(s), s.machine.dram_capacity_GiB * GiB
    if need <= have:
        return ""
    most = 0.995 * have / table_bytes(s)  # so that it still fits when written with three digits
    return (
        f"policy.cache_load_factor={s.policy.cache_load_factor:g} needs {_gib(need)} of DRAM, but machine.dram_capacity_GiB="
        f"{s.machine.dram_capacity_GiB:g}; lower the factor to {most:.3g} or raise the DRAM."
    )


def _expanders(s: Scenario, memory: str) -> str:
    """Each expander needs memory behind it: a PMEM module, or a DRAM channel."""
    asked, machine = s.machine.num_expanders, s.machine
    have, what = (machine.dram_channels, "DRAM channels") if memory == "dram" else (modules(machine), "PMEM modules")
    if asked <= have:
        return ""
    more = ceil(asked * module_bytes(machine) / GiB)
    path, number = ("machine.dram_channels", asked) if memory == "dram" else ("machine.pmem_capacity_GiB", more)
    remedy = f", or raise {path} to {number}" if number <= (KNOBS[path].high or 0) else ""
    return f"machine.num_expanders={asked} needs as many {what}, but there are {have}; lower it to {have}{remedy}."


def _gpu(s: Scenario) -> str:
    """Parameters, gradients and a shadow copy, and every layer's activations twice, must fit the GPU."""
    model = s.model
    widths = sum(model.bottom_mlp) + sum(model.top_mlp) + 2 * (model.num_tables + 1) * model.embedding_dim
    activations = 2.0 * FLOAT32 * s.data.batch_size * widths
    need, have = 3 * mlp_bytes(s) + activations, memory_bytes(s.machine)
    if need <= have:
        return ""
    return (
        f"machine.gpu={s.machine.gpu} has {_gib(have)}, but MLPs, gradients and activations need {_gib(need)}; "
        "lower data.batch_size or the MLP widths, or choose a larger GPU."
    )
