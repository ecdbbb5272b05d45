"""CPR: partial recovery, in which only the failed part returns to its checkpoint.

Training goes on without replay, so the failed part loses its updates since the checkpoint. CPR saves time if a small loss of AUC
is acceptable. Source: CPR, MLSys'21 (arXiv 2011.02999).
"""

from dataclasses import replace

from ...core.constants import Constant
from ...errors import BadKnob
from ...registry import load_variant
from ..protection import LOSSES, STORE, STORE_PRICE, Protection, ProtectionPlan, Site
from . import periodic_full

SOURCE = "CPR, MLSys'21 (arXiv 2011.02999)"
LOST_SAMPLES = Constant("portion of lost samples", 0.1, "of all", 0.02, 0.1, "unsourced", "recalled from CPR's evaluation")


def plan(site: Site) -> ProtectionPlan:
    """Return the plan: full checkpoints, of which a recovery reads one part."""
    if site.shards < 2:
        system = site.scenario.system
        more = "" if load_variant("systems", system).one_node else "raise machine.num_gpus or machine.embedding_servers, or "
        raise BadKnob(
            f"protection=cpr needs tables in at least 2 parts that fail separately, but system={system} keeps them in 1; "
            f"{more}choose protection=periodic-full."
        )
    return replace(periodic_full.plan(site), partial=True)


def longest_period(site: Site, rate: float) -> float:
    """Return the seconds between checkpoints that lose the accepted share of samples.

    rate: faults of parts a second. A fault of a part loses, in the mean, that part's updates of half a period.
    """
    return 2 * LOST_SAMPLES.value * site.shards / rate


PROTECTION = Protection(
    "CPR, partial recovery",
    "After a fault, only the failed part of the tables returns to its checkpoint; training goes on without replay.",
    {**dict.fromkeys(LOSSES, "lossy"), "site": "exact"},
    plan,
    periodic=True,
    longest_period=longest_period,
    constants=(STORE, STORE_PRICE, LOST_SAMPLES),
    cites=(SOURCE,),
    storage_needs=periodic_full.stored_copies,
)
