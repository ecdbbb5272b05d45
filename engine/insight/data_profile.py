"""The access profile of data, expected or counted: popularity, unique rows and overlap by batch size, hits by cache size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..caches.stack_distance import curve
from ..core.arrays import Floats, Ints
from ..core.figures import count
from ..core.row_sizes import mean_bytes
from ..errors import CannotRun
from ..scenario.scenario import Scenario, per_table
from ..systems.row_kinds import kind_bytes, mean_kind
from ..workload.accesses import expected
from ..workload.batch import offsets, table_ends
from ..workload.expected import hit_rate
from ..workload.popularity import Popularity, popularities
from ..workload.spectrum import head_mass, id_space, spectrum

SHARES = np.geomspace(1e-4, 1.0, 17)
MOST_CLASSES = 500_000  # over tables that are unlike each other, at some 2 us
BATCH_SIZES = (128, 512, 2048, 8192, 32768)
LRU, LRU_BY_TABLE = "LRU, one space of ids", "LRU, a cache per table"
STATIC = "hottest rows stay (LFU in the long run)"


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What is known of the accesses.

    `popularity` is the share of lookups of the hottest `SHARES` of rows; `by_batch` rows are batch size, unique rows and
    lookups of the batch before's rows, both as shares of lookups; `hits` are hit rates by policy at `SHARES` of rows.
    Tables have `table_rows` rows of `table_row_bytes` and `weight` of the lookups; `by_table` are hit rates of an LRU cache for
    each alone, of `SHARES` of its rows. `row_bytes` are the mean row's, without its optimizer's state. `numbering` says how a
    file's ids become rows, `columns` which of its columns each table is of, () where that is not known, `samples` how many it
    trains on in a pass.
    """

    rows: int
    row_bytes: float
    counted: str
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
        """Return the hit rate of a cache of a share of rows, interpolated between the shares that were computed."""
        return float(np.interp(np.log(max(share, 1e-9)), np.log(SHARES), self.hits[policy])) if share > 0 else 0.0

    def share_for(self, policy: str, hit_rate: float) -> float | None:
        """Return the smallest share of rows with that hit rate, interpolated likewise; None where no share has it."""
        hits = np.maximum.accumulate(self.hits[policy])
        if not 0 < hit_rate <= hits[-1]:
            return None
        first = int(np.argmax(hits >= hit_rate))
        if first == 0:
            return float(SHARES[0])
        part = (hit_rate - hits[first - 1]) / (hits[first] - hits[first - 1])
        return float(SHARES[first - 1] ** (1 - part) * SHARES[first] ** part)


def expectation(scenario: Scenario) -> Profile:
    """Return what the generator is expected to do."""
    laws, pooling = popularities(scenario), per_table(scenario.model, "pooling")
    _bounded(laws)
    rows, space, locality = sum(law.rows for law in laws), id_space(scenario), scenario.data.locality
    alone = {law: hit_rate(spectrum(law), SHARES * law.rows, locality) for law in dict.fromkeys(laws)}
    own = np.array([alone[law] for law in laws])
    by_batch = [_expected_batch(scenario, size) for size in BATCH_SIZES]
    lru, head = hit_rate(space, SHARES * rows, locality), head_mass(space, SHARES * rows)
    return _profile(scenario, "", by_batch, head, lru, np.array(pooling) / sum(pooling), own)


def _bounded(laws: Sequence[Popularity]) -> None:
    """Refuse tables so unlike each other that their caches take seconds; raises CannotRun."""
    unlike = dict.fromkeys(laws)
    classes = sum(len(spectrum(law).p) for law in unlike)
    if classes > MOST_CLASSES:
        raise CannotRun(
            f"{count(len(unlike))} unlike tables have {count(classes)} classes of equally popular rows, and a profile takes "
            f"at most {count(MOST_CLASSES)}; give more tables the same rows and data.zipf_exponents, or lower model.num_tables."
        )


def counted(scenario: Scenario, batches: Sequence[Ints]) -> Profile:
    """Return what batches of ids did; caches are empty at first, so a short trace hits less than a long one."""
    tables, ends = per_table(scenario.model, "num_embeddings"), [table_ends(batch, offsets(scenario.model)) for batch in batches]
    ids, wanted = np.concatenate(batches), SHARES * sum(tables)
    often = -np.sort(-np.unique(ids, return_counts=True)[1])
    head = np.interp(wanted, np.arange(len(often) + 1), np.concatenate(([0], np.cumsum(often)))) / len(ids)
    by_table = ([batch[at[t] : at[t + 1]] for batch, at in zip(batches, ends, strict=True)] for t in range(len(tables)))
    parts = [curve(batches_of_one) for batches_of_one in by_table]
    weight = np.array([part.lookups for part in parts]) / len(ids)
    own = np.array([part.hit_rate(SHARES * size) for part, size in zip(parts, tables, strict=True)])
    by_batch = [_counted_batch(scenario, batches, joined) for joined in (1, 4, 16) if joined * 2 <= len(batches)]
    words = f"{count(len(batches), 'batch', 'batches')}, {count(len(ids), 'lookup')}"
    return _profile(scenario, words, by_batch, head, curve(batches).hit_rate(wanted), weight, own)


def _profile(
    s: Scenario, words: str, by_batch: Sequence[tuple[int, float, float]], head: Floats, lru: Floats, weight: Floats, own: Floats
) -> Profile:
    tables = per_table(s.model, "num_embeddings")
    mean, each = mean_kind(s, tables), kind_bytes(s, "row") - kind_bytes(s, "beside")
    hits = {LRU: lru, LRU_BY_TABLE: weight @ own, STATIC: head}
    row_bytes = mean_bytes(mean.row) - mean_bytes(mean.beside)
    return Profile(sum(tables), row_bytes, words, head, by_batch, hits, tables, each, weight, own)


def _counted_batch(scenario: Scenario, batches: Sequence[Ints], joined: int) -> tuple[int, float, float]:
    """Count unique rows and overlap of batches joined by so many, over the first two of them."""
    before, now = (np.concatenate(batches[at : at + joined]) for at in (0, joined))
    lookups = max(len(now), 1)
    return scenario.data.batch_size * joined, len(np.unique(now)) / lookups, float(np.isin(now, before).sum() / lookups)


def _expected_batch(scenario: Scenario, size: int) -> tuple[int, float, float]:
    found = expected(replace(scenario, data=replace(scenario.data, batch_size=size)))
    total = found.lookups.sum()
    return size, float(found.unique_rows.sum() / total), float(found.raw_lookups.sum() / total)
