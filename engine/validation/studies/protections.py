"""The study of lossy protections: the loss from old rows, rounded rows, or old MLPs.

A fault strikes in batch b. Each variant changes the state at b as one protection's recovery would, and training continues in
the same order to the end. Each such run is paired with the unchanged run of the same seed.

    cpr-k    rows of one of SHARDS shards go back k batches, and no batch is trained again
    bits-n   all rows are rounded as by a checkpoint of n bits a weight; each row has its own smallest value and step
    mlp-k    both MLPs go back k batches
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Singles
from ...core.figures import count
from ...core.process import single_thread
from ...errors import BadInput
from ...training.loop import train
from ...training.shape import scale_note
from ...training.weights import Weights, copy_weights, first_places, restore_mlp, restore_rows, rows_at
from .accuracy import Seed, prepare_seed, scenario_of, score_weights

SHARDS = 8
WORDS = {
    "cpr": f"rows of one shard in {SHARDS} go back {{}}",
    "bits": "all rows rounded to {} a weight",
    "mlp": "the MLPs go back {}",
}
NOUNS = {"cpr": ("batch", "batches"), "bits": ("bit", "bits"), "mlp": ("batch", "batches")}
NO_CHANGE = "none"


@dataclass(frozen=True)
class ProtectionsPlan:
    """The plan of a study of lossy protections.

    preset: the preset with the model and the data.
    batches: the length of a run [batches].
    crash_at: the batch in which the fault strikes.
    held_out_samples: the samples that score a model.
    variants: the recoveries, such as "cpr-100", "bits-4" or "mlp-100"; the module describes them.
    """

    preset: str = "dlrm-kaggle"
    batches: int = 3000
    crash_at: int = 2500
    held_out_samples: int = 50_000
    variants: tuple[str, ...] = ("cpr-100", "cpr-500", "bits-8", "bits-4", "bits-2", "mlp-100")

    @property
    def compared_variants(self) -> tuple[str, ...]:
        """The variants that are compared with the unchanged run."""
        return self.variants


def check_plan(plan: ProtectionsPlan) -> None:
    """Raise BadInput for a plan that cannot be carried out."""
    for name in plan.variants:
        kind, amount = parse_variant(name)
        if kind != "bits" and amount > plan.crash_at:
            raise BadInput(
                f"{name} goes back {count(amount, 'batch')}, but batch {plan.crash_at} has fewer before it; choose "
                "a later --crash-at."
            )
    if not 0 < plan.crash_at < plan.batches:
        raise BadInput(f"--crash-at {plan.crash_at} is outside the run; choose a batch from 1 to {plan.batches - 1}.")
    scenario_of(plan, 1)


def parse_variant(name: str) -> tuple[str, int]:
    """Return a variant's kind and amount; raises BadInput."""
    kind, _, amount = name.partition("-")
    is_variant = kind in WORDS and amount.isdigit() and (1 <= int(amount) <= 16 or kind != "bits")
    if not is_variant:
        raise BadInput(f"{name!r} is not a variant of this study; write cpr-BATCHES, bits-BITS (1 to 16) or mlp-BATCHES.")
    return kind, int(amount)


def one_seed(plan: ProtectionsPlan, seed: int) -> Seed:
    """Train one seed without a fault, and once from each variant's recovery; return its scores.

    Training uses one thread, so that the number of cores has no effect.
    """
    with single_thread():
        b, (data_source, shape, weights, test) = plan.crash_at, prepare_seed(plan, seed)
        next_batch, weights_by_batch = 0, {}
        for batch in sorted({b - amount for kind, amount in map(parse_variant, plan.variants) if kind != "bits"} | {b}):
            weights = train(shape, weights, data_source.batch, next_batch, batch).weights
            next_batch, weights_by_batch[batch] = batch, weights
        at_recovery, at_end = {}, {}
        for name in (NO_CHANGE, *plan.variants):
            recovered_weights = recovered(weights_by_batch, b, name, seed)
            at_recovery[name] = score_weights(shape, recovered_weights, test)
            at_end[name] = score_weights(shape, train(shape, recovered_weights, data_source.batch, b, plan.batches).weights, test)
    return Seed(seed, scale_note(shape), at_recovery, at_end)


def recovered(weights_by_batch: Mapping[int, Weights], b: int, name: str, seed: int) -> Weights:
    """Return the weights after the recovery of variant `name` in batch b.

    weights_by_batch: the weights at the start of batches.
    """
    weights = copy_weights(weights_by_batch[b])
    if name == NO_CHANGE:
        return weights
    kind, amount = parse_variant(name)
    if kind == "cpr":
        parts = np.split(weights.rows % SHARDS == seed % SHARDS, first_places(weights.blocks)[1:-1])
        lost_rows = [np.flatnonzero(part).astype(np.uint32) for part in parts]
        restore_rows(weights, lost_rows, rows_at(weights_by_batch[b - amount], lost_rows))
    elif kind == "mlp":
        restore_mlp(weights, weights_by_batch[b - amount].mlp, weights_by_batch[b - amount].mlp_state)
    else:
        for vectors, _ in weights.blocks:
            vectors[:] = rounded_table(vectors, amount)
    return weights


def rounded_table(table: Singles, bits: int) -> Singles:
    """Return (R, dim) vectors rounded to `bits` a weight.

    Each row has equal steps from its minimum to its maximum.
    """
    low, high = table.min(axis=1, keepdims=True), table.max(axis=1, keepdims=True)
    step = (high - low) / np.float32(2**bits - 1)
    steps = np.divide(table - low, step, out=np.zeros_like(table), where=step > 0)
    restored: Any = low + np.rint(steps) * step
    return np.asarray(restored, dtype=np.float32)
