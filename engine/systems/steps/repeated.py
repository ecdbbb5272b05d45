"""Repeated rows of a batch: where they are coalesced, how often each is read.

`policy.row_dedup` decides how often a repeated row is read, sent, accumulated and updated. With `memory`, near-data logic reads
a row once and holds it in a scratchpad for its other lookups. With `gpu`, a row is read and sent for each lookup, but a GPU sums
the gradients of a row over its samples and sends one; near-data logic joins those of several GPUs in its scratchpad. With `off`,
everything is done for each lookup.

Without near-data logic the GPU accesses rows across a CXL link itself. Each is a random access, so it crosses in whole lines of
64 B; a row's optimizer state is stored behind its values and crosses with them. Pooled vectors, indices and gradients lie in
contiguous buffers, also gradients for each row, which near-data logic spreads. They cross as bytes, as do rows that software
gathers into a buffer before it copies them.
"""

import numpy as np

from ...core.row_sizes import granule_bytes, mean_bytes
from ...core.work import Amount, Move
from ...hardware.concurrency import LINE
from ...hardware.device import expanders
from ...scenario.scenario import Scenario
from ..row_kinds import RowKind, vector_bytes
from ..system import Settled
from ..traffic import Traffic

MEGABYTE = 10**6


def scratchpad_rows(s: Scenario, near_data: bool) -> float | None:
    """Return the rows that the scratchpads of near-data logic hold, over all expanders.

    Return None if near-data logic does not coalesce rows. The rows are held while they are pooled and while gradients are added
    up, those of several GPUs too.
    """
    machine = s.machine
    if not near_data or not machine.near_data_compute or (s.policy.row_dedup != "memory" and not gpus_join(s)):
        return None
    return machine.near_data_scratchpad_MB * MEGABYTE * expanders(machine) / vector_bytes(s)


def accessed_rows(s: Scenario, t: Traffic) -> Amount:
    """Return the number of rows that memory reads for a batch's lookups.

    A row without a place in the scratchpad is read once per lookup.
    """
    if s.policy.row_dedup != "memory":
        return t.lookups
    return t.rows + t.repeated_reads if s.machine.near_data_compute else t.rows


def accessed_row(s: Scenario, t: Traffic) -> RowKind:
    """Return the bytes of the rows that memory reads: unique, or one per lookup."""
    return t.sizes.unique if s.policy.row_dedup == "memory" else t.sizes.by_lookup


def updated_row(s: Scenario, t: Traffic) -> RowKind:
    """Return the bytes of the rows that memory updates: unique, or one per lookup."""
    return t.sizes.by_lookup if s.policy.row_dedup == "off" else t.sizes.unique


def read_skew(s: Scenario, t: Traffic) -> Amount:
    """Return the reads of the busiest part over the mean of all parts.

    The reads are rows, or lookups if the memory does not coalesce repeated rows.
    """
    return t.row_skew if s.policy.row_dedup == "memory" else t.lookup_skew


def update_skew(s: Scenario, t: Traffic) -> Amount:
    """Return the updates of the busiest part over the mean of all parts.

    The updates are rows, or lookups if repeated rows are not coalesced.
    """
    return t.lookup_skew if s.policy.row_dedup == "off" else t.row_skew


def lookup_transfer(settled: Settled, t: Traffic, memory: str, times: Amount = 1.0) -> Move:
    """Return the transfer of a batch's lookup from all expanders to the GPU.

    Its bytes are multiplied by `times`, which is 0 for no lookup.
    """
    s, links = settled.scenario, settled.placement.links
    if s.machine.near_data_compute:
        vector_factor, skew = links.vectors
        return Move(times * (vector_factor * lookup_bytes(s, t)), skew=skew)
    _, skew = links.rows if s.policy.row_dedup == "memory" else links.lookups
    return Move(times * lookup_bytes(s, t, LINE), memory, skew=skew)


def update_transfer(settled: Settled, t: Traffic) -> Move:
    """Return the transfer of a batch's update from the GPU to all expanders."""
    s, links = settled.scenario, settled.placement.links
    of_rows = links.lookups if s.policy.row_dedup == "off" else links.rows
    link_factor, skew = of_rows if spread_by_gpu(s) else links.vectors
    return Move(link_factor * update_bytes(s, t, LINE), skew=skew)


def lookup_bytes(s: Scenario, t: Traffic, granule: int = 1) -> Amount:
    """Return the bytes that a batch's lookup sends to the GPU: pooled vectors, or rows.

    If the memory coalesces repeated rows, each row is sent once. A GPU that gets rows also updates them, so their optimizer
    state is sent too, with one of the lookups of each row. Each row is sent in whole granules of `granule` bytes.
    """
    if s.machine.near_data_compute:
        return t.pooled_bytes
    whole_rows: Amount = t.rows * granule_bytes(t.row_bytes, granule)
    if s.policy.row_dedup == "memory":
        return whole_rows
    row_vectors, vectors = (granule_bytes(rows.vector, granule) for rows in (t.sizes.unique, t.sizes.by_lookup))
    repeated_vectors: Amount = t.lookups * vectors - t.rows * row_vectors
    return whole_rows + repeated_vectors


def update_bytes(s: Scenario, t: Traffic, granule: int = 1) -> Amount:
    """Return the bytes that the GPU sends to the memory for a batch's update.

    They are pooled gradients; or a gradient per row, if the GPU spreads gradients; or new rows, without near-data compute. Each
    new row is sent in whole granules of `granule` bytes.
    """
    if not spread_by_gpu(s):
        return t.pooled_bytes
    by_lookup = s.policy.row_dedup == "off"
    rows = t.sizes.by_lookup if by_lookup else t.sizes.unique
    near_data = s.machine.near_data_compute
    row_nbytes = mean_bytes(rows.gradient) if near_data else granule_bytes(rows.row, granule)
    if by_lookup:
        return t.lookups * row_nbytes
    return (t.gpu_rows if near_data else t.rows) * row_nbytes


def accumulated_bytes(s: Scenario, t: Traffic) -> Amount:
    """Return the bytes of gradients that near-data logic adds up before the updates.

    They are the gradients of all lookups. If a GPU spreads gradients to rows there are none; if several do, they are what the
    GPUs send.
    """
    if gpus_join(s):
        return t.gpu_rows * mean_bytes(t.sizes.unique.gradient)
    return 0.0 if spread_by_gpu(s) else t.spread_bytes


def updated_rows(s: Scenario, t: Traffic) -> Amount:
    """Return the number of rows that memory reads, changes and writes.

    A row without a place in the scratchpad while gradients are added up counts for each of its lookups, or for each GPU that
    sends a gradient.
    """
    if s.policy.row_dedup == "off":
        return np.sign(t.rows) * t.lookups
    return t.rows if spread_by_gpu(s) and not gpus_join(s) else t.rows + t.repeated_reads


def gpus_join(s: Scenario) -> bool:
    """Return whether near-data logic joins the gradients of rows that several GPUs have summed."""
    return s.policy.row_dedup == "gpu" and s.machine.near_data_compute and s.machine.num_gpus > 1


def spread_by_gpu(s: Scenario) -> bool:
    """Return whether the GPU spreads pooled gradients to rows.

    Without near-data compute it always does.
    """
    return not s.machine.near_data_compute or s.policy.row_dedup == "gpu"
