"""How the data is accessed, as sentences and as the plain tables that charts draw; kept while scenarios repeat."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from engine.core.figures import PREFIXES, count, factor, figure, percent
from engine.insight import data_profile, planner_gap
from engine.insight.data_profile import LRU, LRU_BY_TABLE, SHARES, STATIC, Profile
from engine.paths import FileState
from engine.scenario.scenario import Scenario, per_table
from engine.workload.bags import chances, length_cv
from engine.workload.popularity import alike
from engine.workload.readers.digest_check import digest_check, file_states
from engine.workload.readers.file_tables import numbering_note
from engine.workload.readers.formats import read
from engine.workload.readers.recording import Recording
from engine.workload.source import source

MOST_LOOKUPS, MANY_LOOKUPS = 1_000_000, 8_000_000
MOST_TABLES, SMALL_TABLE, MANY_TABLES, MOST_LETTERS = 30, 10_000, 100, 20
UNIQUE, AGAIN = "unique rows", "lookups of a row of the batch before"
POLICIES = (LRU, LRU_BY_TABLE, STATIC)
NOTHING: Mapping[str, Profile] = {}
RARELY = 0.99
UNITS, LEAST_UNITS = ("P", "T", "G", "M", "k"), 10.0
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
    if file is None:
        return profile
    columns = file.fields * (len(profile.table_rows) // file.tables)  # copies of a field stand one behind the other
    return replace(profile, numbering=numbering_note(scenario, file), columns=columns, samples=file.training_samples)


def without_columns(found: Profile, visible: bool) -> Profile:
    """Return a profile as it is for those to whom its file is `visible`; nobody else learns how its columns are called."""
    return found if visible else replace(found, columns=())


def answer(found: Profile, share: float) -> str:
    """Return what a cache of a share of all rows hits, or without one what caches would."""
    if share <= 0:
        return on_sizes(found)
    lru, static = (percent(found.hit_rate(policy, share)) for policy in (LRU, STATIC))
    cache = f"A cache of {figure(share * table_bytes(found), 'B')}, {percent(share)} of the rows,"
    return f"{cache} hits {lru} of lookups as LRU, {static} with the hottest rows"


def table_bytes(found: Profile) -> float:
    """Return the bytes of all tables."""
    return float(found.rows * found.row_bytes)


def provenance(found: Profile, file: bool) -> str:
    """Return where the numbers come from."""
    if not found.counted:
        return "Expected of the generator in its steady state, from the popularity and locality in the drawer's group Data."
    return f"Counted in {found.counted} {'of the data file, in its own order' if file else 'drawn from the generator'}."


def first_uses(found: Profile) -> str:
    """Return what bounds the hits of a count: the share of lookups that are the first of their row."""
    first = 1 - float(found.hits[LRU][-1])
    return (
        f"{percent(first)} of these lookups are the first of their row and miss in an LRU cache of any size; longer counts have "
        "fewer. The hottest rows are those of these very lookups."
    )


def on_sizes(found: Profile) -> str:
    """Return from which sizes on an LRU cache hits 90, 95 and 99 % of the lookups, where it ever does."""
    hits = np.maximum.accumulate(found.hits[LRU])
    reached = [part for part in (0.9, 0.95, 0.99) if hits[-1] >= part]
    if not reached:
        return f"As LRU, a cache of any size hits at most {percent(hits[-1])} of these lookups"
    shares = [float(np.exp(np.interp(part, hits, np.log(SHARES)))) for part in reached]
    told = [
        f"{percent(part)} from {figure(share * table_bytes(found), 'B')}" for part, share in zip(reached, shares, strict=True)
    ]
    return f"As LRU, a cache hits {', '.join(told)} on"


def on_popularity(found: Profile) -> str:
    """Return how few rows take how many lookups."""
    hottest = float(np.interp(np.log(0.01), np.log(SHARES), found.popularity))
    return f"1 % of the rows take {percent(hottest)} of the lookups"


def on_batches(found: Profile) -> str:
    """Return how much of a batch is new."""
    samples, unique, again = found.by_batch[min(2, len(found.by_batch) - 1)]
    touched = f"A batch of {count(samples, 'sample')} touches {figure(100 * unique)} rows per 100 lookups"
    return f"{touched}; {percent(again)} of its lookups meet a row of the batch before"


def on_planner(found: Profile, share: float) -> str:
    """Return by how much the planner's formula misses, and what taking the share of rows for the hit rate costs of it."""
    one = planner_gap.overlay(share, found.hit_rate(STATIC, share))
    ours, theirs, alone = one.real / 1e9, one.planner / 1e9, one.with_real_hits / one.without_derating
    rates = f"expects {figure(theirs, 'GB/s')} of this cache, its hits give {figure(ours, 'GB/s')}"
    start = f"TorchRec's planner {rates}: {factor(ours / theirs)} as much"
    return f"{start}. Taking the share of rows for the hit rate alone costs a factor of {figure(alone)}"


def planner_steps(found: Profile, share: float) -> pd.DataFrame:
    """Return the way from the planner's bandwidth to that of the hits: bandwidth after each step in GB/s, factor, step."""
    hit_rate = found.hit_rate(STATIC, share)
    one = planner_gap.overlay(share, hit_rate)
    words = (
        "Derating by ten left out",
        f"The hit rate, {percent(hit_rate)}, instead of the share of rows, {percent(share)}",
        "Rates mixed by time (harmonic) instead of by share (arithmetic)",
    )
    after = (one.without_derating, one.with_real_hits, one.real)
    steps = [("Planner's formula", 1.0, one.planner), *zip(words, one.factors, after, strict=True)]
    rows = [(rate / 1e9, change, figure(rate / 1e9, "GB/s"), factor(change), word) for word, change, rate in steps]
    return pd.DataFrame(rows, columns=["Bandwidth [GB/s]", "Factor [x]", "Bandwidth", "Factor", "Step"])


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
    bags = f"Bags of {tables} of {sum(kinds.values())} tables are uneven: {percent(empty)} of them are empty"
    return f"{bags}, and at most one in a hundred has more than {count(most)} lookups, where the mean is {count(mean)}."


def on_tables(found: Profile, share: float) -> str:
    """Return which tables a cache of the same share of each serves worst, and what it would take to keep the small ones whole."""
    hits = np.array([np.interp(np.log(max(share, 1e-9)), np.log(SHARES), own) for own in found.by_table])
    lost, rows = found.weight * (1 - hits), np.array(found.table_rows)
    start = f"With {percent(share)} of each table cached"
    if lost.sum() <= 0:
        return f"{start}, no lookup misses"
    small = rows <= SMALL_TABLE
    part = lost[small].sum() / lost.sum()
    if part > 0.5 and 1 < small.sum() < len(rows):  # of all tables it would say nothing
        whole = figure(float((rows * found.table_row_bytes)[small].sum()), "B")
        return f"{start}, {percent(part)} of the misses are in the {small.sum()} smallest tables; whole, they take {whole}"
    worst = int(lost.argmax())
    misses = f"{title(found, worst)} ({count(rows[worst], 'row')}) misses {percent(1 - hits[worst])} of its lookups"
    return f"{start}, {misses}: {percent(lost[worst] / lost.sum())} of all misses" if len(rows) > 1 else f"{start}, {misses}"


def title(found: Profile, table: int) -> str:
    """Return how a table is called: by the column of the file that it is of, else by its number, counted from 1."""
    if not found.columns:
        return f"table {table + 1}"
    name = shorten(found.columns[table])
    copies = [other for other, column in enumerate(found.columns) if column == found.columns[table]]
    return f"{name} {copies.index(table) + 1}" if len(copies) > 1 else name


def shorten(name: str) -> str:
    """Return the name of a column in at most so many letters that it stands beside a chart."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 3]}..."


def by_table(found: Profile) -> pd.DataFrame:
    """Return misses of an LRU cache of each of the largest tables, by its share of rows: x, table, y (both in %), rows."""
    largest = sorted(range(len(found.table_rows)), key=lambda t: -found.table_rows[t])[:MOST_TABLES]
    labels = {t: f"{title(found, t)}, {count(found.table_rows[t], 'row')}" for t in largest}
    twins = Counter(labels.values())  # columns of long names that begin alike
    labels = {t: f"{t + 1}: {label}" if twins[label] > 1 else label for t, label in labels.items()}
    rows = [
        (100 * x, labels[t], 100 * (1 - hit), found.table_rows[t])
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
    """Return misses in percent by cache size in `unit(found)`, of a profile, of others by prefix, and the asked size."""
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
    """Return GB/s by the planner and by the hits, over the cache's size in the profile's unit."""
    steps = [(x, planner_gap.overlay(x, found.hit_rate(STATIC, x))) for x in SHARES]
    rows = [
        (_size(found, x), 100 * x, rate / 1e9, name)
        for name, rates in ((PLANNER, "planner"), (REAL, "real"))
        for x, one in steps
        for rate in (getattr(one, rates),)
    ]
    return _marked(pd.DataFrame(rows, columns=["x", "share", "y", "name"]), found, share)


def _size(found: Profile, share: float) -> float:
    """Return the size of a share of all rows in the profile's unit."""
    return share * table_bytes(found) / PREFIXES[unit(found)[:-1]]


def unit(found: Profile) -> str:
    """Return the unit in which sizes of caches are drawn: "kB", "MB"; the largest of which the tables have at least ten."""
    return next((f"{prefix}B" for prefix in UNITS if table_bytes(found) / LEAST_UNITS >= PREFIXES[prefix]), "B")


def _marked(frame: pd.DataFrame, found: Profile, share: float) -> pd.DataFrame:
    asked = {"x": _size(found, share), "share": 100 * share, "y": 1.0, "name": ""}
    return pd.concat([frame, pd.DataFrame([asked])], ignore_index=True) if SHARES[0] <= share <= 1 else frame


def numbers(misses: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the misses of `hits` side by side, one row a cache size, which is in a unit of bytes."""
    table = misses[misses["name"] != ""].pivot(index=["x", "share"], columns="name", values="y").reset_index()
    titles = {"x": f"Cache size [{unit}]", "share": "Cache size, share of rows [%]"}
    return table.rename(columns=titles | {name: f"Misses, {name} [%]" for name in table.columns[2:]})


def beside(names: tuple[str, ...], prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all curves, those of others with their prefix, in the order of their colours."""
    return tuple(prefix + name for prefix in ("", *prefixes) for name in names)
