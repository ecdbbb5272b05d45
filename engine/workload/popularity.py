"""Popularity: the distribution of a table's lookups over its rows.

A few heavy hitters come first; then V ranks follow with p(r) ~ (r+q)^-s.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats, Ints
from ..core.memo import memoised
from ..scenario.data import BY_TABLE, by_table
from ..scenario.scenario import Scenario, per_table

FOLDER = Path(__file__).parent / "data"
FIELDS = 26
# One law for every table, fitted to how often rows of Meta's published 2021 traces are used again: exponent, share used once.
META_EXPONENT, META_ONCE = 0.84, 0.04
# Fitted to shares of rows and lookups: exponent of the small fields, share of the largest device id. AVAZU_UNSEEN is in ranks a
# row: of so large a population, 40.4 million samples are expected to hold as many ids as there are rows.
AVAZU_EXPONENT, AVAZU_DEVICE, AVAZU_SLOW = 1.46, 0.83, 0.76
AVAZU_UNSEEN = {"device-id": 2.147, "device-ip": 1.131}

# Samples of the click logs that the fits are of: Kaggle's and Avazu's train files, the first 23 days of the 1TB logs.
SAMPLES = {"kaggle": 45_840_617, "terabyte": 4_195_197_692, "avazu": 40_428_967}


@dataclass(frozen=True, slots=True)
class Popularity:
    """The distribution of one table's lookups: Zipf-Mandelbrot with heavy hitters.

    heavy: the shares of lookups of rows 0, 1, ...
    mass: the share of lookups of the V ranks after the heavy rows; rank r has weight (r+q)^-s.
    s, q: the exponent and the shift of the weight.
    V: the number of ranks. Ranks beyond the table's rows share rows by a stable hash, so V may be much larger than `rows`.
    rows: the rows of the table.
    once_share: the share of lookups with ids that hardly ever come back; these ids share the table's rows by hash too.
    """

    heavy: tuple[float, ...]
    mass: float
    s: float
    q: float
    V: int
    rows: int
    once_share: float = 0.0


class TableKinds(NamedTuple):
    """Kinds of tables: tables with equal popularity and pooling, which are computed once.

    laws, pooling: the popularity and the pooling factor of each kind, in the order of their first tables.
    table_counts: the number of tables of each kind, (kinds,).
    kind_of_table: the kind of each table, (T,).
    feature_kinds: "bag" or "sequence" for each kind.
    """

    laws: tuple[Popularity, ...]
    pooling: tuple[int, ...]
    table_counts: Ints
    kind_of_table: Ints
    feature_kinds: tuple[str, ...]


@memoised(most=100_000, size=lambda kinds: len(kinds.kind_of_table), each_point_alone=True)
def table_kinds(scenario: Scenario) -> TableKinds:
    """Return the kinds of a scenario's tables."""
    kind_numbers: dict[tuple[Popularity, int, str], int] = {}
    pooling_by_table, feature_kinds_by_table = (per_table(scenario.model, name) for name in ("pooling", "feature_kind"))
    tables = zip(popularities(scenario), pooling_by_table, feature_kinds_by_table, strict=True)
    kind = np.array([kind_numbers.setdefault(table, len(kind_numbers)) for table in tables])
    laws, pooling, feature_kinds = zip(*kind_numbers, strict=True)
    return TableKinds(laws, pooling, np.bincount(kind), kind, feature_kinds)


@memoised(most=100_000, size=len)
def popularities(scenario: Scenario) -> tuple[Popularity, ...]:
    """Return the popularity of each table.

    Table i follows Criteo's field (i mod 26) + 1 if the scenario's popularity is fitted to Criteo's logs.
    """
    rows = per_table(scenario.model, "num_embeddings")
    data_knobs = scenario.data
    if data_knobs.popularity == "kaggle":
        return tuple(_kaggle(table % FIELDS + 1, n) for table, n in enumerate(rows))
    if data_knobs.popularity == "terabyte":
        return tuple(_terabyte(table % FIELDS + 1, n) for table, n in enumerate(rows))
    if data_knobs.popularity == "meta":
        return tuple(Popularity((), 1.0 - META_ONCE, META_EXPONENT, 0.0, n, n, META_ONCE) for n in rows)
    if data_knobs.popularity == "avazu":
        return tuple(_avazu(n) for n in rows)
    if data_knobs.popularity == "uniform":
        return tuple(Popularity((), 1.0, 0.0, 0.0, n, n) for n in rows)
    laws = zip(*(by_table(data_knobs, name, len(rows)) for name in BY_TABLE), strict=True)
    return tuple(zipf(s, q, hottest, once_share, n) for (s, q, hottest, once_share), n in zip(laws, rows, strict=True))


def zipf(s: float, q: float, hottest: float, once_share: float, rows: int) -> Popularity:
    """Return the popularity of one table by the knobs of the plain Zipf distribution."""
    heavy = (hottest,) if hottest else ()
    return Popularity(heavy, 1.0 - hottest - once_share, s, q, max(rows - len(heavy), 1), rows, once_share)


@lru_cache(maxsize=4096)
def _kaggle(field: int, rows: int) -> Popularity:
    fit = published_fits("kaggle")[str(field)]
    return Popularity(tuple(fit["heavy"]), fit["mass"], fit["s"], fit["q"], fit["V"], rows)


@lru_cache(maxsize=4096)
def _terabyte(field: int, rows: int) -> Popularity:
    """Return the law of a field of the 1TB logs.

    A small field has no fit of its own: it takes the shape of the Kaggle field nearest in distinct ids.
    """
    fit = published_fits("tb")[str(field)]
    if "s" in fit:
        return Popularity((), 1.0, fit["s"], fit["q"], fit["V"], rows)
    kaggle_law = _kaggle(_kaggle_field_like(fit["distinct"]), rows)
    return replace(kaggle_law, V=max(1, fit["distinct"] - len(kaggle_law.heavy)) if kaggle_law.mass else kaggle_law.V)


@lru_cache(maxsize=64)
def _kaggle_field_like(distinct: int) -> int:
    return int(min(published_fits("kaggle").items(), key=lambda fit: abs(log(fit[1]["distinct"] / distinct)))[0])


@lru_cache(maxsize=4096)
def _avazu(rows: int) -> Popularity:
    """Return the law of a field of Avazu, by the field's size alone.

    One value of the large device-id field takes most lookups, the larger device-ip field falls slowly, and all small fields fall
    fast with one exponent.
    """
    if rows > 5_000_000:
        return Popularity((), 1.0, AVAZU_SLOW, 0.0, round(AVAZU_UNSEEN["device-ip"] * rows), rows)
    if rows > 1_000_000:
        ranks = round(AVAZU_UNSEEN["device-id"] * rows)
        return Popularity((AVAZU_DEVICE,), 1.0 - AVAZU_DEVICE, AVAZU_SLOW, 0.0, ranks, rows)
    return Popularity((), 1.0, AVAZU_EXPONENT, 0.0, rows, rows)


@cache
def published_fits(name: str) -> Mapping[str, Any]:
    """Return the published fits of `kaggle` or `tb`, by field number."""
    content = json.loads((FOLDER / f"{name}_fit.json").read_text(encoding="utf-8"))
    return dict(content["fields"])


SINGLE_RANKS = 1024
STEPS_PER_E = 128
ENDLESS = 2**40  # ranks of ids that hardly come back


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Runs of consecutive ranks, the hottest first.

    first_ranks: the first rank of each run; rank 0 is the hottest.
    widths: the number of ranks of each run.
    mass: the share of lookups of each run.
    scale: the factor from (r+q)^-s to the share of rank r.
    num_single_cells: the number of leading runs that have exactly one rank.
    """

    first_ranks: Ints
    widths: Ints
    mass: Floats
    scale: float
    num_single_cells: int


def rank_cells(popularity: Popularity) -> Cells:
    """Return the ranks of a popularity as runs; the table's rows do not change them."""
    return _cells(replace(popularity, rows=1))


@lru_cache(maxsize=2048)
def _cells(popularity: Popularity) -> Cells:
    heavy = np.array(popularity.heavy)
    edges = _edges(popularity.V) if popularity.mass > 0 else np.array([1])
    weight = zipf_mass(edges[:-1], edges[1:], popularity.s, popularity.q)
    once_mass = np.full(int(popularity.once_share > 0), popularity.once_share)
    total_mass = heavy.sum() + popularity.mass + popularity.once_share
    scale = popularity.mass / total_mass / weight.sum() if len(weight) else 0.0
    first_ranks = np.concatenate((np.arange(len(heavy)), len(heavy) + edges - 1))[: len(heavy) + len(weight) + len(once_mass)]
    width = np.concatenate((np.ones(len(heavy), dtype=np.int64), np.diff(edges), np.full(len(once_mass), ENDLESS)))
    mass = np.concatenate((heavy / total_mass, scale * weight, once_mass / total_mass))
    return Cells(first_ranks, width, mass, float(scale), len(heavy) + min(len(weight), SINGLE_RANKS))


def _edges(ranks: int) -> Ints:
    """Return the first rank of each run, and the end of the last run."""
    single_edges = np.arange(1, min(ranks, SINGLE_RANKS) + 2)
    if ranks <= SINGLE_RANKS:
        return single_edges
    steps = int(np.ceil(STEPS_PER_E * np.log((ranks + 1) / (SINGLE_RANKS + 1))))
    return np.concatenate((single_edges, np.rint(np.geomspace(SINGLE_RANKS + 1, ranks + 1, steps + 1)).astype(np.int64)[1:]))


def zipf_mass(low: Ints | Floats, high: Ints | Floats, s: float, q: float) -> Floats:
    """Return the sum of (r+q)^-s over low <= r < high.

    The sum of one rank is exact; a longer sum is an Euler-Maclaurin approximation at midpoints.
    """
    a, b = low + q - 0.5, high + q - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.log(b / a)
        area = a ** (1 - s) * (np.expm1((1 - s) * step) / (1 - s) if s != 1 else step)
        slope = s / 24 * (b ** (-s - 1) - a ** (-s - 1))
    return np.where(high - low == 1, (low + q) ** -s, area + slope)
