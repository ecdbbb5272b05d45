"""Accesses of a batch: lookups, unique and shared rows of each table, as the popularity lets expect."""

import numpy as np

from ..core.arrays import Floats
from ..core.memo import remembered
from ..scenario.scenario import Scenario, per_table
from .expected import Accesses, hit_rate, touched
from .popularity import alike
from .spectrum import id_space, spectra


@remembered(most=64)
def expected(scenario: Scenario) -> Accesses:
    """Return what a batch of the generator's steady state is expected to touch.

    Machines, systems and draws of constants differ far more often than what is trained on what.
    """
    every = alike(scenario)
    each = np.array(every.pooling, dtype=np.float64) * scenario.data.batch_size
    steady = touched(spectra(every.laws), each, scenario.data.locality)
    found = Accesses(*(part[every.kind] for part in steady))
    for shared in found:
        shared.flags.writeable = False
    return found


def expected_misses(scenario: Scenario, capacity_rows: Floats | float) -> Floats:
    """Return the lookups per batch that miss an LRU cache of `capacity_rows` rows over all tables, one per capacity.

    Lookups count as mixed over tables: within 0.5 points of the exact cache where it holds the rows of ten batches;
    in one of a few batches, where the tables' turns inside a batch still show, within some 2 points.
    """
    space = id_space(scenario)
    misses: Floats = lookups(scenario).sum() * (1 - hit_rate(space, capacity_rows, scenario.data.locality))
    return misses


def lookups(scenario: Scenario) -> Floats:
    """Return (T,) lookups of a batch per table."""
    return np.array(per_table(scenario.model, "pooling"), dtype=np.float64) * scenario.data.batch_size
