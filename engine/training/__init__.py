"""Functional training: a real DLRM, forward, backward and sparse update, over only the rows that a run touches.

Read in this order: `shape` (what is trained), `weights` (the state), `lookup` and `layers` (the pieces), `step`
(one batch, on one screen, and the optimizers), and `loop` (many batches, and evaluation).

    seen = rows_of([*ids_of_batches, held_out.ids])
    shape = scaled(scenario, seen)
    trained = train(shape, initial(shape, seen, seed), source.batch, 0, 1000, held_out=held_out)
"""

from .lookup import LocalBatch, Uses, localise, look_up, uses
from .loop import Evaluation, KeptMlp, OnBatch, Recorded, Trained, auc, boundaries, evaluate, joined, train
from .shape import Shape, full, scale_note, scaled
from .step import Early, StepResult, step
from .weights import Layer, Weights, copy, initial, layers, local, revert, revert_mlp, rows_of

__all__ = [
    "Early",
    "Evaluation",
    "KeptMlp",
    "Layer",
    "LocalBatch",
    "OnBatch",
    "Recorded",
    "Shape",
    "StepResult",
    "Trained",
    "Uses",
    "Weights",
    "auc",
    "boundaries",
    "copy",
    "evaluate",
    "full",
    "initial",
    "joined",
    "layers",
    "local",
    "localise",
    "look_up",
    "revert",
    "revert_mlp",
    "rows_of",
    "scale_note",
    "scaled",
    "step",
    "train",
    "uses",
]
