"""Check-N-Run: checkpoints of changed rows only, quantised.

Each checkpoint goes to remote storage, and a recovery adds the checkpoints to the last whole copy. Check-N-Run writes much less
than checkpoints of the whole state, but rounds the restored rows. Source: Check-N-Run, NSDI'22 (arXiv 2010.08679).
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...core.constants import Constant
from ...core.row_sizes import mean_bytes
from ...scenario.scenario import per_table
from ...systems.row_kinds import RowKind, mean_kind, row_kinds
from ...systems.traffic import INDEX_BYTES
from ...units import FLOAT32
from ...workload.caching.expected_cache import unique_by_table
from ...workload.caching.unique_rows import expected_unique
from ..closed_form import batches_between
from ..protection import COPIES, LOSSES, STORE, STORE_PRICE, Protection, ProtectionPlan, Site
from .periodic_full import free_host_bytes

SOURCE = "Check-N-Run, NSDI'22 (arXiv 2010.08679)"
BITS = Constant("quantised weight", 4, "bit", 2, 8, "stated", SOURCE, "its widths are 2, 3, 4 and 8")
SCALE_BYTES = 2 * FLOAT32  # a row's own smallest value and step


class Increment(NamedTuple):
    """One incremental checkpoint.

    interval: batches between checkpoints.
    changed_bytes: bytes of the changed rows in memory.
    sent_bytes: bytes of the changed rows as sent, quantised.
    stored_bytes: bytes in storage, the whole copy included.
    """

    interval: int
    changed_bytes: float
    sent_bytes: float
    stored_bytes: float


def increment(site: Site) -> Increment:
    """Return one checkpoint at the site's period.

    Where its bytes are not sent by then, the period is the shortest after which they are.
    """
    low, high = 0, batches_between(site.period, site.unlogged_pace.step, 0.0)
    while not _is_sent(site, shortest := _increment(site, high)):
        low, high = high, 2 * high
    while low and high - low > 1:
        middle = _increment(site, (low + high) // 2)
        if _is_sent(site, middle):
            high, shortest = middle.interval, middle
        else:
            low = middle.interval
    return shortest


def _is_sent(site: Site, checkpoint: Increment) -> bool:
    """Return whether a checkpoint is sent before the next one starts, or has no room to wait in host memory."""
    send_seconds = checkpoint.sent_bytes / site.remote.write_rate
    return send_seconds <= checkpoint.interval * site.unlogged_pace.step or free_host_bytes(site) < checkpoint.changed_bytes


def _increment(site: Site, batches: int) -> Increment:
    """Return the checkpoint of the rows that change in some batches."""
    s, rows = site.scenario, expected_unique(site.scenario, batches)
    table_kind = mean_kind(s, per_table(s.model, "num_embeddings"))
    has_like_rows = len(row_kinds(s)[0]) == 1
    unique_kind = table_kind if has_like_rows else mean_kind(s, unique_by_table(s, batches))
    sent_bytes, changed_bytes = (
        rows * (INDEX_BYTES + _quantised_bytes(unique_kind)) + site.mlp,
        rows * mean_bytes(unique_kind.row) + site.mlp,
    )
    copy_bytes = (
        site.tables / mean_bytes(table_kind.row) * _quantised_bytes(table_kind) + site.mlp
    )  # all rows in order, without row numbers
    return Increment(batches, changed_bytes, sent_bytes, copy_bytes + sent_bytes)


def _quantised_bytes(kind: RowKind) -> float:
    """Return the bytes of a mean row as sent.

    They are its scale, and BITS for each element and word of state.
    """
    words = (mean_bytes(kind.state_and_checksum) + mean_bytes(kind.gradient)) / FLOAT32
    return SCALE_BYTES + float(words * BITS.value / 8)


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: pause to copy changed rows, then write the copy during training.

    Each increment holds the changes since the last one. Check-N-Run's authors report, for their models, 6 to 17 times fewer bytes
    written than by checkpoints of the whole state, and 2.5 to 8 times fewer bytes stored.
    """
    step = site.unlogged_pace.step
    batches, changed_bytes, sent_bytes, restored_bytes = increment(site)
    drain, pause = sent_bytes / site.remote.write_rate, changed_bytes / site.home.read_rate
    if free_host_bytes(site) < changed_bytes:
        pause, drain = max(pause, drain), 0.0
    return ProtectionPlan(
        step=step,
        joules=site.unlogged_pace.joules,
        checkpoint_interval=batches,
        pause=pause,
        drain=drain,
        checkpoint_joules=changed_bytes * site.home.joules + sent_bytes * site.remote.joules,
        checkpoint_bytes={"remote": sent_bytes},
        restore=max(restored_bytes / site.remote.read_rate, site.state / site.home.write_rate),
        restore_joules=restored_bytes * site.remote.joules,
    )


def storage_needs(site: Site) -> Mapping[str, float]:
    """Return the bytes of remote storage that quantised copies and increments take."""
    return {"store": COPIES * increment(site).stored_bytes}


PROTECTION = Protection(
    "Check-N-Run",
    "Checkpoints contain only rows changed since the last one, quantised to 4 bits.",
    dict.fromkeys(LOSSES, "lossy"),
    plan,
    periodic=True,
    constants=(STORE, STORE_PRICE, BITS),
    cites=(SOURCE,),
    storage_needs=storage_needs,
)
