"""Periodic overlapped: training stands for a copy in host memory, which goes to remote storage while training goes on."""

from ..protection import STORE, Protection, ProtectionPlan, Site
from .periodic_full import COPY_ELSEWHERE, to


def plan(site: Site) -> ProtectionPlan:
    """Checkpoint to remote storage, beside training."""
    return to(site, "remote", site.remote, overlapped=True)


PROTECTION = Protection(
    "Periodic checkpoint, overlapped",
    "All tables and the MLP are copied in host memory, then written to remote storage beside training.",
    COPY_ELSEWHERE,
    plan,
    periodic=True,
    constants=(STORE,),
    cites=("Daly, FGCS 22(3), 2006",),
)
