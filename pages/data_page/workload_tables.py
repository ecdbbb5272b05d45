"""Data access as sentences and as tables for charts, cached by scenario."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from pathlib import Path

import numpy as np
import pandas as pd

from engine.core.arithmetic import total
from engine.core.figures import PREFIXES, count, factor, figure, percent
from engine.insight import data_profile, planner_gap
from engine.insight.data_profile import HOTTEST_STAY, LRU, LRU_BY_TABLE, ROW_SHARES, Profile
from engine.insight.quantities import HIT_RATE
from engine.paths import FileState
from engine.results.result import Result
from engine.scenario.scenario import Scenario, is_sequential, per_table
from engine.systems.kernels.in_force import title_of
from engine.workload.bags import chances, length_cv
from engine.workload.histories import history_law
from engine.workload.popularity import table_kinds
from engine.workload.readers.digest_check import digest_check, file_states
from engine.workload.readers.file_tables import numbering_note
from engine.workload.readers.formats import read_file
from engine.workload.readers.recording import Recording
from engine.workload.source import source
from pages.ui.numbers import named_text, quantity

MOST_LOOKUPS, MANY_LOOKUPS = 1_000_000, 8_000_000
MOST_TABLES, SMALL_TABLE, MANY_TABLES, MOST_LETTERS = 30, 10_000, 100, 20
UNIQUE, REPEATED_ROWS = "unique rows", "lookups of a row of the batch before"
POLICIES = (LRU, LRU_BY_TABLE, HOTTEST_STAY)
NO_PROFILES: Mapping[str, Profile] = {}
LENGTH_QUANTILE = 0.99
UNITS, LEAST_UNITS = ("P", "T", "G", "M", "k"), 10.0
PLANNER, REAL_BANDWIDTH = "planner's formula", "with the real hit rate"


def _file(path: str, digest: str) -> Recording:
    """Return the file of this digest, cached until the file is touched.

    Arrays of a file that is written to change with it.
    """
    return _read_file(path, digest, file_states(Path(path)))


@lru_cache(maxsize=8)
def _read_file(path: str, digest: str, states: tuple[FileState, ...]) -> Recording:
    with digest_check(Path(path), digest):
        return read_file(path)


def profile_scenario(scenario: Scenario) -> Scenario:
    """Return a default scenario with this scenario's model, data and row checksums.

    It is the key of cached profiles, so that other knobs recompute nothing.
    """
    usual = Scenario()
    policy = replace(usual.policy, row_checksums=scenario.policy.row_checksums)
    return replace(usual, model=scenario.model, data=scenario.data, policy=policy)


def has_many_table_kinds(scenario: Scenario) -> bool:
    """Return whether the tables have so many popularity laws that the expectation takes long."""
    return len(table_kinds(scenario).laws) > MANY_TABLES


@lru_cache(maxsize=32)
def expected_profile(scenario: Scenario) -> Profile:
    """Return the generator's expected profile; `scenario` comes from `profile_scenario`."""
    return data_profile.expected_profile(scenario)


@lru_cache(maxsize=8)
def counted_profile(scenario: Scenario, max_lookups: int = MOST_LOOKUPS, path: str = "") -> Profile:
    """Return the profile of the first batches, at most `max_lookups` lookups.

    `scenario` comes from `profile_scenario`. Of the file at `path`, at most one pass is counted.
    """
    file = _file(path, scenario.data.digest) if path else None
    origin = source(scenario, file)
    first_ids = origin.ids(0)
    number = max(1, max_lookups // max(len(first_ids), 1))
    if origin.training_samples:
        number = max(1, min(number, origin.training_samples // scenario.data.batch_size))
    profile = data_profile.counted_profile(scenario, [first_ids, *(origin.ids(n) for n in range(1, number))])
    if file is None:
        return profile
    columns = file.fields * (len(profile.table_rows) // file.tables)  # copies of a field follow each other
    return replace(profile, numbering=numbering_note(scenario, file), columns=columns, samples=file.training_samples)


def without_columns(profile: Profile, visible: bool) -> Profile:
    """Return a profile without the names of its file's columns, unless the file is `visible`."""
    return profile if visible else replace(profile, columns=())


def answer(profile: Profile, share: float) -> str:
    """Return a sentence on the hit rates, lookup by lookup, of a cache that holds `share` of all rows.

    If `share` is 0, the sentence is on caches of several sizes.
    """
    if share <= 0:
        return sizes_sentence(profile)
    lru, static = (percent(profile.hit_rate(policy, share)) for policy in (LRU, HOTTEST_STAY))
    cache = f"A cache of {figure(share * table_bytes(profile), 'B')} ({percent(share)} of the rows)"
    return f"{cache} has an LRU hit rate of {lru}, and a hot-row hit rate of {static}"


def cache_note(result: Result) -> str:
    """Return a sentence on the hit rate of the system's own cache; "" without one."""
    if quantity(HIT_RATE, result) is None:
        return ""
    own = f"{title_of(result.scenario)} has a {named_text(HIT_RATE, result)}: its cache serves whole batches"
    return f"{own}. The LRU and hot-row hit rates are of ideal caches that serve lookup after lookup."


def table_bytes(profile: Profile) -> float:
    """Return the bytes of all tables, with optimizer state and checksums, as `engine.systems.traffic.table_bytes`."""
    return float(profile.rows * profile.row_bytes)


def provenance(profile: Profile, file: bool) -> str:
    """Return the sentence on where the numbers come from: expectation, generator or file."""
    if not profile.counted_text:
        return (
            "These are expected values of the generator in steady state; "
            "they follow from Popularity and Locality in the group Data of the sidebar."
        )
    origin = "of the data file, in its own order" if file else "drawn from the generator"
    return f"These numbers are counted in {profile.counted_text} {origin}."


def first_uses(profile: Profile) -> str:
    """Return a sentence on the share of lookups that are the first of their row.

    No cache that starts empty can hit them.
    """
    first_share = 1 - float(profile.hits[LRU][-1])
    return (
        f"{percent(first_share)} of these lookups are the first use of their row, so they miss in an LRU cache of any size; if "
        "more lookups are counted, this share falls. The hottest rows are the rows that these lookups use most often."
    )


def sizes_sentence(profile: Profile) -> str:
    """Return a sentence on the sizes from which an LRU cache hits 90, 95 and 99 %."""
    hits = np.maximum.accumulate(profile.hits[LRU])
    reached = [part for part in (0.9, 0.95, 0.99) if hits[-1] >= part]
    if not reached:
        return f"An LRU cache of any size hits at most {percent(hits[-1])} of these lookups"
    shares = [float(np.exp(np.interp(part, hits, np.log(ROW_SHARES)))) for part in reached]
    size_texts = [
        f"{percent(part)} with {figure(share * table_bytes(profile), 'B')}" for part, share in zip(reached, shares, strict=True)
    ]
    return f"An LRU cache reaches an LRU hit rate of {', '.join(size_texts)}"


def popularity_sentence(profile: Profile) -> str:
    """Return a sentence on the share of lookups that go to a few rows."""
    hottest = float(np.interp(np.log(0.01), np.log(ROW_SHARES), profile.popularity))
    return f"The hottest 1 % of the rows get {percent(hottest)} of the lookups"


def batches_sentence(profile: Profile, batch_size: int) -> str:
    """Return the sentence on unique and repeated rows of a batch of `batch_size` samples."""
    samples, unique, repeated = next(batch for batch in profile.by_batch if batch[0] == batch_size)
    unique_text = f"A batch of {count(samples, 'sample')} uses {figure(100 * unique)} unique rows per 100 lookups"
    return f"{unique_text}; {percent(repeated)} of its lookups go to rows of the batch before"


def planner_sentence(profile: Profile, share: float) -> str:
    """Return a sentence on the error of TorchRec's planner, and on its part due to the hit rate.

    The planner takes the share of cached rows for the hit rate.
    """
    overlay = planner_gap.overlay(share, profile.hit_rate(HOTTEST_STAY, share))
    hit_rate_bandwidth, planner_bandwidth, hit_rate_factor = (
        overlay.real / 1e9,
        overlay.planner / 1e9,
        overlay.with_real_hits / overlay.without_derating,
    )
    rates = f"expects {figure(planner_bandwidth, 'GB/s')} of this cache; its hit rate gives {figure(hit_rate_bandwidth, 'GB/s')}"
    start = f"TorchRec's planner {rates}, {factor(hit_rate_bandwidth / planner_bandwidth)} as much"
    return f"{start}. The planner uses the share of rows as hit rate, which alone is a factor of {figure(hit_rate_factor)}"


def planner_steps(profile: Profile, share: float) -> pd.DataFrame:
    """Return the steps from the planner's bandwidth to that of the real hits.

    Columns: bandwidth after each step [GB/s], factor, both as text, and the step.
    """
    hit_rate = profile.hit_rate(HOTTEST_STAY, share)
    overlay = planner_gap.overlay(share, hit_rate)
    words = (
        "Without the planner's division by ten",
        f"With the hit rate ({percent(hit_rate)}) instead of the share of rows ({percent(share)})",
        "With the harmonic mean of both bandwidths instead of the arithmetic mean",
    )
    bandwidths = (overlay.without_derating, overlay.with_real_hits, overlay.real)
    steps = [("Planner's formula", 1.0, overlay.planner), *zip(words, overlay.factors, bandwidths, strict=True)]
    rows = [(rate / 1e9, change, figure(rate / 1e9, "GB/s"), factor(change), word) for word, change, rate in steps]
    return pd.DataFrame(rows, columns=["Bandwidth [GB/s]", "Factor [x]", "Bandwidth", "Factor", "Step"])


def bags_sentence(scenario: Scenario) -> str:
    """Return the sentence on generated bags' lengths, or on histories'; "" where all lengths are equal."""
    if is_sequential(scenario.model):
        return _histories_sentence(scenario)
    kinds = Counter(zip(per_table(scenario.model, "pooling"), length_cv(scenario), strict=True))
    uneven = {kind: chances(*kind) for kind in kinds if kind[1] > 0}
    if not uneven:
        return ""
    tables = total(kinds[kind] for kind in uneven)
    empty = total(kinds[kind] * float(length_chances[0]) for kind, length_chances in uneven.items()) / tables
    (mean, _), longest = max(uneven.items(), key=lambda length_law: int(np.argmax(np.cumsum(length_law[1]) > LENGTH_QUANTILE)))
    rare_length = int(np.argmax(np.cumsum(longest) > LENGTH_QUANTILE))
    bags = (
        f"The bag length varies in {tables} of {count(total(kinds.values()), 'table')}: {percent(empty)} of their bags are empty"
    )
    return f"{bags}, and at most 1 % have more than {count(rare_length, 'lookup')}; the mean is {count(mean)}."


def _histories_sentence(scenario: Scenario) -> str:
    """Return the sentence on the lengths of users' histories; "" where all are equal."""
    law = history_law(scenario)
    if not law.cv:
        return ""
    longest = f", and none more than {count(law.cap)}" if isfinite(law.cap) else ""
    return f"Histories have {count(law.mean, 'event')} in the mean, with a spread of {percent(law.cv)}{longest}."


def tables_sentence(profile: Profile, share: float) -> str:
    """Return a sentence on the tables with most misses, if each table's cache has the same share.

    Where small tables miss most, the sentence has their bytes.
    """
    hits = np.array([np.interp(np.log(max(share, 1e-9)), np.log(ROW_SHARES), table_hits) for table_hits in profile.by_table])
    misses_by_table, rows = profile.weight * (1 - hits), np.array(profile.table_rows)
    start = f"With {percent(share)} of each table cached"
    if misses_by_table.sum() <= 0:
        return f"{start}, no lookup misses"
    small = rows <= SMALL_TABLE
    part = misses_by_table[small].sum() / misses_by_table.sum()
    if part > 0.5 and 1 < small.sum() < len(rows):  # where all tables are small the sentence says nothing
        small_bytes = figure(float((rows * profile.table_row_bytes)[small].sum()), "B")
        return (
            f"{start}, {percent(part)} of the misses are in the {count(small.sum(), 'smallest table')}, which "
            f"take {small_bytes} whole"
        )
    worst_table = int(misses_by_table.argmax())
    name = f"{title(profile, worst_table)} ({count(rows[worst_table], 'row')})"
    misses = f"{percent(1 - hits[worst_table])} of the lookups in {name} miss"
    return (
        f"{start}, {misses}, which is {percent(misses_by_table[worst_table] / misses_by_table.sum())} of all misses"
        if len(rows) > 1
        else f"{start}, {misses}"
    )


def title(profile: Profile, table: int) -> str:
    """Return a table's title: its column's name in the file, else its number from 1."""
    if not profile.columns:
        return f"table {table + 1}"
    name = shorten(profile.columns[table])
    copies = [number for number, column in enumerate(profile.columns) if column == profile.columns[table]]
    return f"{name} {copies.index(table) + 1}" if len(copies) > 1 else name


def shorten(name: str) -> str:
    """Return a column's name cut to MOST_LETTERS letters, for a chart's labels."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 3]}..."


def by_table(profile: Profile) -> pd.DataFrame:
    """Return the misses of an LRU cache for each of the largest tables, by share of rows.

    Columns: x, table, y (x and y in %), rows.
    """
    largest = sorted(range(len(profile.table_rows)), key=lambda t: -profile.table_rows[t])[:MOST_TABLES]
    labels = {t: f"{title(profile, t)}, {count(profile.table_rows[t], 'row')}" for t in largest}
    twins = Counter(labels.values())  # columns of long names that begin alike
    labels = {t: f"{t + 1}: {label}" if twins[label] > 1 else label for t, label in labels.items()}
    rows = [
        (100 * x, labels[t], 100 * (1 - hit), profile.table_rows[t])
        for t in largest
        for x, hit in zip(ROW_SHARES, profile.by_table[t], strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "table", "y", "rows"])


def popularity(profile: Profile, other_profiles: Mapping[str, Profile] = NO_PROFILES) -> pd.DataFrame:
    """Return lookups [%] of the hottest rows [%], for this profile and others by prefix."""
    curves = (
        {"x": 100 * ROW_SHARES, "y": 100 * prefixed_profile.popularity, "name": f"{prefix}hottest rows"}
        for prefix, prefixed_profile in _prefixed_profiles(profile, other_profiles)
    )
    return pd.concat(list(map(pd.DataFrame, curves)), ignore_index=True)


def batches(profile: Profile, other_profiles: Mapping[str, Profile] = NO_PROFILES) -> pd.DataFrame:
    """Return unique rows and overlap by batch size [% of lookups], of all profiles by prefix."""
    rows = [
        (size, 100 * share, prefix + name)
        for prefix, prefixed_profile in _prefixed_profiles(profile, other_profiles)
        for size, *shares in prefixed_profile.by_batch
        for name, share in zip((UNIQUE, REPEATED_ROWS), shares, strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "y", "name"])


def _prefixed_profiles(profile: Profile, other_profiles: Mapping[str, Profile]) -> Iterable[tuple[str, Profile]]:
    return (("", profile), *other_profiles.items())


def hits(profile: Profile, share: float, other_profiles: Mapping[str, Profile]) -> pd.DataFrame:
    """Return misses [%] by cache size in `unit(profile)`, of all profiles by prefix.

    Further rows mark the scenario's own cache size.
    """
    parts = [_miss_rows(prefixed_profile, prefix) for prefix, prefixed_profile in _prefixed_profiles(profile, other_profiles)]
    return _with_asked_size(pd.concat(parts, ignore_index=True), profile, share)


def _miss_rows(profile: Profile, prefix: str) -> pd.DataFrame:
    rows = [
        (_size_in_unit(profile, x), 100 * x, 100 * (1 - y), prefix + name)
        for name, all_y in profile.hits.items()
        for x, y in zip(ROW_SHARES, all_y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "share", "y", "name"])


def bandwidth(profile: Profile, share: float) -> pd.DataFrame:
    """Return GB/s by the planner and by the real hits, over cache sizes in `unit(profile)`."""
    steps = [(x, planner_gap.overlay(x, profile.hit_rate(HOTTEST_STAY, x))) for x in ROW_SHARES]
    rows = [
        (_size_in_unit(profile, x), 100 * x, rate / 1e9, name)
        for name, rates in ((PLANNER, "planner"), (REAL_BANDWIDTH, "real"))
        for x, overlay in steps
        for rate in (getattr(overlay, rates),)
    ]
    return _with_asked_size(pd.DataFrame(rows, columns=["x", "share", "y", "name"]), profile, share)


def _size_in_unit(profile: Profile, share: float) -> float:
    """Return the size of a share of all rows in the profile's unit."""
    return share * table_bytes(profile) / PREFIXES[unit(profile)[:-1]]


def unit(profile: Profile) -> str:
    """Return the unit of cache sizes, such as "kB"; all tables together have ten units or more."""
    return next((f"{prefix}B" for prefix in UNITS if table_bytes(profile) / LEAST_UNITS >= PREFIXES[prefix]), "B")


def _with_asked_size(frame: pd.DataFrame, profile: Profile, share: float) -> pd.DataFrame:
    asked_size = {"x": _size_in_unit(profile, share), "share": 100 * share, "y": 1.0, "name": ""}
    return pd.concat([frame, pd.DataFrame([asked_size])], ignore_index=True) if ROW_SHARES[0] <= share <= 1 else frame


def numbers(misses: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the misses of `hits` as one row for each cache size and one column for each curve."""
    table = misses[misses["name"] != ""].pivot(index=["x", "share"], columns="name", values="y").reset_index()
    titles = {"x": f"Cache size [{unit}]", "share": "Cache size, share of rows [%]"}
    return table.rename(columns=titles | {name: f"Misses, {name} [%]" for name in table.columns[2:]})


def curve_names(names: tuple[str, ...], prefixes: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all curves, with prefixes, in the order of their colours."""
    return tuple(prefix + name for prefix in ("", *prefixes) for name in names)
