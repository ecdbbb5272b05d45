"""Expected accesses of a batch to each table: lookups, unique rows, shared rows.

The numbers are computed from the popularity of the rows.
"""

import numpy as np

from ..core.arrays import Floats
from ..core.memo import memoised
from ..core.points.numbers import as_array, as_float, in_columns
from ..scenario.scenario import Scenario, is_sequential, per_table, with_values
from .expected import Accesses, hit_rate, spectrum_accesses
from .popularity import TableKinds, table_kinds
from .spectrum import id_space, table_spectra


@memoised(most=64, each_point_alone=True)
def expected_accesses(scenario: Scenario) -> Accesses:
    """Return the expected accesses of a generated batch in the steady state, by table.

    Results are cached by model and data, because many scenarios differ only in machine, system or constants.
    """
    kinds = table_kinds(scenario)
    kind_lookups = as_array(kinds.pooling, np.float64) * scenario.data.batch_size
    spectra, locality = table_spectra(kinds.laws), scenario.data.locality
    if scenario.data.samples_per_user > 1 and "sequence" in kinds.feature_kinds:
        events = distinct_events(kinds, scenario.data.batch_size, scenario.data.samples_per_user)
        _, unique, shared, raw = spectrum_accesses(spectra, events, locality)
        steady = Accesses(kind_lookups, unique, shared, raw * kind_lookups / events)
    else:
        steady = in_columns(lambda lookups: spectrum_accesses(spectra, lookups, locality), kind_lookups)
    accesses = Accesses(*(part[kinds.kind_of_table] for part in steady))
    for amounts in accesses:
        amounts.flags.writeable = False
    return accesses


def distinct_events(kinds: TableKinds, samples: float, samples_per_user: float) -> Floats:
    """Return the lookups of different events of users in each kind of table, (K,).

    Consecutive samples of a user have the same history but for one event. A bag's lookups all count.
    """
    lookups = np.array(kinds.pooling, dtype=np.float64)
    is_history = np.array([kind == "sequence" for kind in kinds.feature_kinds])
    return np.where(is_history, _events(lookups, samples, samples_per_user), samples * lookups)


def _events(lookups: Floats, samples: float, samples_per_user: float) -> Floats:
    """Return the different events of histories of `lookups` events, of consecutive samples of users."""
    users = max(samples / samples_per_user, 1.0)
    return np.minimum(users * (lookups - 1) + samples, samples * lookups)


def without_repeats(s: Scenario) -> Scenario:
    """Return a scenario whose batches look up each event of a user once.

    Samples of a user share events, and a repeated event needs no further row. Caches of histories are computed for this scenario.
    """
    if s.data.samples_per_user == 1 or not is_sequential(s.model):
        return s
    lookups, samples = as_array(per_table(s.model, "pooling"), np.float64), float(s.data.batch_size)
    is_history = np.array(per_table(s.model, "feature_kind")) == "sequence"
    events = _events(lookups, samples, s.data.samples_per_user) / samples
    distinct_lookups = tuple(map(int, np.maximum(np.rint(np.where(is_history, events, lookups)), 1)))
    return with_values(s, {"model.pooling": distinct_lookups, "data.samples_per_user": 1.0})


@memoised(most=64, each_point_alone=True)
def unique_shares(scenario: Scenario) -> Floats:
    """Return the unique rows over the lookups of one GPU's batch, by table, (T,)."""
    kinds, samples = table_kinds(scenario), scenario.data.batch_size / scenario.machine.num_gpus
    events = distinct_events(kinds, samples, scenario.data.samples_per_user)
    unique = spectrum_accesses(table_spectra(kinds.laws), events, scenario.data.locality).unique_rows
    shares: Floats = (unique / (samples * np.array(kinds.pooling, dtype=np.float64)))[kinds.kind_of_table]
    return shares


def sent_shares(s: Scenario) -> Floats:
    """Return the share of each table's lookups whose id and vector cross between GPUs, (T,).

    Without input dedup, and in tables of bags, all lookups cross.
    """
    if not s.policy.input_dedup or s.machine.num_gpus == 1:
        return np.ones(s.model.num_tables)
    is_history = np.array(per_table(s.model, "feature_kind")) == "sequence"
    return np.where(is_history, unique_shares(s), 1.0)


def sent_share(s: Scenario) -> float:
    """Return the share of all tables' lookups whose id and vector cross between GPUs."""
    return as_float(np.average(sent_shares(s), weights=per_table(s.model, "pooling"))) if s.policy.input_dedup else 1.0


def expected_misses(scenario: Scenario, capacity_rows: Floats | float) -> Floats:
    """Return the expected lookups per batch that miss an LRU cache, for each capacity [rows].

    One cache serves all tables.

    Lookups are assumed to be mixed over all tables. If the cache holds the rows of ten batches, the hit rate is within 0.5
    percentage points of the exact cache. If the cache holds a few batches, in which the lookups come table by table, it is within
    about 2 points.
    """
    space = id_space(scenario)
    misses: Floats = table_lookups(scenario).sum() * (1 - hit_rate(space, capacity_rows, scenario.data.locality))
    return misses


def table_lookups(scenario: Scenario) -> Floats:
    """Return the lookups of a batch in each table, (T,)."""
    return as_array(per_table(scenario.model, "pooling"), np.float64) * scenario.data.batch_size
