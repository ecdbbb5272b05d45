"""Tables of Decide: systems, bars by family, losses by failure, cases, cells of the map."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from engine.analysis.verdict.aim import SplitCost
from engine.analysis.verdict.decide import SystemRow, Verdict
from engine.analysis.verdict.outlook.axes import AXES
from engine.analysis.verdict.outlook.bands import VerdictBands
from engine.analysis.verdict.outlook.shortlist import Winner, leaders
from engine.analysis.verdict.outlook.territory import Territory
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.sentences import machine_words, row_title, unavailable_sentence
from engine.analysis.verdict.report.software import (
    OWN_SOFTWARE,
    software_state,
    software_title,
    software_words,
    stack_title,
)
from engine.campaign.monthly import losses
from engine.core.figures import times
from engine.hardware.software import STATE_WORDS
from engine.insight import quantities
from engine.registry import load_variant
from engine.sweep import links
from pages.decide_page import costs
from pages.decide_page.decide_charts import NO_FAMILY, PRICE, RATE, TO_BE_WRITTEN
from pages.ui.numbers import quantity
from pages.ui.page_link import host
from pages.ui.plain import spell_out_knobs

# Trained batches that the worst failure undoes; detection, restart and restore come on top.
WORST_BATCHES, WORST_MINUTES = "It undoes [batches]", "It undoes [min]"
MAX_COST_RATIO = 6.0  # times the lowest cost: longer bars would leave no room for others
WHISKER = 1.5  # times the longest bar: a longer line is cut there
MIN_PART = 1e-4  # share of a cost: smaller parts are not drawn
NO_BAND = {"low": None, "high": None, "drawn": None}
COST_FORMAT = "%.4g"
NUMBERS = {
    PRICE: "%,.0f",
    RATE: "%,.0f",
    quantities.POWER: "%,.0f",
    "Samples that count [%]": "%.2f",
    "Best in draws [%]": "%.0f",
}


def number_formats(question: VerdictQuestion) -> Mapping[str, str]:
    """Return the formats of numbers by column; a month's cost is in whole dollars."""
    return {costs.month_title(question): "%,.0f", costs.billion_title(question): COST_FORMAT, **NUMBERS}


def title(system: str) -> str:
    """Return the title of a system; "" for ""."""
    return str(load_variant("systems", system).title) if system else ""


def state_words(row: SystemRow, verdict: Verdict) -> str:
    """Return the state of a row's software in words."""
    state = software_state(row, verdict.question.software)
    return STATE_WORDS.get(state, OWN_SOFTWARE)


def _winner_software(winner: Winner, verdict: Verdict) -> str:
    return stack_title(winner.stack, verdict.question.software) if winner.stack else ""


def family_rows(verdict: Verdict, bands: VerdictBands | None) -> pd.DataFrame:
    """Return the cost of each family's best machine by part, the cheapest family first.

    Costs are in the objective's unit. A family's best machine whose software would have to be written has one row, of its whole
    cost.
    """
    ranked_rows = _priced_rows(verdict.families, verdict)
    unwritten = _priced_rows(leaders(verdict.unwritten), verdict)
    lowest_cost = min((cost.total for _, cost in ranked_rows or unwritten), default=0.0)
    priced_rows = [(row, cost) for row, cost in ranked_rows if cost.total <= MAX_COST_RATIO * lowest_cost]
    edge = WHISKER * max((cost.total for _, cost in priced_rows), default=0.0)
    part_rows = []
    for row, cost in priced_rows:
        band = bands.rows.get(row.stack) if bands and costs.has_money_bands(verdict.question) else None
        parts = {"capital": cost.capital, "electricity": cost.electricity, "lost to failures": max(cost.failures, 0.0)}
        for rank, (part, amount) in enumerate(parts.items()):
            if amount > MIN_PART * cost.total:
                ends = {"low": band.low, "high": band.high, "drawn": min(band.high, edge)} if band else NO_BAND
                part_rows.append(_bar_row(row, verdict, cost) | {"part": part, "amount": amount, "rank": rank} | ends)
    for row, cost in unwritten:
        if cost.total <= MAX_COST_RATIO * lowest_cost:
            bar = {"part": TO_BE_WRITTEN, "amount": cost.total, "rank": 0}
            part_rows.append(_bar_row(row, verdict, cost) | bar | NO_BAND)
    return pd.DataFrame(part_rows)


def _priced_rows(rows: Iterable[SystemRow], verdict: Verdict) -> list[tuple[SystemRow, SplitCost]]:
    """Return the rows that have a price with their costs in the objective's unit, the cheapest first."""
    priced_rows = [(row, cost) for row in rows if (cost := costs.cost_in_force(row, verdict.question))]
    return sorted(priced_rows, key=lambda row_and_cost: row_and_cost[1].total)


def _bar_row(row: SystemRow, verdict: Verdict, cost: SplitCost) -> dict[str, Any]:
    """Return the fields that all parts of a row's bar share."""
    return {
        "family": row.family,
        "total": cost.total,
        "meets": row.meets,
        "machine": f"{row_title(row)}: {machine_words(row)}",
        "software": software_words(row, verdict.question.software).removeprefix("by "),
        "says": row.reason or "met",
        "exists": row not in verdict.unwritten,
    }


def dearer_families(verdict: Verdict) -> list[str]:
    """Return sentences on families without a bar: much more expensive, or unable to run."""
    family_costs = [(row, costs.cost_in_force(row, verdict.question)) for row in verdict.families]
    lowest_cost, sentences = min((cost.total for _, cost in family_costs if cost), default=0.0), []
    for row, cost in family_costs:
        if cost is None:
            sentences.append(f"{row.family}: {row.reason}")
        elif cost.total > MAX_COST_RATIO * lowest_cost:
            sentences.append(f"{row.family}: {times(cost.total / lowest_cost)} the lowest cost.")
    return sentences


def all_rows(verdict: Verdict, base: str, bands: VerdictBands | None) -> pd.DataFrame:
    """Return a row for each system on software, with the link that opens its machine in Design.

    Rows whose software would have to be written come last. A row has its cost of a month and of a billion samples.
    """
    month_title, billion_title = costs.month_title(verdict.question), costs.billion_title(verdict.question)
    return pd.DataFrame(
        [
            {
                "System": row_title(row),
                "Software": software_title(row, verdict.question.software),
                "State of the software": state_words(row, verdict),
                "Rows are held in": row.family,
                "Machine, or what limits it": spell_out_knobs(
                    " ".join(filter(None, (row.reason or machine_words(row), unavailable_sentence(row))))
                ),
                month_title: row.month.total if row.month else None,
                billion_title: row.cost.total if row.cost else None,
                PRICE: row.capital,
                RATE: quantity(RATE, row.result) if row.result else None,
                quantities.POWER: quantity(quantities.POWER, row.result) if row.result else None,
                "Samples that count [%]": 100 * min(row.protection.share, 1.0) if row.result else None,
                "Best in draws [%]": 100 * bands.share(row.stack) if bands and row.result else None,
                "Open": host() + links.link(row.scenario, base) if row.scenario else None,
            }
            for row in (*verdict.rows, *verdict.unwritten)
        ]
    )


def failure_losses(verdict: Verdict) -> pd.DataFrame:
    """Return the loss by a failure on each family's best machine, and a month's cost."""
    loss_rows = []
    for row in verdict.families:
        if row.result is None:
            continue
        guard = row.protection
        loss_rows.append(
            {
                "Rows are held in": row.family,
                "System": title(row.system),
                "Software": software_title(row, verdict.question.software),
                "Protection": str(load_variant("protections", guard.name).title),
                "Worst failure": guard.worst_fault or "no failure has a rate",
                WORST_BATCHES: guard.lost_batches,
                WORST_MINUTES: guard.lost_minutes,
                "Samples that count [%]": 100 * min(guard.share, 1.0),
                losses.LOST_USD: losses.hour_of(row.result).usd_a_month(1 - min(guard.share, 1.0)),
                "Requirement": "met" if row.meets else "missed",
            }
        )
    return pd.DataFrame(loss_rows)


def case_rows(variants: Sequence[VariedCase], verdict: Verdict) -> pd.DataFrame:
    """Return a row for each changed question: change, winner, cost, price and throughput.

    The first row is the unchanged question. Costs are in the objective's unit.
    """
    best_row, title_of_cost = verdict.best_row, costs.cost_title(verdict.question)
    best_cost = costs.cost_in_force(best_row, verdict.question) if best_row else None
    question_row = {
        "If": "as asked",
        "Rows are held in": best_row.family if best_row else NO_FAMILY,
        "System": row_title(best_row) if best_row else "",
        "Software": software_title(best_row, verdict.question.software) if best_row else "",
        title_of_cost: best_cost.total if best_cost else None,
        PRICE: best_row.capital if best_row else None,
        RATE: quantity(RATE, best_row.result) if best_row and best_row.result else None,
    }
    return pd.DataFrame(
        [
            question_row,
            *(
                {
                    "If": f"{variant.name}: {variant.case_text}",
                    "Rows are held in": variant.winner.family or NO_FAMILY,
                    "System": title(variant.winner.system),
                    "Software": _winner_software(variant.winner, verdict),
                    title_of_cost: variant.winner.cost if variant.winner.meets else None,
                    PRICE: variant.winner.capital,
                    RATE: variant.winner.throughput or None,
                }
                for variant in variants
            ),
        ]
    )


def map_cells(territory: Territory, verdict: Verdict) -> pd.DataFrame:
    """Return a rectangle for each known cell of a map, and the question's position."""
    x_axis, y_axis = AXES[territory.column_axis], AXES[territory.row_axis]
    x, y = (_bounds(axis.values, axis.log) for axis in (x_axis, y_axis))
    rows: list[dict[str, Any]] = [
        {
            "x": x_axis.values[column],
            "y": y_axis.values[row],
            "x0": x[column],
            "x1": x[column + 1],
            "y0": y[row],
            "y1": y[row + 1],
            "family": cell.winner.family or NO_FAMILY,
            "system": title(cell.winner.system),
            "software": _winner_software(cell.winner, verdict),
            "cost": cell.winner.cost if cell.winner.meets else None,
            "price": cell.winner.capital,
            "rate": cell.winner.throughput or None,
            "answered": cell.answered,
        }
        for (column, row), cell in sorted(territory.cells.items())
    ]
    position = x_axis.value_of(verdict.question.base), y_axis.value_of(verdict.question.base)
    frame = pd.DataFrame(rows)
    if position[0] is not None and position[1] is not None and x[0] <= position[0] <= x[-1] and y[0] <= position[1] <= y[-1]:
        frame = pd.concat([frame, pd.DataFrame([{"here_x": position[0], "here_y": position[1]}])], ignore_index=True)
    return frame


def _bounds(values: Sequence[float], log: bool) -> list[float]:
    """Return the cells' bounds around values: half-way, by ratio on logarithmic axes."""
    if log:
        inner = [(lower * upper) ** 0.5 for lower, upper in pairwise(values)]
        return [values[0] ** 2 / inner[0], *inner, values[-1] ** 2 / inner[-1]]
    inner = [(lower + upper) / 2 for lower, upper in pairwise(values)]
    return [2 * values[0] - inner[0], *inner, 2 * values[-1] - inner[-1]]
