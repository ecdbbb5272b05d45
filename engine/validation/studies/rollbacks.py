"""The study of many faults: the loss from many relaxed recoveries of the MLPs.

Each recovery restores the embeddings of the batch in which the fault strikes. The MLPs come back `age` batches older, but never
older than those of the previous recovery. Training continues in the same order. Each run is paired with the run of the same
seed without a fault.

    spread-k    k faults, evenly spread, the last in batch `crash_at`
    early-n     one fault, in batch n
"""

from dataclasses import dataclass

from ...core import figures
from ...core.process import single_thread
from ...errors import BadInput
from ...training.loop import train
from ...training.shape import Shape, scale_note
from ...training.weights import Weights
from ...workload.source import Source
from .accuracy import Seed, prepare_seed, recovered, scenario_of, score_weights

NO_FAULT = "none"
KINDS = ("spread", "early")


@dataclass(frozen=True)
class RollbacksPlan:
    """The plan of a study of many faults.

    preset: the preset with the model and the data.
    batches: the length of a run [batches].
    crash_at: the batch of the last fault.
    held_out_samples: the samples that score a model.
    age: the age of the MLPs after each recovery [batches].
    variants: the runs' faults, such as "spread-4" or "early-100"; the module describes them.
    """

    preset: str = "dlrm-kaggle"
    batches: int = 5000
    crash_at: int = 4000
    held_out_samples: int = 200_000
    age: int = 10
    variants: tuple[str, ...] = ("early-250", "spread-1", "spread-10", "spread-100")

    @property
    def compared_variants(self) -> tuple[str, ...]:
        """The variants that are compared with the run without a fault."""
        return self.variants


def check_plan(plan: RollbacksPlan) -> None:
    """Raise BadInput for a plan that cannot be carried out."""
    if not 0 < plan.crash_at < plan.batches:
        raise BadInput(f"--crash-at {plan.crash_at} is outside the run; choose a batch from 1 to {plan.batches - 1}.")
    if plan.age < 1:
        raise BadInput(f"--age {plan.age} means that no MLP is old; choose 1 batch or more.")
    for name in plan.variants:
        kind, amount = parse_variant(name)
        if amount > plan.crash_at:
            subject = f"{figures.count(amount, 'recovery')} do" if kind == "spread" else f"a fault in batch {amount} does"
            raise BadInput(f"{name}: {subject} not fit before batch {plan.crash_at}; choose a later --crash-at.")
    scenario_of(plan, 1)


def parse_variant(name: str) -> tuple[str, int]:
    """Return a variant's kind and number; raises BadInput."""
    kind, _, amount = name.partition("-")
    if kind not in KINDS or not amount.isdigit() or int(amount) < 1:
        raise BadInput(f"{name!r} is not a variant of this study; write spread-NUMBER or early-BATCH.")
    return kind, int(amount)


def variant_label(name: str) -> str:
    """Return a clause on the number of a variant's recoveries.

    For a single early recovery the clause names its batch.
    """
    kind, amount = parse_variant(name)
    if kind == "early":
        return f"1 recovery, in batch {figures.count(amount)}"
    return "1 recovery, near the end" if amount == 1 else f"{figures.count(amount, 'recovery')} over the run"


def fault_batches(plan: RollbacksPlan, name: str) -> tuple[int, ...]:
    """Return the batches in which a variant's faults strike, in rising order."""
    if name == NO_FAULT:
        return ()
    kind, amount = parse_variant(name)
    return (amount,) if kind == "early" else tuple(plan.crash_at * (n + 1) // amount for n in range(amount))


def one_seed(plan: RollbacksPlan, seed: int) -> Seed:
    """Train one seed without a fault, and once with each variant's faults; return its scores.

    Training uses one thread, so that the number of cores has no effect. All runs are scored at two moments: at the start of batch
    `crash_at`, after its recovery, and at the end.
    """
    with single_thread():
        data_source, shape, start, test = prepare_seed(plan, seed)
        at_recovery, at_end = {}, {}
        for name in (NO_FAULT, *plan.variants):
            recovered_weights = weights_at_crash(plan, fault_batches(plan, name), data_source, shape, start)
            at_recovery[name] = score_weights(shape, recovered_weights, test)
            at_end[name] = score_weights(
                shape, train(shape, recovered_weights, data_source.batch, plan.crash_at, plan.batches).weights, test
            )
    return Seed(seed, scale_note(shape), at_recovery, at_end)


def weights_at_crash(plan: RollbacksPlan, faults: tuple[int, ...], data_source: Source, shape: Shape, start: Weights) -> Weights:
    """Return the weights at the start of batch `crash_at`, after all recoveries up to then."""
    weights, next_batch = start, 0
    for b in faults:
        mlp_batch = max(next_batch, b - plan.age)
        trained = train(shape, weights, data_source.batch, next_batch, b + 1, keep=frozenset({mlp_batch}), record=frozenset({b}))
        weights, next_batch = recovered(trained, b, b - mlp_batch), b
    return train(shape, weights, data_source.batch, next_batch, plan.crash_at).weights
