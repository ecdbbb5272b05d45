"""Functional training: a real DLRM, forward, backward and sparse update, over only the rows that a run touches.

Read in this order: `shape` and `twin` (what is trained), `rows`, `guide` and `weights` (the state), `lookup`,
`interaction`, `mlp`, `loss` and `update` (the pieces), `step` (one batch, on one screen), `evaluate`, `revert`,
and `loop` (many batches).

    seen = touched([*batches, held_out])
    shape = twin(scenario, seen)
    trained = train(shape, initial(shape, seen, seed), source.batch, 0, 1000, held_out=held_out)
"""

from .evaluate import Evaluation, auc, evaluate
from .lookup import LocalBatch, Uses, localise, look_up, uses
from .loop import KeptMlp, OnBatch, Recorded, Trained, boundaries, joined, train
from .revert import revert, revert_mlp
from .rows import rows_of
from .scaled_model import full, scale_note, scaled
from .shape import Shape
from .step import Early, StepResult, step
from .weights import Layer, Weights, copy, initial, layers, local

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
