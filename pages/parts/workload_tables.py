"""How the data is accessed, as sentences and as the plain tables that charts draw; kept while scenarios repeat."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd

from engine import planner, profile
from engine.profile import LRU, LRU_BY_TABLE, SHARES, STATIC, Profile
from engine.scenario import Scenario
from engine.workload.criteo import CriteoFile, read
from engine.workload.source import source
from pages.parts import data_file
from pages.parts.numbers import readable

MOST_LOOKUPS = 1_000_000
UNIQUE, AGAIN = "unique rows", "lookups of a row of the batch before"
PLANNER, REAL = "planner's formula", "what the hits give"


@lru_cache(maxsize=8)
def _file(path: str, digest: str) -> CriteoFile:
    return read(path)


def asked(scenario: Scenario) -> Scenario:
    """Return the scenario with nothing but what accesses depend on, so that other knobs compute nothing anew."""
    return replace(Scenario(), model=scenario.model, data=scenario.data)


@lru_cache(maxsize=32)
def expected(scenario: Scenario) -> Profile:
    """Return what the generator is expected to do with `asked(scenario)`."""
    return profile.expectation(scenario)


@lru_cache(maxsize=8)
def counted(scenario: Scenario) -> Profile:
    """Return what the first batches of `asked(scenario)` do, up to a million lookups; of a file, one pass at most."""
    path = data_file.path_for(scenario)
    file = _file(str(path), scenario.data.digest) if path else None
    origin = source(scenario, file)
    first = origin.ids(0)
    number = max(1, MOST_LOOKUPS // len(first))
    if origin.training_samples:
        number = max(1, min(number, origin.training_samples // scenario.data.batch_size))
    return profile.counted(scenario, [first, *(origin.ids(n) for n in range(1, number))])


def answer(found: Profile, share: float) -> str:
    """Return what a cache of a share of all rows hits."""
    size = readable(share * found.rows * found.row_bytes / 1e9, "GB")
    lru, static = (100 * found.hit_rate(policy, share) for policy in (LRU, STATIC))
    rows = f"{readable(100 * share)} % of the rows"
    return f"A cache of {size}, {rows}, hits {lru:.1f} % of lookups as LRU, {static:.1f} % with the hottest rows"


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
    """Return by how much the planner's formula misses."""
    one = planner.Overlay(share, found.hit_rate(STATIC, share))
    steps = " × ".join(f"{factor:.3g} ({name[0].lower()}{name[1:]})" for name, factor in one.factors.items())
    ours, theirs = one.real / 1e9, one.planner / 1e9
    return f"TorchRec's planner expects {theirs:.3g} GB/s, the hits give {ours:.3g}: {ours / theirs:.3g} times = {steps}"


def popularity(found: Profile) -> pd.DataFrame:
    """Return share of rows against share of lookups, both in percent."""
    return pd.DataFrame({"x": 100 * SHARES, "y": 100 * found.popularity, "name": "hottest rows"})


def batches(found: Profile) -> pd.DataFrame:
    """Return unique rows and overlap by batch size, in percent of lookups."""
    rows = [
        (size, 100 * value, name) for size, *both in found.by_batch for name, value in zip((UNIQUE, AGAIN), both, strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "y", "name"])


def hits(found: Profile, share: float, more: Mapping[str, Profile]) -> pd.DataFrame:
    """Return misses in percent by share of rows, of this profile and of others by their prefix, and the asked share."""
    parts = [_misses(found, "")] + [_misses(other, prefix) for prefix, other in more.items()]
    return _marked(pd.concat(parts, ignore_index=True), share)


def _misses(found: Profile, prefix: str) -> pd.DataFrame:
    rows = [
        (100 * x, 100 * (1 - y), prefix + name) for name, all_y in found.hits.items() for x, y in zip(SHARES, all_y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["x", "y", "name"])


def bandwidth(found: Profile, share: float) -> pd.DataFrame:
    """Return GB/s by the planner and by the hits, over the share of rows cached."""
    steps = [(x, planner.Overlay(x, found.hit_rate(STATIC, x))) for x in SHARES]
    rows = [(100 * x, one.planner / 1e9, PLANNER) for x, one in steps] + [(100 * x, one.real / 1e9, REAL) for x, one in steps]
    return _marked(pd.DataFrame(rows, columns=["x", "y", "name"]), share)


def _marked(frame: pd.DataFrame, share: float) -> pd.DataFrame:
    inside = SHARES[0] <= share <= 1
    return pd.concat([frame, pd.DataFrame([{"x": 100 * share, "y": 1.0, "name": ""}])], ignore_index=True) if inside else frame


def names(prefixes: Sequence[str]) -> tuple[str, ...]:
    """Return the names of all curves of hits, in the order of their colours."""
    return tuple(prefix + name for prefix in ("", *prefixes) for name in (LRU, LRU_BY_TABLE, STATIC))
