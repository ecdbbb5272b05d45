"""Parity: a parity of all parts in memory, from which a lost part is computed.

Once a period the differences of updated rows are sent to the parity. Recovery is exact and needs no checkpoint, but only one part
may fail at a time. Source: ECRM (arXiv 2104.01981).
"""

from collections.abc import Mapping

from ...core.figures import figure
from ...errors import BadKnob
from ...systems.row_kinds import unique_row_bytes
from ...systems.traffic import INDEX_BYTES
from ...units import GiB
from ...workload.caching.unique_rows import expected_unique
from ..closed_form import batches_between
from ..protection import COPIES, Protection, ProtectionPlan, Site
from .peer import ON_A_PEER, check_other_node, copy_times
from .periodic_full import free_host_bytes

SOURCE = "ECRM (arXiv 2104.01981)"


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: once a period, send the differences of the rows updated since.

    They are sent in the network's idle time. With a period of one batch, the batch lasts at least as long as the network is busy.
    In longer periods a row that many batches update is sent once, and a recovery takes all parts back to the last refresh.
    """
    check_other_node(site, "parity", "keeps the parity of a node's rows on others")
    needed_bytes, free_bytes = storage_needs(site)["dram"] * site.nodes, free_host_bytes(site)
    if needed_bytes > free_bytes:
        raise BadKnob(
            f"protection=parity needs {figure(needed_bytes / GiB, 'GiB')} of host memory for the parity and for differences of "
            f"rows, but {figure(free_bytes / GiB, 'GiB')} are free; lower policy.checkpoint_minutes, raise "
            "machine.host_dram_GiB, or choose protection=check-n-run."
        )
    batches, sent_bytes = _batches(site), _sent_bytes(site)
    base_step = site.unlogged_pace.step
    pause, drain = copy_times(site, sent_bytes / site.network.write_rate, batches)
    step = base_step
    if batches == 1:  # a batch ends when its rows' parity has changed too
        step = max(base_step, site.unlogged_pace.network + sent_bytes / site.network.write_rate)
        pause = drain = 0.0
    lost_bytes = site.tables / site.shards
    # The lost part is the sum of all others and the parity: as many bytes as all tables, into one node.
    read_bytes = lost_bytes * site.shards
    return ProtectionPlan(
        step=step,
        joules=site.unlogged_pace.joules + (step - base_step) * site.watts,
        checkpoint_interval=batches,
        pause=pause,
        drain=drain,
        checkpoint_joules=sent_bytes * site.network.joules,
        checkpoint_bytes={"network": sent_bytes, "dram": sent_bytes},
        restore=max(read_bytes / (site.network.read_rate / site.nodes), lost_bytes / (site.home.write_rate / site.shards)),
        restore_joules=read_bytes * (site.home.joules + site.network.joules),
    )


def _batches(site: Site) -> int:
    """Return the batches between two refreshes."""
    step = site.unlogged_pace.step
    return batches_between(site.period, step, 0.0, customary=step)


def _sent_bytes(site: Site) -> float:
    """Return the bytes of a refresh: the differences of the rows that its batches update."""
    return expected_unique(site.scenario, _batches(site)) * (unique_row_bytes(site.scenario) + INDEX_BYTES)


def storage_needs(site: Site) -> Mapping[str, float]:
    """Return the bytes of each node's host memory that the parity takes.

    Over all nodes the parity is as large as one part. Differences wait at their nodes for the next refresh, and stay at both ends
    until it is complete, so that a fault meanwhile can go back.
    """
    waiting_bytes = COPIES * _sent_bytes(site) if _batches(site) > 1 else 0.0
    return {"dram": (site.tables / site.shards + waiting_bytes) / site.nodes}


PROTECTION = Protection(
    "Parity in memory",
    "Updates also change a parity in memory once a period, from which one lost part of the tables can be computed.",
    ON_A_PEER,
    plan,
    periodic=True,
    cites=(SOURCE,),
    storage_needs=storage_needs,
)
