"""Parity: every update also goes to a parity of the other parts' rows, from which a lost part is computed."""

from collections.abc import Mapping

from ...systems.row_kinds import unique_row_bytes
from ...systems.traffic import INDEX_BYTES
from ...workload.caching.expected_cache import expected_unique
from ..protection import Protection, ProtectionPlan, Site
from .peer import ON_A_PEER, check_other_node

SOURCE = "ECRM (arXiv 2104.01981)"


def plan(site: Site) -> ProtectionPlan:
    """Send each updated row's difference in the network's idle time; a step lasts at least as long as all that it sends."""
    check_other_node(site, "parity", "keeps the parity of a node's rows on others")
    sent = expected_unique(site.scenario, 1) * (unique_row_bytes(site.scenario) + INDEX_BYTES)
    step = max(site.bare.step, site.bare.network + sent / site.network.write)
    lost = site.tables / site.shards
    # The lost part is the sum of all others and the parity: as many bytes as all tables, into one node.
    others = lost * site.shards
    return ProtectionPlan(
        step=step,
        joules=site.bare.joules + (step - site.bare.step) * site.watts + sent * site.network.joules,
        every=1,
        batch_written={"network": sent, "dram": sent},
        restore=max(others / (site.network.read / site.nodes), lost / (site.home.write / site.shards)),
        restore_joules=others * (site.home.joules + site.network.joules),
    )


def takes(site: Site) -> Mapping[str, float]:
    """Return the host memory of each node that the parity, as large as one part, takes."""
    return {"dram": site.tables / site.shards / site.nodes}


PROTECTION = Protection(
    "Parity in memory",
    "Updates also go to a parity, from which one lost part is computed.",
    ON_A_PEER,
    plan,
    cites=(SOURCE,),
    takes=takes,
)
