"""Relaxed with backup: TrainingCXL's relaxed log, and a rare copy in remote storage.

The copy survives the loss of the persistent memory, which holds the log.
"""

from dataclasses import replace
from functools import partial

from ...units import HOUR
from ..closed_form import batches_between
from ..protection import STORE, STORE_PRICE, Fidelity, Protection, ProtectionPlan, Site
from .peer import BACKUP
from .periodic_full import stored_copies
from .relaxed import PROTECTION as RELAXED
from .relaxed import log
from .undo import TCXL, log_plan

# A log in the same medium cannot restore losses of the medium; the rare copy can.
FIDELITY_BY_LOSS: dict[str, Fidelity] = {
    loss: "older" if fidelity == "lost" else fidelity for loss, fidelity in RELAXED.fidelity_by_loss.items()
}


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: commit every batch, and copy all state once a period.

    Training goes on during the copy; its reads of the tables make batches slower. Rows change meanwhile, so the logs of the
    batches during the copy are kept until the copy is complete. They bring all its rows to the same batch.
    """
    logged_plan, backup_drain = log_plan(site), site.state / min(site.remote.write_rate, site.home.read_rate)
    backup_batches = batches_between(site.period, logged_plan.step, backup_drain, BACKUP.value * HOUR)
    wait_seconds = site.state / backup_batches / site.home.read_rate
    return replace(
        logged_plan,
        step=logged_plan.step + wait_seconds,
        joules=logged_plan.joules
        + wait_seconds * site.watts
        + site.state / backup_batches * (site.home.joules + site.remote.joules),
        backup_interval=backup_batches,
        backup_drain=backup_drain,
        batch_bytes={**logged_plan.batch_bytes, "remote": site.state / backup_batches},
    )


PROTECTION = Protection(
    "Relaxed undo log, rare backup",
    "TrainingCXL's relaxed undo log, and every few hours a copy of all state in remote storage, written in the background.",
    FIDELITY_BY_LOSS,
    plan,
    partial(log, name="relaxed-backup"),
    periodic=True,
    interval_name="backup_interval",
    constants=(STORE, STORE_PRICE, BACKUP),
    cites=(TCXL,),
    storage_needs=stored_copies,
)
