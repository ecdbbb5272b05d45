"""Changes of knobs that represent TorchRec's tables and topology.

Sentences name the parts that no knob can represent.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.figures import count, exact, figure
from ..errors import BadInput, BadKnob
from ..hardware.devices.gpu import ACCELERATORS
from ..scenario.scenario import KNOBS, Scenario, clear_contradictions, fit_bottom_mlp, is_sequential, stale_lists, with_values
from ..units import GB, GiB
from .embedding_tables import TorchRecTable
from .kernels import KERNELS_BY_SYSTEM, system_names
from .pooling_factors import PoolingFactors, whole_lookups
from .topology import RANK_BATCH, TorchRecTopology

SHAPE = tuple(
    f"model.{name}" for name in ("num_tables", "num_embeddings", "embedding_dim", "row_precision", "pooling", "features")
)
INTERACTION, PROJECTION, OPTIMIZER = "model.interaction", "model.projection_dim", "model.optimizer"
REPLICAS = "policy.replicated_rows"
GPUS, NODE, BATCH = "machine.num_gpus", "machine.gpus_per_node", "data.batch_size"
DEFAULT_GPUS, DEFAULT_SYSTEM = 8, "all-hbm"
# Fields of a topology without a knob, and what is timed in their place.
WITHOUT_KNOB = {
    "hbm_mem_bw": "HBM bandwidth",
    "ddr_mem_bw": "DRAM bandwidth",
    "ssd_mem_bw": "drive bandwidth",
    "intra_host_bw": "bandwidth within a node",
    "pod_size": "size of a pod",
    "bwd_compute_multiplier": "factor of the backward lookup",
}


class KnobChanges(NamedTuple):
    """Changes of knobs by dotted path, and sentences on the choices made."""

    changes: Mapping[str, Any]
    sentences: tuple[str, ...] = ()


class ScenarioChoice(NamedTuple):
    """A scenario with TorchRec's tables on TorchRec's machine, and sentences on the choices made."""

    scenario: Scenario
    sentences: tuple[str, ...]


def torchrec_scenario(
    start: Scenario,
    tables: Sequence[TorchRecTable],
    pooling: PoolingFactors,
    topology: TorchRecTopology | None,
    settings: Mapping[str, Any],
    as_started: bool = False,
) -> ScenarioChoice:
    """Change a scenario to TorchRec's tables and topology, then to settings; raises BadKnob.

    System, GPUs and batch become TorchRec's defaults where no text sets them; with `as_started` those of `start` stay.
    """
    if strange := next((path for path in SHAPE if path in settings), ""):
        raise BadKnob(f"{strange} follows from the tables and cannot be set; change the tables or the pooling factors.")
    if is_sequential(start.model):
        raise BadKnob(
            f"model.name={start.model.name} has tables of sequences, whose vectors are not pooled, but TorchRec plans "
            "tables of bags; set model.feature_kind=bag and model.interaction=concat, or choose another model."
        )
    parts = [
        KnobChanges({}) if as_started else _default_changes(topology, settings),
        _model_changes(start, tables, pooling, settings),
        _machine_changes(start, topology) if topology else KnobChanges({}),
    ]
    changes: dict[str, Any] = {REPLICAS: 0.0}  # TorchRec has no copies of single rows
    changes |= {path: setting for part in parts for path, setting in part.changes.items()}
    mended_settings, mending_sentence = fit_bottom_mlp(start, {**changes, **settings})
    mended_settings, rival_sentence = clear_contradictions(start, mended_settings)
    scenario = with_values(start, mended_settings)
    if scenario.system not in KERNELS_BY_SYSTEM:
        raise BadKnob(f"system={scenario.system} has no plan that TorchRec can run; choose {system_names()}.")
    return ScenarioChoice(
        scenario,
        (*(sentence for part in parts for sentence in part.sentences), *filter(None, [mending_sentence, rival_sentence])),
    )


def _default_changes(topology: TorchRecTopology | None, settings: Mapping[str, Any]) -> KnobChanges:
    """Return TorchRec's default system, GPUs and batch where neither topology nor settings give them."""
    changes: dict[str, Any] = {"system": DEFAULT_SYSTEM}
    sentences = []
    gpus = settings.get(GPUS) or (topology.world_size if topology else DEFAULT_GPUS)
    if not topology and GPUS not in settings:
        changes |= {GPUS: DEFAULT_GPUS}
        sentences.append(f"No topology is given, so {count(DEFAULT_GPUS)} GPUs of one node are assumed, unless {GPUS} is set.")
    if BATCH not in settings and not (topology and topology.batch_size):
        changes |= {BATCH: RANK_BATCH * gpus}
        sentences.append(f"No batch size is given, so {count(RANK_BATCH)} samples per GPU are assumed, the planner's default.")
    return KnobChanges(changes, tuple(sentences))


def table_changes(tables: Sequence[TorchRecTable], pooling: PoolingFactors) -> dict[str, Any]:
    """Return the knobs, by dotted path, of TorchRec's tables and their pooling factors."""
    return {
        "model.num_tables": len(tables),
        "model.num_embeddings": _list_setting([table.rows for table in tables]),
        "model.embedding_dim": _scalar_or_list([table.dim for table in tables]),
        "model.row_precision": _scalar_or_list([table.precision for table in tables]),
        "model.pooling": _list_setting([whole_lookups(factors) for factors in pooling]),
        "model.features": _scalar_or_list([len(table.features) for table in tables]),
    }


def _model_changes(
    start: Scenario, tables: Sequence[TorchRecTable], pooling: PoolingFactors, settings: Mapping[str, Any]
) -> KnobChanges:
    """Return the tables as knobs; vectors of different widths are concatenated, which needs no projection."""
    num_tables, sentences, changes = len(tables), [], table_changes(tables, pooling)
    dims = changes["model.embedding_dim"]
    if start.model.projection_dim and PROJECTION not in settings:
        changes[PROJECTION] = None
    if isinstance(start.model.optimizer, tuple) and OPTIMIZER not in settings:
        changes[OPTIMIZER] = start.model.optimizer[0]
    if isinstance(dims, tuple) and start.model.interaction == "dot" and INTERACTION not in settings:
        changes[INTERACTION] = "concat"
        sentences.append("Tables have different widths, so their vectors are concatenated, which needs no projection.")
    elif not isinstance(dims, tuple) and INTERACTION not in settings:
        sentences.append(f"All tables have {count(dims, 'column')}: MLPs and interaction are as in {start.model.name}.")
    stale = stale_lists(start, num_tables)
    changes |= {path: default for path, default in stale.items() if path not in settings}
    if stale:
        sentences.append(f"Lists of the base scenario for other tables are left out: {', '.join(stale)}.")
    return KnobChanges(changes, tuple(sentences))


def _list_setting(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(numbers) if len(set(numbers)) > 1 else (numbers[0],)


def _scalar_or_list(settings: Sequence[Any]) -> Any:
    return tuple(settings) if len(set(settings)) > 1 else settings[0]


def _machine_changes(start: Scenario, topology: TorchRecTopology) -> KnobChanges:
    """Return a topology's counterparts among the machine's knobs; DRAM of a rank is a share of its host's."""
    local, sentences = topology.local_world_size, []
    changes: dict[str, Any] = {GPUS: topology.world_size, NODE: local}
    if topology.hbm_cap:
        gpu = _nearest_gpu(start.machine.gpu, topology.hbm_cap)
        changes["machine.gpu"] = gpu
        memory = exact(ACCELERATORS[gpu].memory.value, "GB")
        sentences.append(
            f"hbm_cap of {figure(topology.hbm_cap / GiB, 'GiB')} is taken as {gpu}, of {memory}, unless machine.gpu is set."
        )
    if topology.ddr_cap:
        changes["machine.host_dram_GiB"] = topology.ddr_cap * local / GiB
        sentences.append(f"ddr_cap is of one rank: a host has {count(local)} times as much DRAM.")
    if "inter_host_bw" in topology.stated_fields:
        changes["machine.network_bandwidth_GBps"] = topology.inter_host_bw * 1000 / GB
    if "hbm_to_ddr_mem_bw" in topology.stated_fields:
        changes["machine.pcie_bandwidth_GBps"] = topology.hbm_to_ddr_mem_bw * 1000 / GB
    if topology.batch_size:
        changes[BATCH] = topology.batch_size * topology.world_size
    for path, setting in changes.items():
        low, high = KNOBS[path].low, KNOBS[path].high
        if low is not None and high is not None and not low <= setting <= high:
            raise BadInput(
                f"Topology: {path} would be {exact(setting)}, but the range is {exact(low)} to {exact(high)}; change the value."
            )
    if unread := [f"{meaning} ({name})" for name, meaning in WITHOUT_KNOB.items() if name in topology.stated_fields]:
        sentences.append(
            f"No knob stands for {', '.join(unread)}: our step times use the machine's parts instead, the planner's estimate "
            "uses these fields."
        )
    return KnobChanges(changes, tuple(sentences))


def _nearest_gpu(start_gpu: str, nbytes: float) -> str:
    """Return the GPU with the nearest memory size; the start's GPU wins a tie.

    People write 80 GB as 80 * 1024**3 bytes: capacities are compared by that count.
    """
    distances = {name: abs(part.memory.value - nbytes / GiB) for name, part in ACCELERATORS.items()}
    return start_gpu if distances.get(start_gpu) == min(distances.values()) else min(distances, key=distances.__getitem__)
