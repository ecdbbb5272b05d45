"""Relaxed with backup: TrainingCXL's relaxed log, and a rare copy elsewhere for what a log in the same medium cannot mend."""

from dataclasses import replace
from functools import partial

from ...units import HOUR
from ..protection import STORE, STORE_PRICE, Keeps, Protection, ProtectionPlan, Site
from .peer import BACKUP
from .periodic_full import stored_copies
from .relaxed import PROTECTION as RELAXED
from .relaxed import log
from .undo import TCXL, every_batch

# What the medium itself loses, a log in it cannot give back; the rare copy can.
KEEPS: dict[str, Keeps] = {loss: "older" if keeps == "lost" else keeps for loss, keeps in RELAXED.keeps.items()}


def plan(site: Site) -> ProtectionPlan:
    """Commit every batch, and read all state out once in a while; batches wait while their memory is read for the copy.

    Rows change while they are copied: the logs of the batches meanwhile are kept until it counts, and bring it to one batch.
    """
    kept = every_batch(site)
    rare = max(1, round(BACKUP.value * HOUR / kept.step))
    waits = site.state / rare / site.home.read
    return replace(
        kept,
        step=kept.step + waits,
        joules=kept.joules + waits * site.watts + site.state / rare * (site.home.joules + site.remote.joules),
        backup_every=rare,
        backup_drain=site.state / min(site.remote.write, site.home.read),
        batch_written={**kept.batch_written, "remote": site.state / rare},
    )


PROTECTION = Protection(
    "Relaxed undo log, rare backup",
    "TrainingCXL's relaxed log; every few hours a copy of all state goes to remote storage, beside training.",
    KEEPS,
    plan,
    partial(log, name="relaxed-backup"),
    constants=(STORE, STORE_PRICE, BACKUP),
    cites=(TCXL,),
    takes=stored_copies,
)
