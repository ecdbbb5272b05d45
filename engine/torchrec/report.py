"""The answer for programs: tables, ranks, both estimates and the plan as one JSON-ready object."""

from typing import Any

from .. import version
from ..scenario.scenario import per_table
from ..sweep import links
from .answer import PricedPlan, TorchRecAnswer, TorchRecRequest, table_nbytes
from .kernels import MEMORY_TITLES
from .plan_json import plan_content


def answer_content(answer: TorchRecAnswer, module: str) -> dict[str, Any]:
    """Return an answer as one JSON-ready object.

    `module` is the path of the tables in TorchRec's model.
    """
    request, plan = answer.request, answer.plan
    return {
        "model_version": version.MODEL,
        "system": plan.result.scenario.system,
        **_price(plan),
        "sentences": [*request.sentences, *plan.sentences],
        "tables": table_rows(request, plan),
        "ranks": rank_rows(plan),
        "plan": plan_content(plan.shardings, request.topology.local_world_size, module) if plan.result.ran else None,
        "read_plan": _read_content(answer.imported_plan) if answer.imported_plan else None,
    }


def _price(plan: PricedPlan) -> dict[str, Any]:
    return {
        "link": links.link(plan.result.scenario),
        "outcome": plan.result.outcome,
        "step_ms": plan.step_ms,
        "throughput": plan.result.results.get("Throughput [samples/s]"),
        "planner_ms": plan.planner_ms,
    }


def _read_content(plan: PricedPlan) -> dict[str, Any]:
    return {
        **_price(plan),
        "policy_plan": plan.result.scenario.policy.plan,
        "sentences": [*plan.sentences],
        "ranks": rank_rows(plan),
    }


def table_rows(request: TorchRecRequest, plan: PricedPlan) -> list[dict[str, Any]]:
    """Return a row for each table: size, memory, sharding, planner's time.

    `planner_ms` is the planner's time of the table's slowest shard.
    """
    lookups = per_table(request.scenario.model, "pooling")
    tables_with_plans = zip(request.tables, plan.shardings, plan.estimates, table_nbytes(request), lookups, strict=True)
    return [
        {
            "name": table.name,
            "rows": table.rows,
            "dim": table.dim,
            "precision": table.precision,
            "features": len(table.features),
            "lookups": pooling,
            "lies_in": MEMORY_TITLES[sharding.kernel],
            "compute_kernel": sharding.kernel,
            "sharding_type": sharding.sharding_type,
            "ranks": sorted({shard.rank for shard in sharding.shards if shard.rows}),
            "bytes": nbytes,
            "planner_ms": max(shard.perf.total for shard in estimates),
        }
        for table, sharding, estimates, nbytes, pooling in tables_with_plans
    ]


def rank_rows(plan: PricedPlan) -> list[dict[str, Any]]:
    """Return a row for each rank: table bytes by memory, and the planner's estimate."""
    return [
        {
            "rank": rank,
            "bytes": {place: nbytes[rank] for place, nbytes in plan.memory.items()},
            "planner_hbm_bytes": estimate.hbm,
            "planner_ddr_bytes": estimate.ddr,
            "planner_ms": estimate.perf.total,
            "planner_parts_ms": estimate.perf._asdict(),
        }
        for rank, estimate in enumerate(plan.ranks)
    ]
