"""Peer: each node keeps a copy of another one's state in host memory, renewed as often as the network is idle enough."""

from collections.abc import Mapping
from math import ceil

from ...core.constants import Constant
from ...core.figures import figure
from ...errors import BadKnob
from ...units import HOUR, GiB
from ..protection import COPIES, LOSSES, STORE, STORE_PRICE, Keeps, Protection, ProtectionPlan, Site
from .periodic_full import room, stored_copies

SOURCE = "Gemini, SOSP'23"
LEAST_IDLE = 0.01  # of a step: with less, training stands for the copy
BACKUP = Constant("remote copy", 3, "h", 0.5, 24, "unsourced", "recalled: as rare as the checkpoints of large language models")
# A peer's copy outlives its node; it repeats silent damage, and is gone with the site.
ON_A_PEER: dict[str, Keeps] = {**dict.fromkeys(LOSSES, "exact"), "bits": "lost", "site": "lost"}


def check_other_node(site: Site, name: str, does: str) -> None:
    """Refuse a machine of one node, whose copy would lie on a machine that nobody pays for; raises BadKnob."""
    if site.nodes < 2:
        raise BadKnob(
            f"protection={name} {does}, but system={site.scenario.system} has 1 node here; "
            f"raise machine.num_gpus above {site.scenario.machine.gpus_per_node} or machine.embedding_servers, or choose "
            "protection=periodic-full."
        )


def plan(site: Site) -> ProtectionPlan:
    """Send all state in the network's idle time, again and again."""
    check_other_node(site, "peer", "keeps each node's state in another's memory")
    need, have = COPIES * site.state, room(site)
    if need > have:
        raise BadKnob(
            f"protection=peer needs {figure(need / GiB, 'GiB')} of host memory for two copies of all state, but "
            f"{figure(have / GiB, 'GiB')} are free; raise machine.host_dram_GiB, or choose protection=check-n-run."
        )
    step, sent = site.bare.step, site.state / min(site.network.write, site.home.read)
    idle = step - site.bare.network
    standing = idle < LEAST_IDLE * step
    every = ceil(sent / (step if standing else idle))
    rare = max(1, round(BACKUP.value * HOUR / step))
    return ProtectionPlan(
        step=step,
        joules=site.bare.joules + site.state / rare * site.remote.joules,
        backup_every=rare,
        backup_drain=site.state / site.remote.write,
        batch_written={"remote": site.state / rare},
        every=max(1, every),
        pause=sent if standing else 0.0,
        drain=0.0 if standing else every * step,
        checkpoint_joules=site.state * (site.home.joules + site.network.joules),
        written={"network": site.state, "dram": site.state},
        restore=site.state / site.shards / min(site.network.read / site.nodes, site.home.write / site.shards),
        restore_joules=site.state / site.shards * site.network.joules,
    )


def takes(site: Site) -> Mapping[str, float]:
    """Return the host memory of each node's copies of its peer, and the storage of the rare ones."""
    return {"dram": COPIES * site.state / site.nodes, **stored_copies(site)}


PROTECTION = Protection(
    "Peer copy in memory",
    "A peer's host memory holds a copy of each node's state, sent while the network is idle; a rare one goes to storage.",
    {**ON_A_PEER, "bits": "older", "site": "older"},
    plan,
    constants=(STORE, STORE_PRICE, BACKUP),
    cites=(SOURCE,),
    takes=takes,
)
