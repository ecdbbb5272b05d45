"""Parity: a parity of all parts in memory, from which a lost part is computed.

Every update also changes the parity, over the network. Recovery is exact and needs no checkpoint, but only one part may fail at
a time. Source: ECRM (arXiv 2104.01981).
"""

from collections.abc import Mapping

from ...systems.row_kinds import unique_row_bytes
from ...systems.traffic import INDEX_BYTES
from ...workload.caching.unique_rows import expected_unique
from ..protection import Protection, ProtectionPlan, Site
from .peer import ON_A_PEER, check_other_node

SOURCE = "ECRM (arXiv 2104.01981)"


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: send the differences of updated rows in the network's idle time.

    A step lasts at least as long as the network is busy.
    """
    check_other_node(site, "parity", "keeps the parity of a node's rows on others")
    sent_bytes = expected_unique(site.scenario, 1) * (unique_row_bytes(site.scenario) + INDEX_BYTES)
    step = max(site.unlogged_pace.step, site.unlogged_pace.network + sent_bytes / site.network.write_rate)
    lost_bytes = site.tables / site.shards
    # The lost part is the sum of all others and the parity: as many bytes as all tables, into one node.
    read_bytes = lost_bytes * site.shards
    return ProtectionPlan(
        step=step,
        joules=site.unlogged_pace.joules + (step - site.unlogged_pace.step) * site.watts + sent_bytes * site.network.joules,
        checkpoint_interval=1,
        batch_bytes={"network": sent_bytes, "dram": sent_bytes},
        restore=max(read_bytes / (site.network.read_rate / site.nodes), lost_bytes / (site.home.write_rate / site.shards)),
        restore_joules=read_bytes * (site.home.joules + site.network.joules),
    )


def storage_needs(site: Site) -> Mapping[str, float]:
    """Return the bytes of each node's host memory that the parity takes.

    Over all nodes the parity is as large as one part.
    """
    return {"dram": site.tables / site.shards / site.nodes}


PROTECTION = Protection(
    "Parity in memory",
    "Every update also changes a parity in memory, from which one lost part of the tables can be computed.",
    ON_A_PEER,
    plan,
    cites=(SOURCE,),
    storage_needs=storage_needs,
)
