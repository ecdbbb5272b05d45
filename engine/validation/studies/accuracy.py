"""The accuracy study: what a model loses that goes on with embeddings of batch b and MLPs of batch b - g.

Power fails in batch b, whose rows have been updated. The undo log takes them back, the MLPs come back g batches old, and
training goes on in the same order to the end. Each such run is paired with the same seed's run without a fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core.process import single_thread
from ...errors import BadInput, CannotRun
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, with_values
from ...training.lookup import LocalBatch, localise
from ...training.loop import Trained, evaluate, train
from ...training.shape import Shape, scale_note, scaled
from ...training.weights import Weights, copy, initial, revert, revert_mlp, rows_of, trained_arrays
from ...workload.source import Source, source


@dataclass(frozen=True)
class AccuracyPlan:
    """What is studied: a preset's model and data, power lost in batch `crash_at` of `batches`, MLPs `staleness` batches old."""

    preset: str = "dlrm-kaggle"
    batches: int = 5000
    crash_at: int = 4000
    held_out_samples: int = 200_000
    staleness: tuple[int, ...] = (0, 1, 10, 100, 300, 1000)

    @property
    def changed(self) -> tuple[int, ...]:
        """The ages that are compared with none, rising."""
        return tuple(sorted(set(self.staleness) - {0}))


class Score(NamedTuple):
    """How good a model is on held-out samples: AUC, accuracy in percent, log loss in nats."""

    auc: float
    accuracy: float
    loss: float


@dataclass(frozen=True)
class Seed:
    """One seed's scores by variant, 0 without a fault; `twin` says how the trained model is smaller than the preset's."""

    seed: int
    twin: str
    at_recovery: Mapping[Any, Score]
    at_end: Mapping[Any, Score]


def check(plan: AccuracyPlan) -> None:
    """Raise BadInput where a plan cannot be carried out."""
    oldest = max(plan.staleness, default=0)
    if 0 not in plan.staleness or oldest == 0:
        given = ", ".join(map(str, plan.staleness))
        raise BadInput(f"A staleness of {given} batches makes no pairs; give 0, the run without a fault, and at least one more.")
    if not oldest <= plan.crash_at < plan.batches - 1:
        fits = oldest <= plan.batches - 2
        choose = f"a batch from {oldest} to {plan.batches - 2}" if fits else f"at least {oldest + 2} batches"
        raise BadInput(
            f"A power loss in batch {plan.crash_at} of {plan.batches} cannot leave an MLP {oldest} batches old and batches to "
            f"train after it; choose {choose}, or another staleness."
        )
    scenario_of(plan, 1)


def scenario_of(plan: Any, seed: int) -> Scenario:
    """Return the scenario of one seed of a study's plan, which draws data, teacher, order of batches and first weights."""
    changes = {"run.batches": plan.batches, "data.held_out_samples": plan.held_out_samples, "data.seed": seed}
    return with_values(preset(plan.preset).scenario, changes)


def begun(plan: Any, seed: int) -> tuple[Source, Shape, Weights, LocalBatch]:
    """Return one seed's data, its model's shape, the first weights, and the held-out samples by the places of their rows."""
    scenario = scenario_of(plan, seed)
    given = source(scenario)
    held_out = given.held_out()
    touched = rows_of([*(given.ids(n) for n in range(plan.batches)), held_out.ids])
    shape = scaled(scenario, touched)
    start = initial(shape, touched, seed)
    return given, shape, start, localise(shape, start, held_out)


def one_seed(plan: AccuracyPlan, seed: int) -> Seed:
    """Train one seed without a fault, and once from each recovery; on one thread, so that no core count matters.

    Raises CannotRun where the model fits no budget, diverges, or has held-out samples of one kind alone.
    """
    with single_thread():
        b, (given, shape, start, test) = plan.crash_at, begun(plan, seed)
        old = frozenset(b - g for g in plan.staleness)
        struck = train(shape, start, given.batch, 0, b + 1, keep=old, record=frozenset({b}))
        ends = train(shape, struck.weights, given.batch, b + 1, plan.batches).weights
        at_recovery, at_end = {}, {}
        for g in plan.staleness:
            weights = recovered(struck, b, g)
            at_recovery[g] = score(shape, weights, test)
            done = train(shape, weights, given.batch, b, plan.batches).weights
            if g == 0:
                check_same(done, ends, seed)
            at_end[g] = score(shape, done, test)
    return Seed(seed, scale_note(shape), at_recovery, at_end)


def recovered(struck: Trained, b: int, g: int) -> Weights:
    """Return what a recovery finds after power was lost in batch b: embeddings at its start, MLPs g batches older."""
    weights, rows, mlp = copy(struck.weights), struck.recorded[b], struck.kept[b - g]
    revert(weights, rows.places, rows.before)
    revert_mlp(weights, mlp.mlp, mlp.mlp_state)
    return weights


def check_same(ours: Weights, other: Weights, seed: int) -> None:
    """Raise RuntimeError unless a strict recovery ended in the very bytes of the run without a fault: the control."""
    for (name, array), (_, same) in zip(trained_arrays(ours), trained_arrays(other), strict=True):
        if array.tobytes() != same.tobytes():
            raise RuntimeError(f"Seed {seed}: after a strict recovery `{name}` differs from the run without a fault.")


def score(shape: Shape, weights: Weights, test: LocalBatch) -> Score:
    """Score a model on held-out samples; raises CannotRun where they are of one kind alone."""
    found = evaluate(shape, weights, test)
    if found.auc is None:
        raise CannotRun(f"All of the {len(test.labels)} held-out samples have the same label, so there is no AUC; take more.")
    return Score(found.auc, 100 * found.accuracy, found.loss)
