"""Periodic full: training pauses to write tables and MLP to remote storage.

This is the common checkpoint, at the period with the least loss. Source: Young, CACM 17(9), 1974; Daly, FGCS 22(3), 2006.
"""

from collections.abc import Mapping

from ..closed_form import batches_between
from ..protection import COPIES, LOSSES, STORE, STORE_PRICE, Fidelity, Protection, ProtectionPlan, Site, StatePath

# A whole copy elsewhere restores all state, after silent damage only if it is noticed before the next checkpoint.
COPY_ELSEWHERE: Mapping[str, Fidelity] = dict.fromkeys(LOSSES, "exact")


def plan(site: Site, medium: str = "remote", overlapped: bool = False) -> ProtectionPlan:
    """Return the plan: checkpoint all state to a medium, with a pause of training.

    If `overlapped` and host memory has room, training stands still only for a copy into host memory.
    """
    path: StatePath = getattr(site, medium)
    copy_seconds, send_seconds = site.state / site.home.read_rate, site.state / min(path.write_rate, site.home.read_rate)
    fits = overlapped and free_host_bytes(site) >= site.state
    pause, drain = (copy_seconds, site.state / path.write_rate) if fits else (send_seconds, 0.0)
    step = site.unlogged_pace.step
    return ProtectionPlan(
        step=step,
        joules=site.unlogged_pace.joules,
        checkpoint_interval=batches_between(site.period, step, drain),
        pause=pause,
        drain=drain,
        checkpoint_joules=site.state * (site.home.joules + path.joules),
        checkpoint_bytes={medium: site.state},
        restore=site.state / min(path.read_rate, site.home.write_rate),
        restore_joules=site.state * path.joules,
    )


def stored_copies(site: Site) -> Mapping[str, float]:
    """Return the bytes of remote storage that whole copies of the state take."""
    return {"store": COPIES * site.state}


def free_host_bytes(site: Site) -> float:
    """Return the bytes of host memory that hold no tables, over all nodes."""
    return max(site.host_dram - (site.tables if site.in_dram else 0.0), 0.0)


PROTECTION = Protection(
    "Periodic full checkpoint",
    "Training pauses while all tables and the MLP are written to remote storage.",
    COPY_ELSEWHERE,
    plan,
    periodic=True,
    constants=(STORE, STORE_PRICE),
    cites=("Young, CACM 17(9), 1974", "Daly, FGCS 22(3), 2006"),
    storage_needs=stored_copies,
)
