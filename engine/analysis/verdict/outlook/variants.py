"""Variants of a question, each with one quantity times a factor, and their winners."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ....campaign.fault_stream import campaign_faults
from ....core import figures
from ....core.arithmetic import total
from ....errors import EmberpoolError
from ....faults.fault import class_mtbf
from ....scenario.scenario import KNOBS, Scenario, per_table, with_values
from ....systems.traffic import table_bytes
from ....units import GB, HOUR
from ..question import VerdictQuestion
from .axes import scaled_lookups
from .shortlist import NO_WINNER, Settings, Winner, winner

WIDE_STEPS = (2.0, 8.0, 64.0)
Scaled = tuple[tuple[str, float], ...]  # constants by name, and how many times as large each is


@dataclass(frozen=True)
class VariedQuantity:
    """A quantity of a question that can be multiplied by a factor.

    name: name of the quantity.
    changes: returns knobs and factors of constants for a scenario and factor; raises BadKnob outside of a knob's range.
    describe: returns a text on the quantity times a factor.
    applies: returns whether a scenario has the quantity.
    steps: the factors to try, and their inverses, until the verdict changes.
    """

    name: str
    changes: Callable[[Scenario, float], tuple[Mapping[str, Any], Scaled]]
    describe: Callable[[Scenario, float], str]
    applies: Callable[[Scenario], bool] = lambda s: True
    steps: tuple[float, ...] = (2.0, 8.0)


def _rows(s: Scenario, factor: float) -> tuple[Mapping[str, Any], Scaled]:
    return {"model.num_embeddings": tuple(max(1, round(rows * factor)) for rows in s.model.num_embeddings)}, ()


def _lookups(s: Scenario, factor: float) -> tuple[Mapping[str, Any], Scaled]:
    return {"model.pooling": scaled_lookups(s.model, factor)}, ()


def _batch(s: Scenario, factor: float) -> tuple[Mapping[str, Any], Scaled]:
    return {"data.batch_size": max(1, round(s.data.batch_size * factor))}, ()


def _faults(s: Scenario, factor: float) -> tuple[Mapping[str, Any], Scaled]:
    """Return the mean time between faults of each class with a rate, divided by the factor."""
    mtbf_by_knob = {f"faults.{name.replace('-', '_')}_mtbf_hours": class_mtbf(s, name) for name in campaign_faults()}
    return {
        path: mtbf_seconds / HOUR / factor for path, mtbf_seconds in mtbf_by_knob.items() if mtbf_seconds and path in KNOBS
    }, ()


def _constants(*names: str) -> Callable[[Scenario, float], tuple[Mapping[str, Any], Scaled]]:
    return lambda s, factor: ({}, tuple((name, factor) for name in names))


def _times_text(quantity_text: str) -> Callable[[Scenario, float], str]:
    return lambda s, factor: f"{figures.times(factor)} {quantity_text}"


def tables_text(s: Scenario) -> str:
    """Return the size of a scenario's tables as text."""
    return f"{figures.figure(table_bytes(s) / GB, 'GB')} of tables"


def lookups_text(s: Scenario) -> str:
    """Return the number of lookups of a sample as text."""
    return f"{figures.count(total(per_table(s.model, 'pooling')), 'lookup')} a sample"


def _describe_after(
    changes: Callable[[Scenario, float], tuple[Mapping[str, Any], Scaled]], describe: Callable[[Scenario], str]
) -> Callable[[Scenario, float], str]:
    return lambda s, factor: describe(with_values(s, changes(s, factor)[0]))


SIZE = VariedQuantity("model size", _rows, _describe_after(_rows, tables_text), steps=WIDE_STEPS)
LOOKUPS = VariedQuantity("lookups", _lookups, _describe_after(_lookups, lookups_text), steps=WIDE_STEPS)
BATCH = VariedQuantity(
    "batch size", _batch, _describe_after(_batch, lambda s: f"{figures.count(s.data.batch_size, 'sample')} a batch")
)
DRAM = VariedQuantity(
    "price of DRAM", _constants("dram.price", "expander-dram.price", "remote.memory-price"), _times_text("its price")
)
PMEM = VariedQuantity("price of persistent memory", _constants("pmem.price"), _times_text("its price"))
GPUS = VariedQuantity("price of GPUs", _constants("gpu.price"), _times_text("its price"))
LINK = VariedQuantity("CXL link", _constants("cxl.raw-lane-rate"), _times_text("its rate"))
FAULTS = VariedQuantity("failures", _faults, _times_text("as many"), lambda s: bool(_faults(s, 1.0)[0]))
QUANTITIES = (SIZE, LOOKUPS, BATCH, DRAM, PMEM, GPUS, LINK, FAULTS)
POPULARITY, POPULARITIES = "data.popularity", ("kaggle", "terabyte", "avazu", "meta", "uniform")
CASES = ((LINK, 0.5), (LINK, 2.0), (DRAM, 0.5), (DRAM, 2.0), (SIZE, 2.0), (SIZE, 4.0), (FAULTS, 4.0))


@dataclass(frozen=True)
class VariedCase:
    """A question with one quantity times a factor, and its winner.

    name: name of the quantity. case_text: the changed quantity as text.
    """

    name: str
    case_text: str
    factor: float
    winner: Winner


def vary_question(question: VerdictQuestion, settings: Settings, quantity: VariedQuantity, factor: float) -> VariedCase:
    """Return the winner of a shortlist when a quantity is multiplied by a factor.

    There is no winner where no scenario can have the factor.
    """
    s = question.base
    try:
        changes, scaled = quantity.changes(s, factor)
        varied_question = replace(question, scenario=with_values(question.scenario, changes))
        return VariedCase(quantity.name, quantity.describe(s, factor), factor, winner(varied_question, settings, scaled))
    except EmberpoolError as error:
        return VariedCase(quantity.name, str(error), factor, NO_WINNER)


def usual_cases(question: VerdictQuestion, settings: Settings) -> Iterator[VariedCase]:
    """Yield the winner of each usual case that applies to a question."""
    for quantity, factor in CASES:
        if quantity.applies(question.base):
            yield vary_question(question, settings, quantity, factor)
    yield from popularity_cases(question, settings)


def popularity_cases(question: VerdictQuestion, settings: Settings) -> Iterator[VariedCase]:
    """Yield the winner under each other popularity of rows.

    Draws of the constants do not include other popularities.
    """
    for name in POPULARITIES:
        if name != question.base.data.popularity:
            yield _vary_popularity(question, settings, name)


def _vary_popularity(question: VerdictQuestion, settings: Settings, name: str) -> VariedCase:
    """Return the winner under another popularity of rows."""
    try:
        varied_question = replace(question, scenario=with_values(question.scenario, {POPULARITY: name}))
        return VariedCase("popularity", name, 1.0, winner(varied_question, settings))
    except EmberpoolError as error:
        return VariedCase("popularity", str(error), 1.0, NO_WINNER)
