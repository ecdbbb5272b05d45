"""Peer: each node's state is copied to another node's host memory.

The copy is sent once a period, while the network is idle. A rarer copy goes to remote storage. Recovery is fast, unless a whole
site fails. Source: Gemini, SOSP'23.
"""

from collections.abc import Mapping

from ...core.constants import Constant
from ...core.figures import figure
from ...errors import BadKnob
from ...registry import load_variant
from ...units import HOUR, GiB
from ..closed_form import batches_between
from ..protection import COPIES, LOSSES, STORE, STORE_PRICE, Fidelity, Protection, ProtectionPlan, Site
from .periodic_full import free_host_bytes, stored_copies

SOURCE = "Gemini, SOSP'23"
BACKUP = Constant("remote copy", 3, "h", 0.5, 24, "unsourced", "recalled: as rare as the checkpoints of large language models")
# A peer's copy survives the loss of its node, but not of the site, and it repeats silent damage.
ON_A_PEER: dict[str, Fidelity] = {**dict.fromkeys(LOSSES, "exact"), "bits": "lost", "site": "lost"}


def check_other_node(site: Site, name: str, clause: str) -> None:
    """Raise BadKnob for a machine of one node, as the copy needs another node."""
    if site.nodes >= 2:
        return
    system = site.scenario.system
    more = f"raise machine.num_gpus above {site.scenario.machine.gpus_per_node} or machine.embedding_servers, or "
    if load_variant("systems", system).one_node:
        more = ""
    raise BadKnob(f"protection={name} {clause}, but system={system} has 1 node here; {more}choose protection=periodic-full.")


def copy_times(site: Site, send_seconds: float, batches: int) -> tuple[float, float]:
    """Return the pause and the drain [s] of a copy every `batches` batches.

    send_seconds: the seconds that the copy takes of the network. Training stands still for the part that the network's idle time
    of these batches cannot send. It stands still for the whole copy where faults would cost more in a wait for idle time.
    """
    step = site.unlogged_pace.step
    idle = max(step - site.unlogged_pace.network, 0.0)
    sent_meanwhile = min(send_seconds, batches * idle)
    pause = send_seconds - sent_meanwhile
    if not sent_meanwhile or (site.mtbf and (batches * step + pause) * step > site.mtbf * idle):
        return send_seconds, 0.0
    return pause, sent_meanwhile / idle * step


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: once a period, send all state in the network's idle time."""
    check_other_node(site, "peer", "keeps each node's state in another's memory")
    needed_bytes, free_bytes = COPIES * site.state, free_host_bytes(site)
    if needed_bytes > free_bytes:
        raise BadKnob(
            f"protection=peer needs {figure(needed_bytes / GiB, 'GiB')} of host memory for two copies of all state, but "
            f"{figure(free_bytes / GiB, 'GiB')} are free; raise machine.host_dram_GiB, or choose protection=check-n-run."
        )
    step, backup_drain = site.unlogged_pace.step, site.state / site.remote.write_rate
    copy_batches = batches_between(site.period, step, 0.0)
    pause, drain = copy_times(site, site.state / min(site.network.write_rate, site.home.read_rate), copy_batches)
    backup_batches = batches_between(BACKUP.value * HOUR, step, backup_drain)
    return ProtectionPlan(
        step=step,
        joules=site.unlogged_pace.joules + site.state / backup_batches * site.remote.joules,
        backup_interval=backup_batches,
        backup_drain=backup_drain,
        batch_bytes={"remote": site.state / backup_batches},
        checkpoint_interval=copy_batches,
        pause=pause,
        drain=drain,
        checkpoint_joules=site.state * (site.home.joules + site.network.joules),
        checkpoint_bytes={"network": site.state, "dram": site.state},
        restore=site.state / site.shards / min(site.network.read_rate / site.nodes, site.home.write_rate / site.shards),
        restore_joules=site.state / site.shards * site.network.joules,
    )


def storage_needs(site: Site) -> Mapping[str, float]:
    """Return the host memory for copies of other nodes, and the storage for rarer copies."""
    return {"dram": COPIES * site.state / site.nodes, **stored_copies(site)}


PROTECTION = Protection(
    "Peer copy in memory",
    "Each node's state is copied to another node's host memory once a period, and at times to remote storage.",
    {**ON_A_PEER, "bits": "older", "site": "older"},
    plan,
    periodic=True,
    constants=(STORE, STORE_PRICE, BACKUP),
    cites=(SOURCE,),
    storage_needs=storage_needs,
)
