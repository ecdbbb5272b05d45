"""The access profile of data: expected of the generator, or counted in recorded batches.

It has the popularity of rows, unique rows and overlap by batch size, and hit rates by cache size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..caches.stack_distance import curve
from ..core.arithmetic import total
from ..core.arrays import Floats, Ints
from ..core.figures import count
from ..core.points.numbers import as_float
from ..errors import CannotRun
from ..scenario.scenario import Scenario, per_table
from ..systems.row_kinds import kind_bytes
from ..systems.row_kinds import row_bytes as mean_row_bytes
from ..workload.accesses import expected_accesses
from ..workload.batch import offsets, table_ends
from ..workload.expected import hit_rate
from ..workload.popularity import Popularity, popularities
from ..workload.spectrum import head_mass, id_space, spectrum

ROW_SHARES = np.geomspace(1e-4, 1.0, 17)
MOST_CLASSES = 500_000  # over tables that are unlike each other, at some 2 us
BATCH_SIZES = (128, 512, 2048, 8192, 32768)
LRU, LRU_BY_TABLE = "LRU, one space of ids", "LRU, a cache per table"
HOTTEST_STAY = "hottest rows stay (LFU in the long run)"


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The access profile of generated or recorded data.

    rows, row_bytes: rows of all tables, and bytes of the mean row with optimizer state and checksum.
    counted_text: the counted batches and lookups as text; "" for an expectation.
    popularity: share of lookups that go to the hottest rows, at each of ROW_SHARES.
    by_batch: tuples of batch size, unique rows, and lookups of rows of the previous batch; both are shares of lookups.
    hits: hit rates by cache policy, of a cache that holds each of ROW_SHARES of the rows.
    table_rows, table_row_bytes, weight: rows, bytes of a row, and share of lookups of each table.
    by_table: hit rates of an LRU cache for a single table, by table and share of that table's rows.
    numbering: how a file's ids become rows.
    columns: the file's column of each table; () where the columns are not known.
    samples: samples of one training pass over the file.
    """

    rows: int
    row_bytes: float
    counted_text: str
    popularity: Floats
    by_batch: Sequence[tuple[int, float, float]]
    hits: dict[str, Floats]
    table_rows: Sequence[int]
    table_row_bytes: Floats
    weight: Floats
    by_table: Floats
    numbering: str = ""
    columns: tuple[str, ...] = ()
    samples: int = 0

    def hit_rate(self, policy: str, share: float) -> float:
        """Return a cache's hit rate, interpolated between computed shares of rows."""
        return float(np.interp(np.log(max(share, 1e-9)), np.log(ROW_SHARES), self.hits[policy])) if share > 0 else 0.0

    def share_for(self, policy: str, hit_rate: float) -> float | None:
        """Return the smallest share of rows with which a cache reaches `hit_rate`.

        The share is interpolated between computed shares. Return None where no share reaches the rate.
        """
        hits = np.maximum.accumulate(self.hits[policy])
        if not 0 < hit_rate <= hits[-1]:
            return None
        index = int(np.argmax(hits >= hit_rate))
        if index == 0:
            return float(ROW_SHARES[0])
        part = (hit_rate - hits[index - 1]) / (hits[index] - hits[index - 1])
        return float(ROW_SHARES[index - 1] ** (1 - part) * ROW_SHARES[index] ** part)


def expected_profile(scenario: Scenario) -> Profile:
    """Return the profile that the generator's formulas predict for a scenario's data."""
    laws, pooling = popularities(scenario), per_table(scenario.model, "pooling")
    _bounded(laws)
    rows, space, locality = total(law.rows for law in laws), id_space(scenario), scenario.data.locality
    hits_by_law = {law: hit_rate(spectrum(law), ROW_SHARES * law.rows, locality) for law in dict.fromkeys(laws)}
    table_hits = np.array([hits_by_law[law] for law in laws])
    by_batch = [_expected_batch(scenario, size) for size in sorted({*BATCH_SIZES, scenario.data.batch_size})]
    lru, head = hit_rate(space, ROW_SHARES * rows, locality), head_mass(space, ROW_SHARES * rows)
    return _profile(scenario, "", by_batch, head, lru, np.array(pooling) / total(pooling), table_hits)


def _bounded(laws: Sequence[Popularity]) -> None:
    """Refuse tables with so many different laws that a profile takes seconds; raises CannotRun."""
    distinct_laws = dict.fromkeys(laws)
    classes = sum(len(spectrum(law).p) for law in distinct_laws)
    if classes > MOST_CLASSES:
        raise CannotRun(
            f"{count(len(distinct_laws), 'different kind')} of tables have {count(classes, 'class')} of equally "
            "popular rows, but "
            f"a profile takes at most {count(MOST_CLASSES)}; give more tables the same rows and data.zipf_exponents, or lower "
            "model.num_tables."
        )


def counted_profile(scenario: Scenario, batches: Sequence[Ints]) -> Profile:
    """Return the profile of recorded batches of ids.

    Caches start empty, so a short trace hits less than a long one.
    """
    tables, ends = per_table(scenario.model, "num_embeddings"), [table_ends(batch, offsets(scenario.model)) for batch in batches]
    ids, cache_rows = np.concatenate(batches), ROW_SHARES * total(tables)
    uses = -np.sort(-np.unique(ids, return_counts=True)[1])
    head = np.interp(cache_rows, np.arange(len(uses) + 1), np.concatenate(([0], np.cumsum(uses)))) / len(ids)
    by_table = (
        [batch[bounds[t] : bounds[t + 1]] for batch, bounds in zip(batches, ends, strict=True)] for t in range(len(tables))
    )
    parts = [curve(batches_of_one) for batches_of_one in by_table]
    weight = np.array([part.lookups for part in parts]) / len(ids)
    table_hits = np.array([part.hit_rate(ROW_SHARES * size) for part, size in zip(parts, tables, strict=True)])
    by_batch = [_counted_batch(scenario, batches, joined) for joined in (1, 4, 16) if joined * 2 <= len(batches)]
    words = f"{count(len(batches), 'batch', 'batches')}, {count(len(ids), 'lookup')}"
    return _profile(scenario, words, by_batch, head, curve(batches).hit_rate(cache_rows), weight, table_hits)


def _profile(
    s: Scenario,
    words: str,
    by_batch: Sequence[tuple[int, float, float]],
    head: Floats,
    lru: Floats,
    weight: Floats,
    table_hits: Floats,
) -> Profile:
    tables = per_table(s.model, "num_embeddings")
    hits = {LRU: lru, LRU_BY_TABLE: weight @ table_hits, HOTTEST_STAY: head}
    row_bytes = as_float(mean_row_bytes(s))
    return Profile(total(tables), row_bytes, words, head, by_batch, hits, tables, kind_bytes(s, "row"), weight, table_hits)


def _counted_batch(scenario: Scenario, batches: Sequence[Ints], joined: int) -> tuple[int, float, float]:
    """Return size, unique rows and overlap of a batch, counted in the first two groups of `joined` batches."""
    earlier_ids, later_ids = (np.concatenate(batches[start : start + joined]) for start in (0, joined))
    lookups = max(len(later_ids), 1)
    return (
        scenario.data.batch_size * joined,
        len(np.unique(later_ids)) / lookups,
        float(np.isin(later_ids, earlier_ids).sum() / lookups),
    )


def _expected_batch(scenario: Scenario, size: int) -> tuple[int, float, float]:
    accesses = expected_accesses(replace(scenario, data=replace(scenario.data, batch_size=size)))
    total = accesses.lookups.sum()
    return size, float(accesses.unique_rows.sum() / total), float(accesses.raw_lookups.sum() / total)
