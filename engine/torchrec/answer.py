"""The answer to tables and a topology of TorchRec's: our plan for them as TorchRec's, priced by us and by its planner.

A page calls `read_request` with what was pasted, then `torchrec_answer`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isnan
from typing import Any, NamedTuple

from ..core.figures import count
from ..errors import BadKnob, CannotRun
from ..estimate import estimate
from ..estimates import step_seconds
from ..results.result import Result
from ..scenario.scenario import Scenario, per_table, with_values
from ..scenario.storage import row_state, stored_bytes
from ..systems.capacity import fit
from ..systems.system import Settled
from ..units import FLOAT32
from .embedding_tables import TorchRecTable, read_tables
from .kernels import DENSE, TableKernel, table_kernels
from .knob_changes import torchrec_scenario
from .plan_json import read_plan
from .planner_estimate import PlannerInputs, TableEstimates, rank_estimates, shard_estimates
from .pooling_factors import PoolingFactors, pooling_sentences, read_pooling
from .sharding_plan import (
    DATA_PARALLEL,
    ROW_WISE,
    Entry,
    RankLayout,
    TableSharding,
    entry_of,
    plan_knob,
    table_entries,
    table_sharding,
    torchrec_entry,
)
from .topology import TorchRecTopology, read_topology

PLAN, SHARDING = "policy.plan", "policy.sharding"
STEP = "Step time [ms]"
WAYS = ("table-wise", "column-wise", "two-level", "row-wise")


@dataclass(frozen=True)
class TorchRecRequest:
    """Tables on a machine.

    tables: TorchRec's tables, (T,).
    pooling: the pooling factors of each, one a feature.
    topology: the planner's topology, of the scenario's GPUs.
    scenario: the tables as knobs on the machine.
    sentences: what was chosen, and what of the texts was left out.
    """

    tables: tuple[TorchRecTable, ...]
    pooling: PoolingFactors
    topology: TorchRecTopology
    scenario: Scenario
    sentences: tuple[str, ...]

    @property
    def layout(self) -> RankLayout:
        """The ranks, and how many a node has."""
        return RankLayout(self.topology.world_size, self.topology.local_world_size)


class PricedPlan(NamedTuple):
    """A plan with its price.

    shardings: TorchRec's sharding of each table, (T,).
    result: our estimate of the scenario with the plan.
    estimates: the planner's estimate of each shard of each table, (T,).
    ranks: its estimate of each rank, (P,).
    memory: the bytes of tables that we count on each rank, by memory, (P,) each; none where the plan is refused.
    sentences: where the plan differs from the one that was asked for.
    """

    shardings: tuple[TableSharding, ...]
    result: Result
    estimates: tuple[TableEstimates, ...]
    ranks: TableEstimates
    memory: Mapping[str, tuple[float, ...]]
    sentences: tuple[str, ...]

    @property
    def step_ms(self) -> float | None:
        """Our milliseconds of a batch, None where the plan cannot run."""
        return self.result.results.get(STEP)

    @property
    def planner_ms(self) -> float:
        """The planner's milliseconds of a batch: those of its slowest rank."""
        return max(rank.perf.total for rank in self.ranks)


class TorchRecAnswer(NamedTuple):
    """Our plan for a request, and one that was read, None without one."""

    request: TorchRecRequest
    plan: PricedPlan
    read: PricedPlan | None = None


def read_request(
    start: Scenario,
    tables: str,
    topology: str = "",
    pooling: str = "",
    settings: Mapping[str, Any] | None = None,
    as_started: bool = False,
) -> TorchRecRequest:
    """Read texts of TorchRec's; raises BadInput with a sentence.

    `settings` by hand come last. `as_started` keeps the start's system, GPUs and batch where no text names them.
    """
    listed = read_tables(tables)
    factors = read_pooling(pooling or "{}", listed.tables)
    ranks = read_topology(topology) if topology else None
    choice = torchrec_scenario(start, listed.tables, factors, ranks, settings or {}, as_started)
    sentences = (*listed.sentences, *pooling_sentences(factors), *choice.sentences)
    return TorchRecRequest(listed.tables, factors, _topology_of(choice.scenario, ranks), choice.scenario, sentences)


def _topology_of(s: Scenario, topology: TorchRecTopology | None) -> TorchRecTopology:
    """Return the planner's topology of the scenario's GPUs, with the bandwidths of the one that was read."""
    world = s.machine.num_gpus
    local = min(world, s.machine.gpus_per_node)
    if world % local:
        raise BadKnob(f"machine.num_gpus={world} is no multiple of machine.gpus_per_node={local}, but nodes must be alike.")
    given = {name: getattr(topology, name) for name in topology.given} if topology else {}
    pod = given.get("pod_size", 1)
    return TorchRecTopology(
        **{**given, "world_size": world, "local_world_size": local, "pod_size": pod if world % (pod * local) == 0 else 1},
        given=topology.given if topology else frozenset(),
    )


def torchrec_answer(request: TorchRecRequest, plan: str = "") -> TorchRecAnswer:
    """Return our plan for a request, priced, and beside it the `plan` of a text; raises BadInput, BadKnob, CannotRun."""
    settled, before = _planned(request.scenario)
    kernels = table_kernels(settled)
    read = _read(request, read_plan(plan, request.tables, request.layout), kernels) if plan else None
    return TorchRecAnswer(request, _ours(request, settled, kernels, before), read)


def table_nbytes(request: TorchRecRequest) -> tuple[int, ...]:
    """Return the bytes of each table with its optimizer's state, (T,)."""
    optimizers = per_table(request.scenario.model, "optimizer")
    return tuple(
        table.rows * (stored_bytes(table.precision, table.dim) + FLOAT32 * row_state(optimizer, table.dim))
        for table, optimizer in zip(request.tables, optimizers, strict=True)
    )


def _planned(s: Scenario) -> tuple[Settled, tuple[str, ...]]:
    """Return a scenario settled with a plan of whole tables and ranges, and a sentence where it had none."""
    settled = fit(s)
    if settled.placement.balance or s.machine.num_gpus == 1:
        return settled, ()
    if s.policy.plan:
        raise CannotRun(" ".join(settled.problems))
    if s.policy.sharding:
        raise BadKnob(f"{SHARDING}={s.policy.sharding} shares each row evenly, which TorchRec cannot; set it to planner.")
    sentence = f"system={s.system} shares tables evenly unless {SHARDING} is set, which TorchRec cannot: the planner shards them."
    return fit(with_values(s, {SHARDING: "planner"})), (sentence,)


def _ours(request: TorchRecRequest, settled: Settled, kernels: Sequence[TableKernel], before: tuple[str, ...]) -> PricedPlan:
    """Return our plan, or the nearest or another one where TorchRec cannot have ours."""
    entries = _entries(request, settled)
    possible = _possible(request, entries)
    sentences = [*before]
    if possible != entries:
        changed = sum(own != entry for own, entry in zip(entries, possible, strict=True))
        possible, way = _fastest(request, settled.scenario, possible)
        cut = f"Our plan cuts {count(changed, 'table')} by columns and by rows at once, which TorchRec can over whole nodes alone"
        sentences.append(f"{cut}: {way}.")
    shardings = [
        table_sharding(table, entry, kernel, request.layout)
        for table, entry, kernel in zip(request.tables, possible, kernels, strict=True)
    ]
    if some := sum(
        sharding.sharding_type == ROW_WISE and not all(shard.rows for shard in sharding.shards) for sharding in shardings
    ):
        sentences.append(
            f"Rows of {count(some, 'table')} lie on some GPUs: the others get row_wise shards of 0 rows, which TorchRec asks too."
        )
    return _priced(request, shardings, possible, sentences)


def _entries(request: TorchRecRequest, settled: Settled) -> list[Entry]:
    """Return the entries of the plan in force, all on rank 0 of one."""
    plan = settled.placement.plan
    return list(table_entries(plan[1], len(request.tables))) if plan else [((0,),)] * len(request.tables)


def _possible(request: TorchRecRequest, entries: Sequence[Entry]) -> list[Entry]:
    return [torchrec_entry(table, entry, request.layout) for table, entry in zip(request.tables, entries, strict=True)]


def _fastest(request: TorchRecRequest, s: Scenario, changed: list[Entry]) -> tuple[list[Entry], str]:
    """Return the fastest plan that TorchRec can have, of a changed one and the plain ways of sharding, and what was done."""
    ways = {} if s.policy.plan else {way: _entries(request, fit(with_values(s, {SHARDING: way}))) for way in WAYS}
    plans = {"rows go over the same GPUs instead": changed}
    plans |= {f"{way} is the fastest instead": plan for way, plan in ways.items() if plan == _possible(request, plan)}
    steps = step_seconds(_with_plan(s, plan) for plan in plans.values())
    fastest = min(zip(steps, plans, strict=True), key=lambda timed: inf if isnan(timed[0]) else timed[0])[1]
    return plans[fastest], fastest


def _with_plan(s: Scenario, entries: Sequence[Entry]) -> Scenario:
    """Return a scenario with a plan by hand, of one GPU as it is."""
    return s if s.machine.num_gpus == 1 else with_values(s, {PLAN: plan_knob(entries), SHARDING: None})


def _read(request: TorchRecRequest, shardings: Sequence[TableSharding], kernels: Sequence[TableKernel]) -> PricedPlan:
    """Return a plan that was read as `policy.plan` has it."""
    entries = [entry_of(sharding) for sharding in shardings]
    sentences = []
    if copies := sum(sharding.sharding_type == DATA_PARALLEL for sharding in shardings):
        sentences.append(
            f"{count(copies, 'table')} of the plan read {'is' if copies == 1 else 'are'} data_parallel, which we cannot: "
            "priced as rows over all GPUs, whose vectors cross; the true step is shorter."
        )
    unlike = [
        sharding.name
        for sharding, own in zip(shardings, kernels, strict=True)
        if sharding.kernel not in (own.kernel, DENSE if sharding.sharding_type == DATA_PARALLEL else own.kernel)
    ]
    if unlike:
        sentences.append(
            f"The plan read gives {count(len(unlike), 'table')}, such as {unlike[0][:60]}, another kernel than "
            f"system={request.scenario.system}, with which it is priced by us."
        )
    if sum(map(_is_uneven, shardings)):
        sentences.append("Shards of the plan read that are uneven are priced as even ones.")
    return _priced(request, shardings, entries, sentences)


def _is_uneven(sharding: TableSharding) -> bool:
    """Return whether shards differ by more than TorchRec's rounding of blocks makes them."""
    rows = [shard.rows for shard in sharding.shards if shard.rows]
    columns = [shard.columns for shard in sharding.shards]
    return (len(set(rows[:-1])) > 1 and sharding.sharding_type == ROW_WISE) or max(columns) - min(columns) > FLOAT32


def _priced(
    request: TorchRecRequest, shardings: Sequence[TableSharding], entries: Sequence[Entry], sentences: Sequence[str]
) -> PricedPlan:
    s = _with_plan(request.scenario, entries)
    optimizers = per_table(s.model, "optimizer")
    inputs = PlannerInputs(request.topology, ceil(s.data.batch_size / s.machine.num_gpus), optimizers)
    estimates = shard_estimates(request.tables, request.pooling, shardings, inputs)
    ranks = rank_estimates(shardings, estimates, request.topology.world_size)
    return PricedPlan(tuple(shardings), estimate(s), estimates, ranks, _memory(fit(s)), tuple(sentences))


def _memory(settled: Settled) -> dict[str, tuple[float, ...]]:
    """Return the bytes of tables or cache that we count on each rank, (P,), by memory."""
    needs, balance = settled.system.held(settled.scenario), settled.placement.balance
    if not balance:
        return {place: (need,) for place, need in needs.items()} if settled.scenario.machine.num_gpus == 1 else {}
    shares = balance.held / balance.held.sum()
    return {place: tuple(balance.kept.get(place, shares * need).tolist()) for place, need in needs.items() if need}
