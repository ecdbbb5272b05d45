"""The study of lossy protections: what a model loses that goes on with some rows old, all rows rounded, or the MLPs old.

Training is struck in batch b. Each variant changes the state at b as one protection's recovery would, and trains on in the
same order to the end; it is paired with the same seed's run that nothing changed.

    cpr-k    rows of one shard in SHARDS go back k batches, nothing is trained again
    bits-n   all rows go through a checkpoint of n bits a weight, each row with its own smallest value and step
    mlp-k    both MLPs go back k batches
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Singles
from ...core.process import single_thread
from ...errors import BadInput
from ...training.loop import train
from ...training.shape import scale_note
from ...training.weights import Weights, copy, first_places, revert, revert_mlp, rows_at
from .accuracy import Seed, begun, scenario_of, score

SHARDS = 8
WORDS = {
    "cpr": f"rows of one shard in {SHARDS} go back {{}}",
    "bits": "all rows rounded to {} a weight",
    "mlp": "the MLPs go back {}",
}
NOUNS = {"cpr": ("batch", "batches"), "bits": ("bit", "bits"), "mlp": ("batch", "batches")}
NOTHING = "none"


@dataclass(frozen=True)
class ProtectionsPlan:
    """What is studied: a preset's model and data, struck in batch `crash_at` of `batches`, and how each variant recovers."""

    preset: str = "dlrm-kaggle"
    batches: int = 3000
    crash_at: int = 2500
    held_out_samples: int = 50_000
    variants: tuple[str, ...] = ("cpr-100", "cpr-500", "bits-8", "bits-4", "bits-2", "mlp-100")

    @property
    def changed(self) -> tuple[str, ...]:
        """The variants that are compared with the run that nothing changed."""
        return self.variants


def check(plan: ProtectionsPlan) -> None:
    """Raise BadInput for a plan that cannot be carried out."""
    for name in plan.variants:
        kind, amount = parsed(name)
        if kind != "bits" and amount > plan.crash_at:
            raise BadInput(f"{name} cannot go back {amount} batches from batch {plan.crash_at}; choose a later --crash-at.")
    if not 0 < plan.crash_at < plan.batches:
        raise BadInput(f"--crash-at {plan.crash_at} lies outside the run; choose a batch from 1 to {plan.batches - 1}.")
    scenario_of(plan, 1)


def parsed(name: str) -> tuple[str, int]:
    """Return a variant's kind and amount; raises BadInput."""
    kind, _, amount = name.partition("-")
    known = kind in WORDS and amount.isdigit() and (1 <= int(amount) <= 16 or kind != "bits")
    if not known:
        raise BadInput(f"{name!r} is no variant of this study; write cpr-BATCHES, bits-BITS (1 to 16) or mlp-BATCHES.")
    return kind, int(amount)


def one_seed(plan: ProtectionsPlan, seed: int) -> Seed:
    """Train one seed without a fault, and on from each variant's recovery; on one thread, so that no core count matters."""
    with single_thread():
        b, (given, shape, weights, test) = plan.crash_at, begun(plan, seed)
        at, older = 0, {}
        for batch in sorted({b - amount for kind, amount in map(parsed, plan.variants) if kind != "bits"} | {b}):
            weights = train(shape, weights, given.batch, at, batch).weights
            at, older[batch] = batch, weights
        at_recovery, at_end = {}, {}
        for name in (NOTHING, *plan.variants):
            found = recovered(older, b, name, seed)
            at_recovery[name] = score(shape, found, test)
            at_end[name] = score(shape, train(shape, found, given.batch, b, plan.batches).weights, test)
    return Seed(seed, scale_note(shape), at_recovery, at_end)


def recovered(older: Mapping[int, Weights], b: int, name: str, seed: int) -> Weights:
    """Return what training goes on with after a variant's recovery in batch b; `older` are the weights as batches began."""
    weights = copy(older[b])
    if name == NOTHING:
        return weights
    kind, amount = parsed(name)
    if kind == "cpr":
        parts = np.split(weights.rows % SHARDS == seed % SHARDS, first_places(weights.blocks)[1:-1])
        lost = [np.flatnonzero(part).astype(np.uint32) for part in parts]
        revert(weights, lost, rows_at(older[b - amount], lost))
    elif kind == "mlp":
        revert_mlp(weights, older[b - amount].mlp, older[b - amount].mlp_state)
    else:
        for vectors, _ in weights.blocks:
            vectors[:] = rounded(vectors, amount)
    return weights


def rounded(table: Singles, bits: int) -> Singles:
    """Return (R, dim) vectors as they come back from `bits` a weight: each row in equal steps from its least to its largest."""
    low, high = table.min(axis=1, keepdims=True), table.max(axis=1, keepdims=True)
    step = (high - low) / np.float32(2**bits - 1)
    steps = np.divide(table - low, step, out=np.zeros_like(table), where=step > 0)
    back: Any = low + np.rint(steps) * step
    return np.asarray(back, dtype=np.float32)
