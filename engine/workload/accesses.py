"""Expected accesses of a batch: lookups, unique and shared rows by table.

They follow from the popularity.
"""

import numpy as np

from ..core.arrays import Floats
from ..core.memo import memoised
from ..scenario.scenario import Scenario, per_table
from .expected import Accesses, hit_rate, spectrum_accesses
from .popularity import table_kinds
from .spectrum import id_space, table_spectra


@memoised(most=64)
def expected_accesses(scenario: Scenario) -> Accesses:
    """Return the expected accesses of a batch in the generator's steady state, by table.

    Answers are kept by model and data: machines, systems and drawn constants differ far more often.
    """
    kinds = table_kinds(scenario)
    kind_lookups = np.array(kinds.pooling, dtype=np.float64) * scenario.data.batch_size
    steady = spectrum_accesses(table_spectra(kinds.laws), kind_lookups, scenario.data.locality)
    accesses = Accesses(*(part[kinds.kind_of_table] for part in steady))
    for amounts in accesses:
        amounts.flags.writeable = False
    return accesses


def expected_misses(scenario: Scenario, capacity_rows: Floats | float) -> Floats:
    """Return the lookups per batch that miss an LRU cache, by capacity.

    The cache is over all tables.

    Lookups count as mixed over tables: within 0.5 points of the exact cache where the cache holds the rows of ten batches;
    in a cache for a few batches, where the tables' turns inside a batch still show, within some 2 points.
    """
    space = id_space(scenario)
    misses: Floats = table_lookups(scenario).sum() * (1 - hit_rate(space, capacity_rows, scenario.data.locality))
    return misses


def table_lookups(scenario: Scenario) -> Floats:
    """Return (T,) lookups of a batch per table."""
    return np.array(per_table(scenario.model, "pooling"), dtype=np.float64) * scenario.data.batch_size
