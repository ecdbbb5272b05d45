"""Periodic full: all tables and the MLP go to remote storage while training stands, at the best period or one asked for."""

from collections.abc import Mapping

from ..closed_form import batches_between
from ..protection import COPIES, LOSSES, STORE, STORE_PRICE, Keeps, Protection, ProtectionPlan, Site, StatePath

# A whole copy elsewhere brings everything back; of silent damage, if it is noticed before the next checkpoint.
COPY_ELSEWHERE: Mapping[str, Keeps] = dict.fromkeys(LOSSES, "exact")


def plan(site: Site, medium: str = "remote", overlapped: bool = False) -> ProtectionPlan:
    """Checkpoint all state to a medium; overlapped, training stands for a copy into host memory alone, if that holds one."""
    path: StatePath = getattr(site, medium)
    copied, sent = site.state / site.home.read, site.state / min(path.write, site.home.read)
    fits = overlapped and room(site) >= site.state
    pause, drain = (copied, site.state / path.write) if fits else (sent, 0.0)
    step = site.bare.step
    return ProtectionPlan(
        step=step,
        joules=site.bare.joules,
        every=batches_between(site, step, pause, drain),
        pause=pause,
        drain=drain,
        checkpoint_joules=site.state * (site.home.joules + path.joules),
        written={medium: site.state},
        restore=site.state / min(path.read, site.home.write),
        restore_joules=site.state * path.joules,
    )


def stored_copies(site: Site) -> Mapping[str, float]:
    """Return the bytes of remote storage that whole copies of the state take."""
    return {"store": COPIES * site.state}


def room(site: Site) -> float:
    """Return the bytes of host memory that tables do not take, over all nodes."""
    return max(site.host_dram - (site.tables if site.in_dram else 0.0), 0.0)


PROTECTION = Protection(
    "Periodic full checkpoint",
    "All tables and the MLP are written to remote storage while training stands.",
    COPY_ELSEWHERE,
    plan,
    periodic=True,
    constants=(STORE, STORE_PRICE),
    cites=("Young, CACM 17(9), 1974", "Daly, FGCS 22(3), 2006"),
    takes=stored_copies,
)
