"""The answer to TorchRec's tables and topology: a sharding plan by Emberpool.

Both this model and TorchRec's planner estimate the plan's step time.
A page calls `read_request` with the pasted texts, then `torchrec_answer`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isnan
from typing import Any, NamedTuple

from ..core.arithmetic import total
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
from .layout_rules import DATA_PARALLEL, GRID, TABLE_ROW_WISE, VECTOR, RankLayout, TablePlan, plan_fault
from .plan_json import read_plan
from .planner_estimate import PlannerInputs, TableEstimates, rank_estimates, shard_estimates
from .pooling_factors import PoolingFactors, pooling_sentences, read_pooling
from .sharding_plan import (
    MAX_PLAN_TEXT,
    TableSharding,
    checked_forms,
    plan_knob,
    plan_text,
    plans_by_table,
    plans_by_way,
    table_plan_of,
    table_sharding,
)
from .topology import TorchRecTopology, read_topology

PLAN, SHARDING = "policy.plan", "policy.sharding"
STEP = "Step time [ms]"


@dataclass(frozen=True)
class TorchRecRequest:
    """TorchRec's tables on a machine, as the texts of a user give them.

    tables: TorchRec's tables, (T,).
    pooling: the pooling factors of each table, one for each feature.
    topology: the planner's topology, of the scenario's GPUs.
    scenario: the tables as knobs, on the machine.
    sentences: the choices made, and the parts of the texts that were left out.
    """

    tables: tuple[TorchRecTable, ...]
    pooling: PoolingFactors
    topology: TorchRecTopology
    scenario: Scenario
    sentences: tuple[str, ...]

    @property
    def layout(self) -> RankLayout:
        """The number of ranks in all, and of each node or pod."""
        return RankLayout(self.topology.world_size, self.topology.group_size)


class PricedPlan(NamedTuple):
    """A sharding plan with its estimates.

    shardings: TorchRec's sharding of each table, (T,).
    result: Emberpool's estimate of the scenario with the plan.
    estimates: the planner's estimate of each shard of each table, (T,).
    ranks: the planner's estimate of each rank, (P,).
    memory: the bytes of tables on each rank, (P,), by memory, as Emberpool counts them; empty where the plan is refused.
    sentences: differences between this plan and the requested one.
    """

    shardings: tuple[TableSharding, ...]
    result: Result
    estimates: tuple[TableEstimates, ...]
    ranks: TableEstimates
    memory: Mapping[str, tuple[float, ...]]
    sentences: tuple[str, ...]

    @property
    def step_ms(self) -> float | None:
        """Milliseconds of a batch by Emberpool, None where the plan cannot run."""
        return self.result.results.get(STEP)

    @property
    def planner_ms(self) -> float:
        """Milliseconds of a batch by TorchRec's planner: those of the slowest rank."""
        return max(rank.perf.total for rank in self.ranks)


class TorchRecAnswer(NamedTuple):
    """Emberpool's sharding plan for a request.

    `imported_plan` is the plan that the user gave, None without one.
    """

    request: TorchRecRequest
    plan: PricedPlan
    imported_plan: PricedPlan | None = None


def read_request(
    start: Scenario,
    tables: str,
    topology: str = "",
    pooling: str = "",
    settings: Mapping[str, Any] | None = None,
    as_started: bool = False,
) -> TorchRecRequest:
    """Read a user's TorchRec texts as a request; raises BadInput with a sentence.

    `settings` are knobs that the user set; they override the texts. With `as_started`, the system, GPUs and batch of `start` are
    kept where no text states them.
    """
    torchrec_tables = read_tables(tables)
    pooling_factors = read_pooling(pooling or "{}", torchrec_tables.tables)
    ranks = read_topology(topology) if topology else None
    choice = torchrec_scenario(start, torchrec_tables.tables, pooling_factors, ranks, settings or {}, as_started)
    sentences = (*torchrec_tables.sentences, *pooling_sentences(pooling_factors), *choice.sentences)
    return TorchRecRequest(
        torchrec_tables.tables, pooling_factors, _topology_of(choice.scenario, ranks), choice.scenario, sentences
    )


def _topology_of(s: Scenario, topology: TorchRecTopology | None) -> TorchRecTopology:
    """Return the planner's topology of the scenario's GPUs, with the bandwidths of the text."""
    world = s.machine.num_gpus
    local = min(world, s.machine.gpus_per_node)
    if world % local:
        raise BadKnob(f"machine.num_gpus={world} is no multiple of machine.gpus_per_node={local}, but nodes must be alike.")
    stated_fields = {name: getattr(topology, name) for name in topology.stated_fields} if topology else {}
    pod = stated_fields.get("pod_size", 1)
    return TorchRecTopology(
        **{**stated_fields, "world_size": world, "local_world_size": local, "pod_size": pod if world % (pod * local) == 0 else 1},
        stated_fields=topology.stated_fields if topology else frozenset(),
    )


def torchrec_answer(request: TorchRecRequest, plan: str = "") -> TorchRecAnswer:
    """Return Emberpool's plan for a request, and the user's `plan`, both with estimates.

    Without a `plan` there is only the first. Raises BadInput, BadKnob, CannotRun.
    """
    settled, plan_sentences = _settle_with_plan(request.scenario)
    kernels = table_kernels(settled)
    imported_plan = _price_imported_plan(request, read_plan(plan, request.tables, request.layout), kernels) if plan else None
    return TorchRecAnswer(request, _price_our_plan(request, settled, kernels, plan_sentences), imported_plan)


def table_nbytes(request: TorchRecRequest) -> tuple[int, ...]:
    """Return the bytes of each table with its optimizer's state, (T,)."""
    optimizers = per_table(request.scenario.model, "optimizer")
    return tuple(
        table.rows * (stored_bytes(table.precision, table.dim) + FLOAT32 * row_state(optimizer, table.dim))
        for table, optimizer in zip(request.tables, optimizers, strict=True)
    )


def _settle_with_plan(s: Scenario) -> tuple[Settled, tuple[str, ...]]:
    """Settle a scenario with a sharding plan; a scenario without a plan gets the planner's, and a sentence."""
    settled = fit(s)
    if settled.placement.balance or s.machine.num_gpus == 1:
        return settled, ()
    if s.policy.plan:
        raise CannotRun(" ".join(settled.problems))
    if s.policy.sharding:
        raise BadKnob(f"{SHARDING}={s.policy.sharding} divides each row evenly, which TorchRec cannot do; set it to planner.")
    sentence = f"system={s.system} shares tables evenly unless {SHARDING} is set, which TorchRec cannot: the planner shards them."
    return fit(with_values(s, {SHARDING: "planner"})), (sentence,)


def _price_our_plan(
    request: TorchRecRequest, settled: Settled, kernels: Sequence[TableKernel], plan_sentences: tuple[str, ...]
) -> PricedPlan:
    """Price our plan, or the fastest plan that TorchRec can train where it cannot train ours."""
    table_plans, sentences = _plans_in_force(request, settled), [*plan_sentences]
    for table in request.tables:
        checked_forms(table, request.layout)
    faults = [
        f"such as {table.name[:60]}: {fault}"
        for table, table_plan in zip(request.tables, table_plans, strict=True)
        if (fault := plan_fault(table, table_plan, request.layout))
    ]
    if faults:
        table_plans, way = _fastest_plan(request, settled.scenario, table_plans)
        sentences.append(f"TorchRec cannot train {count(len(faults), 'table')} of our plan as planned, {faults[0]}; {way}.")
    shardings = [
        table_sharding(table, table_plan, kernel, request.layout)
        for table, table_plan, kernel in zip(request.tables, table_plans, kernels, strict=True)
    ]
    return _price_plan(request, shardings, table_plans, (*sentences, *_pod_sentences(request.topology, shardings)))


def _pod_sentences(topology: TorchRecTopology, shardings: Sequence[TableSharding]) -> Iterator[str]:
    """Yield how TorchRec learns that rows go over the ranks of a pod."""
    if topology.pod_size > 1 and any(sharding.sharding_type in (TABLE_ROW_WISE, GRID) for sharding in shardings):
        yield (
            f"table_row_wise and grid_shard cut rows over the {count(topology.group_size, 'GPU')} of a pod: "
            f"set TORCHREC_RESOLVED_POD_SIZE={topology.pod_size} where you train."
        )


def _plans_in_force(request: TorchRecRequest, settled: Settled) -> list[TablePlan]:
    """Return the plan in force of each table; with one GPU each table lies on rank 0."""
    plan = settled.placement.plan
    return list(plans_by_table(plan[1], len(request.tables))) if plan else [((0,),)] * len(request.tables)


def _fastest_plan(request: TorchRecRequest, s: Scenario, table_plans: Sequence[TablePlan]) -> tuple[list[TablePlan], str]:
    """Return the fastest plan that TorchRec can train in place of one that it cannot, and its description."""
    plans = plans_by_way(request.tables, table_plans, request.layout)
    writable_plans = {way: plan for way, plan in plans.items() if len(plan_text(plan)) <= MAX_PLAN_TEXT} or plans
    steps = step_seconds(_with_plan(s, plan) for plan in writable_plans.values())
    fastest = min(zip(steps, writable_plans, strict=True), key=lambda timed: inf if isnan(timed[0]) else timed[0])[1]
    return plans[fastest], f"{fastest}, which is the fastest way that it can"


def _with_plan(s: Scenario, table_plans: Sequence[TablePlan]) -> Scenario:
    """Set the plan of each table by hand; a scenario of one GPU stays as it is."""
    return s if s.machine.num_gpus == 1 else with_values(s, {PLAN: plan_knob(table_plans), SHARDING: None})


def _price_imported_plan(
    request: TorchRecRequest, shardings: Sequence[TableSharding], kernels: Sequence[TableKernel]
) -> PricedPlan:
    """Price the plan of a text, written as `policy.plan`."""
    table_plans = [table_plan_of(sharding) for sharding in shardings]
    sentences = []
    if copies := sum(sharding.sharding_type == DATA_PARALLEL for sharding in shardings):
        sentences.append(
            f"The plan has {count(copies, 'table')} that {'is' if copies == 1 else 'are'} data_parallel, which is not modelled: "
            "timed as rows over all GPUs, whose vectors cross the network; the true step is shorter."
        )
    other_kernel_tables = [
        sharding.name
        for sharding, table_kernel in zip(shardings, kernels, strict=True)
        if sharding.kernel not in (table_kernel.kernel, DENSE if sharding.sharding_type == DATA_PARALLEL else table_kernel.kernel)
    ]
    if other_kernel_tables:
        sentences.append(
            f"The plan gives {count(len(other_kernel_tables), 'table')}, such as {other_kernel_tables[0][:60]}, another kernel "
            f"than system={request.scenario.system}; the time is that of the system's kernel."
        )
    if total(map(_is_uneven, shardings)):
        sentences.append("Uneven shards of the plan are timed as even shards.")
    return _price_plan(request, shardings, table_plans, sentences)


def _is_uneven(sharding: TableSharding) -> bool:
    """Return whether shards differ in width by more than the kernels' vector."""
    columns = [shard.columns for shard in sharding.shards]
    return max(columns) - min(columns) > VECTOR


def _price_plan(
    request: TorchRecRequest, shardings: Sequence[TableSharding], table_plans: Sequence[TablePlan], sentences: Sequence[str]
) -> PricedPlan:
    s = _with_plan(request.scenario, table_plans)
    optimizers = per_table(s.model, "optimizer")
    inputs = PlannerInputs(request.topology, ceil(s.data.batch_size / s.machine.num_gpus), optimizers)
    estimates = shard_estimates(request.tables, request.pooling, shardings, inputs)
    ranks = rank_estimates(shardings, estimates, request.topology.world_size)
    return PricedPlan(tuple(shardings), estimate(s), estimates, ranks, _bytes_by_memory(fit(s)), tuple(sentences))


def _bytes_by_memory(settled: Settled) -> dict[str, tuple[float, ...]]:
    """Return the bytes of tables or cache that we count on each rank, (P,), by memory."""
    needs, balance = settled.system.nbytes_by_memory(settled.scenario), settled.placement.balance
    if not balance:
        return {place: (need,) for place, need in needs.items()} if settled.scenario.machine.num_gpus == 1 else {}
    shares = balance.table_bytes / balance.table_bytes.sum()
    return {place: tuple(balance.nbytes_by_memory.get(place, shares * need).tolist()) for place, need in needs.items() if need}
