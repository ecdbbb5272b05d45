"""Check-N-Run: only rows that changed since the last checkpoint are written, quantised, every half hour."""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from ...core.constants import Constant
from ...core.row_sizes import mean_bytes
from ...scenario.scenario import per_table
from ...systems.row_kinds import RowKind, mean_kind
from ...systems.traffic import INDEX_BYTES
from ...units import FLOAT32
from ...workload.caching.expected_cache import expected_unique, unique_by_table
from ..closed_form import CUSTOMARY
from ..protection import COPIES, LOSSES, STORE, STORE_PRICE, Protection, ProtectionPlan, Site
from .periodic_full import room

SOURCE = "Check-N-Run, NSDI'22 (arXiv 2010.08679)"
BITS = Constant("quantised weight", 4, "bit", 2, 8, "stated", SOURCE, "its widths are 2, 3, 4 and 8")
SCALE_BYTES = 2 * FLOAT32  # a row's own smallest value and step


class Increment(NamedTuple):
    """A checkpoint of every `every` batches: bytes of rows as they change, as sent, and with the whole copy that they need."""

    every: int
    changed: float
    sent: float
    kept: float


def increment(site: Site) -> Increment:
    """Return a checkpoint's bytes, at the period asked for or the customary one."""
    every = max(1, round((site.period or CUSTOMARY) / site.bare.step))
    rows, s = expected_unique(site.scenario, every), site.scenario
    unique, stored = mean_kind(s, unique_by_table(s, every)), mean_kind(s, per_table(s.model, "num_embeddings"))
    sent, changed = rows * (INDEX_BYTES + _quantised(unique)) + site.mlp, rows * mean_bytes(unique.row) + site.mlp
    whole = site.tables / mean_bytes(stored.row) * _quantised(stored) + site.mlp  # of all rows, which need no numbers
    return Increment(every, changed, sent, whole + sent)


def _quantised(kind: RowKind) -> float:
    """Return the bytes of a mean row as it is sent, its scale included: a few bits for each element and word of state."""
    words = (mean_bytes(kind.beside) + mean_bytes(kind.gradient)) / FLOAT32
    return SCALE_BYTES + float(words * BITS.value / 8)


def plan(site: Site) -> ProtectionPlan:
    """Copy what changed while training stands, write it beside training; each increment counts from the last one.

    Published, of its authors' models: 6 to 17 times fewer bytes than all state written, 2.5 to 8 times fewer kept.
    """
    step = site.bare.step
    every, changed, sent, back = increment(site)
    drain, pause = sent / site.remote.write, changed / site.home.read
    if room(site) < changed:
        pause, drain = max(pause, drain), 0.0
    return ProtectionPlan(
        step=step,
        joules=site.bare.joules,
        every=max(every, ceil(drain / step)),
        pause=pause,
        drain=drain,
        checkpoint_joules=changed * site.home.joules + sent * site.remote.joules,
        written={"remote": sent},
        restore=max(back / site.remote.read, site.state / site.home.write),
        restore_joules=back * site.remote.joules,
    )


def takes(site: Site) -> Mapping[str, float]:
    """Return the bytes of remote storage that quantised copies and increments take."""
    return {"store": COPIES * increment(site).kept}


PROTECTION = Protection(
    "Check-N-Run",
    "Changed rows alone are checkpointed, quantised to 4 bits, every 30 minutes.",
    dict.fromkeys(LOSSES, "lossy"),
    plan,
    periodic=True,
    constants=(STORE, STORE_PRICE, BITS),
    cites=(SOURCE,),
    takes=takes,
)
