"""Repeated rows of a batch: who unites them, and how often each is read.

So often it is also sent, accumulated and updated. `memory` reads a row once and holds it in a scratchpad for its other lookups;
`gpu` takes rows lookup by lookup and sends each row's gradient once; `off` does everything for each lookup.
"""

import numpy as np

from ...core.row_sizes import mean_bytes
from ...core.work import Amount, Move
from ...hardware.device import expanders
from ...scenario.scenario import Scenario
from ..row_kinds import RowKind, vector_bytes
from ..system import Settled
from ..traffic import Traffic

MEGABYTE = 10**6


def scratchpad_rows(s: Scenario, near_data: bool) -> float | None:
    """Return the rows that near-data logic holds at a time, over all expanders.

    None if no logic unites rows. It holds them while it pools and accumulates.
    """
    machine = s.machine
    if not near_data or not machine.near_data_compute or s.policy.row_dedup != "memory":
        return None
    return machine.near_data_scratchpad_MB * MEGABYTE * expanders(machine) / vector_bytes(s)


def accessed_rows(s: Scenario, t: Traffic) -> Amount:
    """Return the rows that memory reads for a batch's lookups.

    Rows without a place in the scratchpad are read again.
    """
    if s.policy.row_dedup != "memory":
        return t.lookups
    return t.rows + t.repeated_reads if s.machine.near_data_compute else t.rows


def accessed_row(s: Scenario, t: Traffic) -> RowKind:
    """Return the bytes of the rows that memory reads: unique rows, or one a lookup."""
    return t.sizes.unique if s.policy.row_dedup == "memory" else t.sizes.by_lookup


def updated_row(s: Scenario, t: Traffic) -> RowKind:
    """Return the bytes of the rows that memory updates."""
    return t.sizes.by_lookup if s.policy.row_dedup == "off" else t.sizes.unique


def read_skew(s: Scenario, t: Traffic) -> Amount:
    """Return the largest part's reads over the mean: of unique rows, or of lookups."""
    return t.row_skew if s.policy.row_dedup == "memory" else t.lookup_skew


def update_skew(s: Scenario, t: Traffic) -> Amount:
    """Return the largest part's updates over the mean."""
    return t.lookup_skew if s.policy.row_dedup == "off" else t.row_skew


def lookup_transfer(settled: Settled, t: Traffic, memory: str, times: Amount = 1.0) -> Move:
    """Return the bytes of a lookup over all expanders' links to the GPU, `times` times."""
    s, links = settled.scenario, settled.placement.links
    if s.machine.near_data_compute:
        vector_factor, skew = links.vectors
        return Move(times * (vector_factor * lookup_bytes(s, t)), skew=skew)
    _, skew = links.rows if s.policy.row_dedup == "memory" else links.lookups
    return Move(times * lookup_bytes(s, t), memory, skew=skew)


def update_transfer(settled: Settled, t: Traffic) -> Move:
    """Return the bytes that come back over the links for the update."""
    s, links = settled.scenario, settled.placement.links
    of_rows = links.lookups if s.policy.row_dedup == "off" else links.rows
    link_factor, skew = of_rows if spread_by_gpu(s) else links.vectors
    return Move(link_factor * update_bytes(s, t), skew=skew)


def lookup_bytes(s: Scenario, t: Traffic) -> Amount:
    """Return the bytes that a lookup sends to the GPU: pooled vectors, or rows.

    Rows are sent once each if the memory unites them. A GPU that gets rows also updates them, so their optimizer state crosses
    too.
    """
    if s.machine.near_data_compute:
        return t.pooled_bytes
    return t.state_bytes + (t.rows * mean_bytes(t.vector_bytes) if s.policy.row_dedup == "memory" else t.lookup_bytes)


def update_bytes(s: Scenario, t: Traffic) -> Amount:
    """Return the bytes that come back for the update.

    They are pooled gradients, each row's gradient if the GPU has united them, or new rows.
    """
    if not spread_by_gpu(s):
        return t.pooled_bytes
    by_lookup = s.policy.row_dedup == "off"
    rows = t.sizes.by_lookup if by_lookup else t.sizes.unique
    row_nbytes = mean_bytes(rows.gradient if s.machine.near_data_compute else rows.row)
    return t.lookups * row_nbytes if by_lookup else t.rows * row_nbytes


def accumulated_bytes(s: Scenario, t: Traffic) -> Amount:
    """Return the gradient bytes that near-data logic adds up before updates.

    They are those of all lookups, or none.
    """
    return 0.0 if spread_by_gpu(s) else t.spread_bytes


def updated_rows(s: Scenario, t: Traffic) -> Amount:
    """Return the rows that memory reads, changes and writes.

    Rows without a place while gradients are added up count more often.
    """
    if s.policy.row_dedup == "off":
        return np.sign(t.rows) * t.lookups
    return t.rows if spread_by_gpu(s) else t.rows + t.repeated_reads


def spread_by_gpu(s: Scenario) -> bool:
    """Return whether the GPU spreads pooled gradients to rows: always without near-data compute."""
    return not s.machine.near_data_compute or s.policy.row_dedup == "gpu"
