"""Remote, no cache: every trainer fetches a batch's rows from embedding servers.

It is the baseline for Bagpipe: each trainer fetches all rows of the batch over the network, the trainers sum their gradients,
and one trainer writes the rows back. Nothing overlaps. Source: the baseline of Agarwal et al., arXiv 2202.12429, in their
published code.
"""

from ...core.graph import Task
from ..loop import training_loop
from ..steps import gpu, remote
from ..system import Settled, System
from ..traffic import Traffic


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, which do not overlap.

    The training loop waits for calls to servers, and rows are read after the previous batch has been written. Each trainer has
    all rows of the batch and sums all gradients, so that all trainers have the same values.
    """
    s = settled.scenario
    rows = s.machine.num_gpus * t.rows
    gathered, summed = remote.gather_gradients(s, t, ("Gradient spreading",))
    return (
        training_loop(("Rows to GPU",)),
        *remote.fetch(t, rows, ("Scatter remote rows", "Training loop")),
        gpu.features(t, "Embedding lookup"),
        *gpu.train_step(settled, t, rows, ("Rows to GPU", "Sparse features"), updated_after=summed),
        *gathered,
        *remote.send_back(t, t.rows, ("Embedding update", "Training loop"), cards=s.machine.num_gpus),
    )


SYSTEM = System(
    title="Remote, no cache",
    summary="Tables on embedding servers; every trainer fetches all rows of each batch, and one writes them back.",
    devices=("host", "gpu", "pcie", "network", "remote"),
    memory="servers",
    plan=plan,
    family="Look-ahead",
    baseline="remote-no-cache",
    parts_kind="servers",
    cites=("the baseline of Agarwal et al., arXiv 2202.12429, as their published code has it",),
)
