"""Pooling factors: the mean number of lookups of a sample, by feature or table.

TorchRec's planner reads them in this form.
"""

from collections.abc import Sequence
from typing import Any

from ..core.arithmetic import total
from ..core.figures import count, exact
from ..errors import BadInput, nearest_hint
from ..scenario.scenario import KNOBS
from .embedding_tables import TorchRecTable
from .source_text import json_content

MIN_POOLING, MAX_POOLING = 1e-6, float(KNOBS["model.pooling"].high or 0)
PoolingFactors = tuple[tuple[float, ...], ...]  # by table, one for each of its features


def read_pooling(text: str, tables: Sequence[TorchRecTable]) -> PoolingFactors:
    """Read mean lookups by feature or table from JSON; return each table's; raises BadInput.

    A feature that the JSON lacks has 1. A table's number counts for all its features together; a list has a number for each
    feature.
    """
    factors = _read_factors(text)
    features = {feature for table in tables for feature in table.features}
    unknown_names = [name for name in factors if name not in features and all(name != table.name for table in tables)]
    if unknown_names:
        known_names = sorted(features | {table.name for table in tables})
        raise BadInput(
            f"Pooling factors name {unknown_names[0][:60]!r}, which is neither a feature nor a table; "
            f"{nearest_hint(unknown_names[0], known_names)}"
        )
    return tuple(_table_factors(table, factors) for table in tables)


def whole_lookups(factors: Sequence[float]) -> int:
    """Return a sample's lookups in a table, a whole number.

    It is the rounded sum of the table's factors, at least 1 for each feature.
    """
    return max(len(factors), round(total(factors)))


def pooling_sentences(pooling: PoolingFactors) -> tuple[str, ...]:
    """Return a sentence on pooling factors that were rounded, in a tuple.

    The tuple is empty where all factors are whole numbers.
    """
    rounded = [(total(factors), whole_lookups(factors)) for factors in pooling if whole_lookups(factors) != total(factors)]
    if not rounded:
        return ()
    example = f"such as {exact(rounded[0][0])} to {exact(rounded[0][1])}"
    return (
        (
            f"Pooling factors of {count(len(rounded), 'table')} are rounded to whole lookups, {example}; the planner uses exact "
            "factors."
        ),
    )


def _read_factors(text: str) -> dict[str, Any]:
    content = json_content(text, "pooling factors", 'write a map from feature or table to mean lookups, such as {"f0": 30}')
    if not isinstance(content, dict):
        raise BadInput('The pooling factors are not a map; write one such as {"f0": 30}.')
    return content


def _table_factors(table: TorchRecTable, factors: dict[str, Any]) -> tuple[float, ...]:
    """Return the pooling factor of each feature of a table."""
    num_features = len(table.features)
    if table.name not in factors or (table.name in table.features and not isinstance(factors[table.name], list)):
        return tuple(_factor(feature, factors.get(feature, 1.0)) for feature in table.features)
    if doubled_features := [feature for feature in table.features if feature in factors and feature != table.name]:
        raise BadInput(
            f"Pooling factors name both the table {table.name[:60]!r} and its feature {doubled_features[0][:60]!r}; remove one "
            "of the two."
        )
    table_factors = factors[table.name]
    if not isinstance(table_factors, list):
        return (_factor(table.name, table_factors) / num_features,) * num_features
    if len(table_factors) != num_features:
        raise BadInput(
            f"The pooling factor of {table.name[:60]!r} has {count(len(table_factors), 'number')} for "
            f"{count(num_features, 'feature')}; write one number for each feature."
        )
    return tuple(_factor(table.name, factor) for factor in table_factors)


def _factor(name: str, factor: Any) -> float:
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not MIN_POOLING <= factor <= MAX_POOLING:
        allowed = f"a number of mean lookups from {exact(MIN_POOLING)} to {exact(MAX_POOLING)}"
        raise BadInput(f"The pooling factor of {name[:60]!r} is {str(factor)[:40]}; write {allowed}.")
    return float(factor)
