"""The accuracy study: the loss of quality when MLPs are older than the embeddings.

Power fails in batch b, after its rows have been updated. The undo log restores the rows of the start of batch b, the MLPs come
back g batches older, and training continues in the same order to the end. Each such run is paired with the run of the same seed
without a fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core.figures import count
from ...core.process import single_thread
from ...errors import BadInput, CannotRun
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, with_values
from ...training.lookup import LocalBatch, localise
from ...training.loop import TrainedStretch, evaluate, train
from ...training.shape import Shape, scale_note, scaled_shape
from ...training.weights import Weights, copy_weights, initial_weights, restore_mlp, restore_rows, rows_of, trained_arrays
from ...workload.source import Source, source


@dataclass(frozen=True)
class AccuracyPlan:
    """The plan of an accuracy study.

    preset: the preset with the model and the data.
    batches: the length of a run [batches].
    crash_at: the batch in which power is lost.
    held_out_samples: the samples that score a model.
    staleness: the ages of the MLPs after recovery [batches]; 0 is the run without a fault.
    """

    preset: str = "dlrm-kaggle"
    batches: int = 5000
    crash_at: int = 4000
    held_out_samples: int = 200_000
    staleness: tuple[int, ...] = (0, 1, 10, 100, 300, 1000)

    @property
    def compared_variants(self) -> tuple[int, ...]:
        """The ages above 0, rising; each is compared with age 0."""
        return tuple(sorted(set(self.staleness) - {0}))


class Score(NamedTuple):
    """The quality of a model on held-out samples: AUC, accuracy [%], log loss [nats]."""

    auc: float
    accuracy: float
    loss: float


@dataclass(frozen=True)
class Seed:
    """The scores of one seed, by variant.

    seed: the seed's number.
    twin: a text on how the trained model is smaller than the preset's.
    at_recovery, at_end: scores by variant, right after the recovery and at the end of the run. Variant 0 has no fault.
    """

    seed: int
    twin: str
    at_recovery: Mapping[Any, Score]
    at_end: Mapping[Any, Score]


def check_plan(plan: AccuracyPlan) -> None:
    """Raise BadInput where a plan cannot be carried out."""
    oldest = max(plan.staleness, default=0)
    if 0 not in plan.staleness or oldest == 0:
        ages_text = ", ".join(map(str, plan.staleness))
        raise BadInput(
            f"A staleness of {ages_text} batches gives no pair to compare; give 0, the run without a fault, and at least one "
            "more value."
        )
    if not oldest <= plan.crash_at < plan.batches - 1:
        fits = oldest <= plan.batches - 2
        choose = f"a batch from {oldest} to {plan.batches - 2}" if fits else f"at least {count(oldest + 2, 'batch')}"
        raise BadInput(
            f"A power loss in batch {plan.crash_at} of {plan.batches} cannot leave an MLP {count(oldest, 'batch')} "
            "old and batches to "
            f"train after it; choose {choose}, or another staleness."
        )
    scenario_of(plan, 1)


def scenario_of(plan: Any, seed: int) -> Scenario:
    """Return the scenario of one seed of a study's plan.

    The seed determines the drawn data, the teacher, the order of batches and the first weights.
    """
    changes = {"run.batches": plan.batches, "data.held_out_samples": plan.held_out_samples, "data.seed": seed}
    return with_values(preset(plan.preset).scenario, changes)


def prepare_seed(plan: Any, seed: int) -> tuple[Source, Shape, Weights, LocalBatch]:
    """Return one seed's data source, model shape, first weights and held-out samples.

    The held-out samples name rows by their positions in the weights.
    """
    scenario = scenario_of(plan, seed)
    data_source = source(scenario)
    held_out = data_source.held_out()
    used_rows = rows_of([*(data_source.ids(n) for n in range(plan.batches)), held_out.ids])
    shape = scaled_shape(scenario, used_rows)
    start = initial_weights(shape, used_rows, seed)
    return data_source, shape, start, localise(shape, start, held_out)


def one_seed(plan: AccuracyPlan, seed: int) -> Seed:
    """Train one seed without a fault, and once from each recovery; return its scores.

    Training uses one thread, so that the number of cores has no effect.
    Raises CannotRun where the model fits no budget, diverges, or has held-out samples of a single label.
    """
    with single_thread():
        b, (data_source, shape, start, test) = plan.crash_at, prepare_seed(plan, seed)
        mlp_batches = frozenset(b - g for g in plan.staleness)
        struck = train(shape, start, data_source.batch, 0, b + 1, keep=mlp_batches, record=frozenset({b}))
        faultless_end = train(shape, struck.weights, data_source.batch, b + 1, plan.batches).weights
        at_recovery, at_end = {}, {}
        for g in plan.staleness:
            weights = recovered(struck, b, g)
            at_recovery[g] = score_weights(shape, weights, test)
            recovered_end = train(shape, weights, data_source.batch, b, plan.batches).weights
            if g == 0:
                check_same(recovered_end, faultless_end, seed)
            at_end[g] = score_weights(shape, recovered_end, test)
    return Seed(seed, scale_note(shape), at_recovery, at_end)


def recovered(struck: TrainedStretch, b: int, g: int) -> Weights:
    """Return the weights after a recovery from a power loss in batch b.

    Embeddings are those of the start of batch b, MLPs those of g batches before.
    """
    weights, rows, mlp = copy_weights(struck.weights), struck.recorded[b], struck.kept[b - g]
    restore_rows(weights, rows.places, rows.before)
    restore_mlp(weights, mlp.mlp, mlp.mlp_state)
    return weights


def check_same(recovered_weights: Weights, faultless_weights: Weights, seed: int) -> None:
    """Raise RuntimeError unless a strict recovery ended in the weights of the faultless run.

    This is the study's control: all bytes must agree.
    """
    for (name, array), (_, faultless_array) in zip(
        trained_arrays(recovered_weights), trained_arrays(faultless_weights), strict=True
    ):
        if array.tobytes() != faultless_array.tobytes():
            raise RuntimeError(f"Seed {seed}: after a strict recovery `{name}` differs from the run without a fault.")


def score_weights(shape: Shape, weights: Weights, test: LocalBatch) -> Score:
    """Score a model on held-out samples; raises CannotRun where all have one label."""
    evaluation = evaluate(shape, weights, test)
    if evaluation.auc is None:
        raise CannotRun(f"All {len(test.labels)} held-out samples have the same label, so AUC is undefined; take more samples.")
    return Score(evaluation.auc, 100 * evaluation.accuracy, evaluation.loss)
