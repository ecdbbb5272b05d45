"""A row of results for each embedding table: size, memory, hit rate, time.

Hits, lookups and unique rows are expected by the generator's popularity. The time is the busy time of the busiest device of the
embedding stage, shared out among tables. A table's share is its part of the seconds of lookups and unique rows on one part of
the machine. For systems without such parts it is its part of the bytes: a vector and a gradient for each lookup, and twice the
row for each unique row.
"""

from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from ..core.arithmetic import remaining_share, total
from ..core.arrays import Floats, Row
from ..core.figures import count, figure, percent
from ..registry import load_variant
from ..results.result import Result
from ..scenario.scenario import per_table
from ..schedule.machine import settle
from ..systems.kernels.mixed import HBM, HOST, UVM, UVM_CACHE, chosen_kernels
from ..systems.parts import kind_of, table_seconds, table_units
from ..systems.row_kinds import kind_bytes
from ..systems.sharding import Pieces
from ..systems.system import Settled, cache_policy, cached_tables
from ..systems.traffic import table_nbytes
from ..units import GB, MS
from ..workload.accesses import expected_accesses
from ..workload.caching.expected_cache import hottest_by_table, missed_shares
from .table_list import COLUMNS, TABLE

MEMORIES: Mapping[str, str] = {
    "hbm": "HBM",
    "dram": "host DRAM",
    "expander-dram": "DRAM behind CXL",
    "pmem": "PMEM",
    "ssd": "drives",
    "servers": "embedding servers",
}
# Memories by a table's kernel, for systems whose tables have kernels of their own.
MEMORY_BY_KERNEL: Mapping[str, str] = {
    HBM: "HBM",
    UVM: "host DRAM, read by the GPU",
    UVM_CACHE: "host DRAM, cache in HBM",
    HOST: "host DRAM, read by the host",
}
STAGE = "Embedding"
MOST_NAMED = 6  # at most so many parts are named one by one


def table_rows(result: Result, names: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return a row for each table of a result's scenario, named or numbered.

    Empty if the scenario could not run.
    A row has Table, the columns of a list of tables, Size [GB], Memory, Parts, Hit rate [%] (None without a cache), Lookups a
    batch, Unique rows a batch, and Embedding time [ms].
    """
    settled = settle(result.scenario)
    if not result.ran or settled.problems:
        return ()
    s, accesses = settled.scenario, expected_accesses(settled.scenario)
    hits, times = _hit_rates(settled), _busy_seconds(result)[1] * _time_shares(settled)
    columns: dict[str, Sequence[object]] = {
        TABLE: [name or str(number) for number, name in enumerate(names or ("",) * s.model.num_tables, 1)],
        **{title: per_table(s.model, path.partition(".")[2]) for title, path in COLUMNS.items()},
        "Size [GB]": (table_nbytes(s) / GB).tolist(),
        "Memory": _memories(settled),
        "Parts": _parts(settled),
        "Hit rate [%]": [None if isnan(hit) else 100 * min(hit, 1.0) for hit in hits.tolist()],
        "Lookups a batch": accesses.lookups.tolist(),
        "Unique rows a batch": accesses.unique_rows.tolist(),
        "Embedding time [ms]": (times / MS).tolist(),
    }
    return tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


def times_note(result: Result) -> str:
    """Return a sentence on the sum of all tables' times and on their shares.

    Return "" if the scenario could not run.
    """
    if not result.ran:
        return ""
    device, busy = _busy_seconds(result)
    exposed = total(row["Exposed [s]"] for row in result.breakdown if row["Stage"] == STAGE)
    kind = kind_of(settle(result.scenario).system)
    way = (
        f"what its lookups and unique rows take on one {kind.title}"
        if kind
        else "the bytes that its lookups and unique rows move"
    )
    return (
        f"Embedding work keeps {device} busy for {figure(busy / MS, 'ms')} per batch, and lengthens the step by "
        f"{figure(exposed / MS, 'ms')}; the busy time is divided among the tables by {way}."
    )


def times_finding(rows: Sequence[Row]) -> str:
    """Return a clause on the tables that take half of the embedding time."""
    times = np.array([row["Embedding time [ms]"] for row in rows])
    if len(rows) < 2 or not times.sum():
        return f"{count(len(rows), 'table')} of {figure(total(row['Size [GB]'] for row in rows), 'GB')}"
    order = np.argsort(-times, kind="stable")
    table_count = int(np.searchsorted(np.cumsum(times[order]), 0.5 * times.sum())) + 1
    gigabytes = total(rows[table]["Size [GB]"] for table in order[:table_count])
    gigabytes_of_all = total(row["Size [GB]"] for row in rows)
    names = (
        f"Table {rows[order[0]][TABLE]} takes"
        if table_count == 1
        else f"{count(table_count)} of {count(len(rows), 'table')} take"
    )
    part = percent(times[order[:table_count]].sum() / times.sum())
    return f"{names} {part} of the embedding time, with {percent(gigabytes / gigabytes_of_all)} of the bytes"


def _busy_seconds(result: Result) -> tuple[str, float]:
    """Return the embedding stage's busiest device, and its busy seconds a batch."""
    busy: dict[str, float] = {}
    for row in result.breakdown:
        if row["Stage"] == STAGE:
            busy[row["Device"]] = busy.get(row["Device"], 0.0) + row["Busy [s]"]
    device = max(busy, key=busy.__getitem__, default="")
    return (str(load_variant("devices", device).title), busy[device]) if device else ("no device", 0.0)


def _time_shares(settled: Settled) -> Floats:
    """Return each table's share of the embedding time, (T,)."""
    s, system, accesses = settled.scenario, settled.system, expected_accesses(settled.scenario)
    if kind := kind_of(system):
        by_table = table_units(s, system, kind)
        seconds = table_seconds(accesses, by_table)
        if system.tiers:
            seconds = seconds + system.tiers(s).far_rows.sum(axis=0) * by_table.units.far_row * by_table.far_rows
    else:
        vectors = kind_bytes(s, "vector") + kind_bytes(s, "gradient")
        seconds = accesses.lookups * vectors + accesses.unique_rows * 2 * kind_bytes(s, "row")
    shares: Floats = seconds / seconds.sum()
    return shares


def _memories(settled: Settled) -> list[str]:
    """Return the memory in which each table lies, (T,)."""
    s, system = settled.scenario, settled.system
    if system.groups:
        return [MEMORY_BY_KERNEL[kernel] for kernel in chosen_kernels(s)]
    memories = np.full(s.model.num_tables, MEMORIES.get(system.memory, system.memory), dtype=object)
    for place, nbytes in system.tiers(s).nbytes_by_memory.items() if system.tiers else ():
        memories[nbytes > 0] = MEMORIES[place]
    return [str(memory) for memory in memories]


def _hit_rates(settled: Settled) -> Floats:
    """Return the share of each table's lookups that a cache or hot rows serve, (T,).

    NaN without any.
    """
    s, system = settled.scenario, settled.system
    if cache := system.cache:
        cached_numbers = cached_tables(s, cache)
        hits = remaining_share(missed_shares(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s), cached_numbers))
        return hits if cached_numbers is None else np.where(np.isin(np.arange(len(hits)), cached_numbers), hits, np.nan)
    if hot := system.hot or system.hbm_rows:
        return hottest_by_table(s, hot(s))[1]
    rates: Floats = np.full(s.model.num_tables, np.nan)
    if system.caches and system.tiers and (near_rows := system.caches(s)[0]):
        lower_tables = np.flatnonzero(total(system.tiers(s).nbytes_by_memory.values()) == 0)
        rates[lower_tables] = remaining_share(missed_shares(s, "lru", near_rows, tables=lower_tables.tolist())[lower_tables])
    return rates


def _parts(settled: Settled) -> list[str]:
    """Return the parts of the machine that have each table as text, (T,).

    "" on a single part.
    """
    s, balance, kind = settled.scenario, settled.placement.balance, kind_of(settled.system)
    number = kind.parts(s, settled.system).number if kind else 1
    if kind is None or number == 1:
        return [""] * s.model.num_tables
    if balance is None:
        return [f"{count(number, kind.title)}, evenly"] * s.model.num_tables
    places: list[list[int]] = [[] for _ in range(s.model.num_tables)]
    for table, place in zip(balance.pieces.table.tolist(), balance.pieces.place.tolist(), strict=True):
        places[table].append(place)
    words_by_places = {key: _words(kind.title, key, balance.pieces) for key in {tuple(table_places) for table_places in places}}
    return [words_by_places[tuple(table_places)] for table_places in places]


def _words(title: str, places: tuple[int, ...], pieces: Pieces) -> str:
    """Return the parts with a table's pieces as text.

    For example "GPU 3" or "GPUs 0 to 7, by rows".
    """
    runs = [pieces.runs[~place] if place < 0 else (place,) for place in places]
    parts = sorted({part for run in runs for part in run})
    ways = ["columns"] * (len(runs) > 1) + ["rows"] * any(len(run) > 1 for run in runs)
    if len(parts) > 2 and parts == list(range(parts[0], parts[-1] + 1)):
        numbers_text = f"{parts[0]} to {parts[-1]}"
    else:
        numbers_text = ", ".join(map(str, parts[:MOST_NAMED])) + (f", ... ({len(parts)})" if len(parts) > MOST_NAMED else "")
    return f"{title}{'s' * (len(parts) > 1)} {numbers_text}" + (f", by {' and '.join(ways)}" if ways else "")
