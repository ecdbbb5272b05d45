"""How the lookups of a table spread over its rows: a few heavy hitters, then p(r) ~ (r+q)^-s over V ranks."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import log
from pathlib import Path
from typing import Any

from engine.scenario import Scenario, per_table

FOLDER = Path(__file__).parent / "data"
FIELDS = 26
# One Zipf law for every table, fitted to how often rows of Meta's published 2021 traces are used again.
META = 0.867


@dataclass(frozen=True, slots=True)
class Popularity:
    """The distribution of one table's lookups (Zipf-Mandelbrot with heavy hitters).

    `heavy` are the shares of rows 0, 1, ...; `mass` is the share of the V ranks that follow, rank r with weight
    (r+q)^-s. Ranks beyond the table's `rows` share rows by a stable hash, so V may exceed them by far.
    """

    heavy: tuple[float, ...]
    mass: float
    s: float
    q: float
    V: int
    rows: int


def popularities(scenario: Scenario) -> tuple[Popularity, ...]:
    """Return the popularity of every table; table i follows Criteo field (i mod 26) + 1 where one is fitted."""
    rows = per_table(scenario.model, "num_embeddings")
    data = scenario.data
    if data.popularity == "kaggle":
        return tuple(_kaggle(table % FIELDS + 1, n) for table, n in enumerate(rows))
    if data.popularity == "terabyte":
        return tuple(_terabyte(table % FIELDS + 1, n) for table, n in enumerate(rows))
    if data.popularity == "meta":
        return tuple(Popularity((), 1.0, META, 0.0, n, n) for n in rows)
    if data.popularity == "avazu":
        return tuple(_avazu(n) for n in rows)
    exponent = data.zipf_exponent if data.popularity == "zipf" else 0.0
    return tuple(Popularity((), 1.0, exponent, 0.0, n, n) for n in rows)


@lru_cache(maxsize=4096)
def _kaggle(field: int, rows: int) -> Popularity:
    fit = fits("kaggle")[str(field)]
    return Popularity(tuple(fit["heavy"]), fit["mass"], fit["s"], fit["q"], fit["V"], rows)


@lru_cache(maxsize=4096)
def _terabyte(field: int, rows: int) -> Popularity:
    """A small field has no fit of its own: it is assumed to be shaped like the Kaggle field nearest in distinct ids."""
    fit = fits("tb")[str(field)]
    if "s" in fit:
        return Popularity((), 1.0, fit["s"], fit["q"], fit["V"], rows)
    like = _kaggle(_kaggle_field_like(fit["distinct"]), rows)
    return replace(like, V=max(1, fit["distinct"] - len(like.heavy)) if like.mass else like.V)


@cache
def _kaggle_field_like(distinct: int) -> int:
    return int(min(fits("kaggle").items(), key=lambda one: abs(log(one[1]["distinct"] / distinct)))[0])


@lru_cache(maxsize=4096)
def _avazu(rows: int) -> Popularity:
    """A crude guess: one value of the large device-id field takes most lookups, the larger device-ip field falls slowly.

    Fields are told apart by their size alone; what the small ones are like is unsourced, s=1.1.
    """
    if rows > 5_000_000:
        return Popularity((), 1.0, 0.76, 0.0, rows, rows)
    heavy, s = ((0.85,), 0.76) if rows > 1_000_000 else ((), 1.1)
    return Popularity(heavy, 1.0 - sum(heavy), s, 0.0, max(rows - len(heavy), 1), rows)


@cache
def fits(name: str) -> Mapping[str, Any]:
    """Return the fits of `kaggle` or `tb` by field number, as their file states them."""
    content = json.loads((FOLDER / f"{name}_fit.json").read_text(encoding="utf-8"))
    return dict(content["fields"])
