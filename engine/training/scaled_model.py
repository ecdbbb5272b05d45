"""The functional twin: the largest model of a scenario's form that fits this computer's budgets.

Timing always uses the full model; the twin sees the same ids, in the same order and the same batches.
"""

from collections.abc import Iterator
from dataclasses import replace

from ..core.arrays import Ints
from ..errors import CannotRun
from ..scenario.scenario import Scenario, per_table
from ..units import FLOAT32, GiB
from .rows import distinct
from .shape import Shape, fold, mlp_size, row_nbytes, step_flop


def full(scenario: Scenario) -> Shape:
    """Return the shape of the model itself."""
    model = scenario.model
    return Shape(
        rows=per_table(model, "num_embeddings"),
        pooling=per_table(model, "pooling"),
        dim=model.embedding_dim,
        bottom=model.bottom_mlp,
        top=model.top_mlp,
        interaction=model.interaction,
        optimizer=model.optimizer,
        learning_rate=model.learning_rate,
    )


def scaled(scenario: Scenario, touched: Ints) -> Shape:
    """Return what to train of `scenario`, given the global rows that the run and its held-out samples touch.

    Raises CannotRun where not even the smallest twin fits the budgets.
    """
    return _folded(_narrowed(full(scenario), scenario), scenario, touched)


def scale_note(shape: Shape) -> str:
    """Return the sentence that says how the trained model differs from the timed one; '' when it does not."""
    parts = []
    if shape.width_divisor > 1:
        parts.append(f"hidden MLP widths divided by {shape.width_divisor}")
    if shape.table_divisor > 1:
        parts.append(f"embedding tables folded to 1/{shape.table_divisor} of their rows")
    return f"Trained on a functional twin with {' and '.join(parts)}; timing uses the full model." if parts else ""


def _narrowed(shape: Shape, scenario: Scenario) -> Shape:
    budget, batch_size = scenario.run.step_budget_GFLOP, scenario.data.batch_size
    for narrow in _divided(shape):
        flop = step_flop(narrow, batch_size)
        if flop <= budget * 1e9:
            return narrow
    raise CannotRun(
        f"run.step_budget_GFLOP={budget:g} GFLOP cannot hold a training step of {flop / 1e9:.3g} GFLOP, "
        f"even with hidden widths of 1; raise it, lower data.batch_size={batch_size}, or set run.training=off."
    )


def _divided(shape: Shape) -> Iterator[Shape]:
    """Yield `shape` with hidden widths divided by 1, 2, 4, ... until all of them are 1."""
    hidden = (*shape.bottom[1:-1], *shape.top[:-1])
    for power in range(max(hidden, default=1).bit_length()):
        divisor = 2**power
        narrow = [max(1, width // divisor) for width in hidden]
        cut = len(shape.bottom) - 2
        yield replace(
            shape,
            bottom=(shape.bottom[0], *narrow[:cut], shape.bottom[-1]),
            top=(*narrow[cut:], shape.top[-1]),
            width_divisor=divisor,
        )


def _folded(shape: Shape, scenario: Scenario, touched: Ints) -> Shape:
    budget = scenario.run.memory_budget_GiB * GiB
    fixed = FLOAT32 * mlp_size(shape) * (1 + shape.adagrad)
    for power in range(max(shape.rows).bit_length() + 1):
        smaller = replace(shape, table_divisor=2**power)
        count = len(touched) if power == 0 else len(distinct(fold(smaller, touched)))
        needed = count * row_nbytes(smaller) + fixed
        if needed <= budget:
            return smaller
    raise CannotRun(
        f"run.memory_budget_GiB={scenario.run.memory_budget_GiB:g} GiB cannot hold {needed / GiB:.3g} GiB of weights, "
        "even with every table folded to one row; raise it, or set run.training=off."
    )
