"""Expected accesses of a batch to each table: lookups, unique rows, shared rows.

The numbers are computed from the popularity of the rows.
"""

import numpy as np

from ..core.arrays import Floats
from ..core.memo import memoised
from ..core.points.numbers import as_array, in_columns
from ..scenario.scenario import Scenario, per_table
from .expected import Accesses, hit_rate, spectrum_accesses
from .popularity import table_kinds
from .spectrum import id_space, table_spectra


@memoised(most=64, each_point_alone=True)
def expected_accesses(scenario: Scenario) -> Accesses:
    """Return the expected accesses of a generated batch in the steady state, by table.

    Results are cached by model and data, because many scenarios differ only in machine, system or constants.
    """
    kinds = table_kinds(scenario)
    kind_lookups = as_array(kinds.pooling, np.float64) * scenario.data.batch_size
    spectra, locality = table_spectra(kinds.laws), scenario.data.locality
    steady = in_columns(lambda lookups: spectrum_accesses(spectra, lookups, locality), kind_lookups)
    accesses = Accesses(*(part[kinds.kind_of_table] for part in steady))
    for amounts in accesses:
        amounts.flags.writeable = False
    return accesses


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
