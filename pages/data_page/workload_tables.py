"""How the data is accessed, as sentences and as the plain tables that charts draw; kept while scenarios repeat."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from engine.core.file_state import FileState
from engine.insight import data_profile, planner_gap
from engine.insight.data_profile import LRU, LRU_BY_TABLE, SHARES, STATIC, Profile
from engine.scenario.scenario import Scenario, per_table
from engine.workload.bags import chances, length_cv
from engine.workload.popularity import alike
from engine.workload.readers.digest_check import digest_check, file_states
from engine.workload.readers.file_tables import numbering_note
from engine.workload.readers.formats import read
from engine.workload.readers.recording import Recording
from engine.workload.source import source
from pages.ui.numbers import percent, readable, size

MOST_LOOKUPS, MANY_LOOKUPS = 1_000_000, 8_000_000
MOST_TABLES, SMALL_TABLE, MANY_TABLES = 30, 10_000, 100
UNIQUE, AGAIN = "unique rows", "lookups of a row of the batch before"
POLICIES = (LRU, LRU_BY_TABLE, STATIC)
NOTHING: Mapping[str, Profile] = {}
RARELY = 0.99
PLANNER, REAL = "planner's formula", "what the hits give"


def _file(path: str, digest: str) -> Recording:
    """Return the file of this digest, kept while it is not touched: arrays of a file that is written to change with it."""
    return _read(path, digest, file_states(Path(path)))


@lru_cache(maxsize=8)
def _read(path: str, digest: str, states: tuple[FileState, ...]) -> Recording:
    with digest_check(Path(path), digest):
        return read(path)


def asked(scenario: Scenario) -> Scenario:
    """Return the scenario with nothing but what accesses depend on, so that other knobs compute nothing anew."""
    return replace(Scenario(), model=scenario.model, data=scenario.data)


def many(scenario: Scenario) -> bool:
    """Return whether its tables are so unlike each other that what is expected of them takes long."""
    return len(alike(scenario).laws) > MANY_TABLES


@lru_cache(maxsize=32)
def expected(scenario: Scenario) -> Profile:
    """Return what the generator is expected to do with `asked(scenario)`."""
    return data_profile.expectation(scenario)


@lru_cache(maxsize=8)
def counted(scenario: Scenario, most: int = MOST_LOOKUPS, path: str = "") -> Profile:
    """Return what the first batches of `asked(scenario)` do, up to `most` lookups; of the file at `path`, one pass at most."""
    file = _file(path, scenario.data.digest) if path else None
    origin = source(scenario, file)
    first = origin.ids(0)
    number = max(1, most // max(len(first), 1))
    if origin.training_samples:
        number = max(1, min(number, origin.training_samples // scenario.data.batch_size))
    profile = data_profile.counted(scenario, [first, *(origin.ids(n) for n in range(1, number))])
    return replace(profile, numbering=numbering_note(scenario, file)) if file else profile


def answer(found: Profile, share: float) -> str:
    """Return what a cache of a share of all rows hits."""
    lru, static = (100 * found.hit_rate(policy, share) for policy in (LRU, STATIC))
    cache = f"A cache of {size(share * found.rows * found.row_bytes)}, {readable(100 * share)} % of the rows,"
    return f"{cache} hits {lru:.1f} % of lookups as LRU, {static:.1f} % with the hottest rows"


def whence(found: Profile, file: bool) -> str:
    """Return where the numbers come from, and for counted ones what bounds their hits."""
    if not found.counted:
        return "Expected of the generator in its steady state, from the popularity and locality in the drawer's group Data."
    first = 1 - float(found.hits[LRU][-1])
    origin = "of the data file, in its own order" if file else "drawn from the generator"
    return (
        f"Counted in {found.counted} {origin}. {percent(first)} of these lookups are the first of their row and miss in an LRU "
        "cache of any size; longer counts have fewer. The hottest rows are those of these very lookups."
    )


def on_sizes(found: Profile) -> str:
    """Return from which sizes on an LRU cache hits 90, 95 and 99 % of the lookups, where it ever does."""
    hits = np.maximum.accumulate(found.hits[LRU])
    reached = [part for part in (0.9, 0.95, 0.99) if hits[-1] >= part]
    if not reached:
        return f"As LRU, a cache of any size hits at most {100 * hits[-1]:.3g} % of these lookups"
    shares = [float(np.exp(np.interp(part, hits, np.log(SHARES)))) for part in reached]
    told = [
        f"{100 * part:.0f} % from {size(share * found.rows * found.row_bytes)}"
        for part, share in zip(reached, shares, strict=True)
    ]
    return f"As LRU, a cache hits {', '.join(told)} on"


def on_popularity(found: Profile) -> str:
    """Return how few rows take how many lookups."""
    one = float(np.interp(np.log(0.01), np.log(SHARES), found.popularity))
    return f"1 % of the rows take {100 * one:.1f} % of the lookups"


def on_batches(found: Profile) -> str:
    """Return how much of a batch is new."""
    size, unique, again = found.by_batch[min(2, len(found.by_batch) - 1)]
    touched = f"A batch of {size:,} touches {100 * unique:.0f} rows per 100 lookups"
    return f"{touched}; {100 * again:.0f} % of its lookups meet a row of the batch before"


def on_planner(found: Profile, share: float) -> str:
    """Return by how much the planner's formula misses, and what taking the share of rows for the hit rate costs of it."""
    one = planner_gap.overlay(share, found.hit_rate(STATIC, share))
    ours, theirs, alone = one.real / 1e9, one.planner / 1e9, one.with_real_hits / one.without_derating
    start = (
        f"TorchRec's planner expects {theirs:.3g} GB/s of this cache, its hits give {ours:.3g}: {ours / theirs:.3g} times as much"
    )
    return f"{start}. Taking the share of rows for the hit rate alone costs a factor of {alone:.3g}"


def planner_steps(found: Profile, share: float) -> pd.DataFrame:
    """Return the way from the planner's bandwidth to that of the hits: bandwidth after each step in GB/s, factor, step."""
    hit_rate = found.hit_rate(STATIC, share)
    one = planner_gap.overlay(share, hit_rate)
    words = (
        "Derating by ten left out",
        f"The hit rate, {100 * hit_rate:.3g} %, instead of the share of rows, {readable(100 * share)} %",
        "Rates mixed by time (harmonic) instead of by share (arithmetic)",
    )
    after = (one.without_derating, one.with_real_hits, one.real)
    rows = [(one.planner / 1e9, 1.0, "Planner's formula")]
    rows += [(rate / 1e9, factor, word) for word, factor, rate in zip(words, one.factors, after, strict=True)]
    return pd.DataFrame(rows, columns=["Bandwidth [GB/s]", "Factor [x]", "Step"])


def on_bags(scenario: Scenario) -> str:
    """Return how long generated bags are where they are uneven, as a sentence; "" where all are even."""
    kinds = Counter(zip(per_table(scenario.model, "pooling"), length_cv(scenario), strict=True))
    uneven = {kind: chances(*kind) for kind in kinds if kind[1] > 0}
    if not uneven:
        return ""
    tables = sum(kinds[kind] for kind in uneven)
    empty = sum(kinds[kind] * float(found[0]) for kind, found in uneven.items()) / tables
    (mean, _), longest = max(uneven.items(), key=lambda one: int(np.argmax(np.cumsum(one[1]) > RARELY)))
    most = int(np.argmax(np.cumsum(longest) > RARELY))
    bags = f"Bags of {tables} of {sum(kinds.values())} tables are uneven: {100 * empty:.3g} % of them are empty"
    return f"{bags}, and at most one in a hundred has more than {most:,} lookups, where the mean is {mean:,}."


def on_tables(found: Profile, share: float) -> str:
    """Return which tables a cache of the same share of each serves worst, and what it would take to keep them whole."""
    hits = np.array([np.interp(np.log(max(share, 1e-9)), np.log(SHARES), own) for own in found.by_table])
    lost, rows = found.weight * (1 - hits), np.array(found.table_rows)
    small = rows <= SMALL_TABLE
    part = lost[small].sum() / lost.sum() if lost.sum() > 0 else 0.0
    start = f"With {readable(100 * share)} % of each table cached"
    if part > 0.5:
        whole = size(float(rows[small].sum()) * found.row_bytes)
        return f"{start}, {100 * part:.0f} % of the misses are in the {small.sum()} smallest tables; whole, they take {whole}"
    worst = int(lost.argmax())
    among = lost[worst] / lost.sum() if lost.sum() > 0 else 0.0
    misses = f"misses {100 * (1 - hits[worst]):.3g} % of its lookups: {percent(among)} of all misses"
    return f"{start}, table {worst} ({readable(rows[worst])} rows) {misses}"


def by_table(found: Profile) -> pd.DataFrame:
    """Return misses of an LRU cache of each of the largest tables, by its share of rows: x, table, y (both in %), rows."""
    largest = sorted(range(len(found.table_rows)), key=lambda t: -found.table_rows[t])[:MOST_TABLES]
    rows = [
        (100 * x, f"{t}: {readable(found.table_rows[t])} rows", 100 * (1 - hit), found.table_rows[t])
        for t in largest
        for x, hit in zip(SHARES, found.by_table[t], strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "table", "y", "rows"])


def popularity(found: Profile, more: Mapping[str, Profile] = NOTHING) -> pd.DataFrame:
    """Return share of rows against share of lookups, both in percent, of this profile and of others by their prefix."""
    every = ({"x": 100 * SHARES, "y": 100 * one.popularity, "name": f"{prefix}hottest rows"} for prefix, one in _all(found, more))
    return pd.concat(list(map(pd.DataFrame, every)), ignore_index=True)


def batches(found: Profile, more: Mapping[str, Profile] = NOTHING) -> pd.DataFrame:
    """Return unique rows and overlap by batch size, in percent of lookups, of this profile and of others by their prefix."""
    rows = [
        (size, 100 * value, prefix + name)
        for prefix, one in _all(found, more)
        for size, *both in one.by_batch
        for name, value in zip((UNIQUE, AGAIN), both, strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "y", "name"])


def _all(found: Profile, more: Mapping[str, Profile]) -> Iterable[tuple[str, Profile]]:
    return (("", found), *more.items())


def hits(found: Profile, share: float, more: Mapping[str, Profile]) -> pd.DataFrame:
    """Return misses in percent by cache size in GB, of this profile and of others by their prefix, and the asked size."""
    parts = [_misses(other, prefix) for prefix, other in _all(found, more)]
    return _marked(pd.concat(parts, ignore_index=True), found, share)


def _misses(found: Profile, prefix: str) -> pd.DataFrame:
    rows = [
        (_size(found, x), 100 * x, 100 * (1 - y), prefix + name)
        for name, all_y in found.hits.items()
        for x, y in zip(SHARES, all_y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "share", "y", "name"])


def bandwidth(found: Profile, share: float) -> pd.DataFrame:
    """Return GB/s by the planner and by the hits, over the cache's size in GB."""
    steps = [(x, planner_gap.overlay(x, found.hit_rate(STATIC, x))) for x in SHARES]
    rows = [
        (_size(found, x), 100 * x, rate / 1e9, name)
        for name, rates in ((PLANNER, "planner"), (REAL, "real"))
        for x, one in steps
        for rate in (getattr(one, rates),)
    ]
    return _marked(pd.DataFrame(rows, columns=["x", "share", "y", "name"]), found, share)


def _size(found: Profile, share: float) -> float:
    """Return the gigabytes of a share of all rows."""
    return share * found.rows * found.row_bytes / 1e9


def _marked(frame: pd.DataFrame, found: Profile, share: float) -> pd.DataFrame:
    asked = {"x": _size(found, share), "share": 100 * share, "y": 1.0, "name": ""}
    return pd.concat([frame, pd.DataFrame([asked])], ignore_index=True) if SHARES[0] <= share <= 1 else frame


def numbers(misses: pd.DataFrame) -> pd.DataFrame:
    """Return the misses of `hits` side by side, one row a cache size."""
    table = misses[misses["name"] != ""].pivot(index=["x", "share"], columns="name", values="y").reset_index()
    titles = {"x": "Cache size [GB]", "share": "Cache size, share of rows [%]"}
    return table.rename(columns=titles | {name: f"Misses, {name} [%]" for name in table.columns[2:]})


def beside(names: tuple[str, ...], prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all curves, those of others with their prefix, in the order of their colours."""
    return tuple(prefix + name for prefix in ("", *prefixes) for name in names)
