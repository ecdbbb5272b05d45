"""Tables of Decide: systems, bars by family, losses by failure, cases, cells of the map."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import pandas as pd

from engine.analysis.verdict.decide import SystemRow, Verdict
from engine.analysis.verdict.outlook.axes import AXES
from engine.analysis.verdict.outlook.bands import VerdictBands
from engine.analysis.verdict.outlook.territory import Territory
from engine.analysis.verdict.outlook.variants import VariedCase
from engine.analysis.verdict.report.sentences import machine_words, row_title, unavailable_sentence
from engine.campaign.monthly import losses
from engine.core.figures import times
from engine.insight import quantities
from engine.registry import load_variant
from engine.sweep import links
from pages.decide_page.decide_charts import COUNTED, NO_FAMILY, PRICE, RATE
from pages.ui.numbers import quantity
from pages.ui.page_link import host
from pages.ui.plain import spell_out_knobs

# Trained batches that the worst failure undoes; detection, restart and restore come on top.
WORST_BATCHES, WORST_MINUTES = "It undoes [batches]", "It undoes [min]"
MAX_COST_RATIO = 6.0  # times the lowest cost: longer bars would leave no room for others
WHISKER = 1.5  # times the longest bar: a longer line is cut there
MIN_PART = 1e-4  # share of a cost: smaller parts are not drawn
NUMBERS = {
    COUNTED: "%.4g",
    PRICE: "%,.0f",
    RATE: "%,.0f",
    quantities.POWER: "%,.0f",
    "Samples that count [%]": "%.2f",
    "Best in draws [%]": "%.0f",
}


def title(system: str) -> str:
    """Return the title of a system; "" for ""."""
    return str(load_variant("systems", system).title) if system else ""


def family_rows(verdict: Verdict, bands: VerdictBands | None) -> pd.DataFrame:
    """Return the cost of each family's best machine by part, the cheapest family first."""
    leaders = [row for row in verdict.families if row.cost is not None]
    leaders.sort(key=lambda row: row.cost.total if row.cost else inf)
    lowest_cost = min((row.cost.total for row in leaders if row.cost), default=0.0)
    priced_rows = [(row, row.cost) for row in leaders if row.cost and row.cost.total <= MAX_COST_RATIO * lowest_cost]
    edge = WHISKER * max((cost.total for _, cost in priced_rows), default=0.0)
    part_rows = []
    for row, cost in priced_rows:
        band = bands.rows.get(row.system) if bands and verdict.question.objective == "cost" else None
        parts = {"capital": cost.capital, "electricity": cost.electricity, "lost to failures": max(cost.failures, 0.0)}
        for rank, (part, amount) in enumerate(parts.items()):
            if amount <= MIN_PART * cost.total:
                continue
            part_rows.append(
                {
                    "family": row.family,
                    "part": part,
                    "amount": amount,
                    "total": cost.total,
                    "meets": row.meets,
                    "low": band.low if band else None,
                    "high": band.high if band else None,
                    "drawn": min(band.high, edge) if band else None,
                    "machine": f"{row_title(row)}: {machine_words(row)}",
                    "says": row.reason or "met",
                    "rank": rank,
                }
            )
    return pd.DataFrame(part_rows)


def dearer_families(verdict: Verdict) -> list[str]:
    """Return sentences on families without a bar: much more expensive, or unable to run."""
    costs = [row.cost.total for row in verdict.families if row.cost]
    lowest_cost, sentences = min(costs, default=0.0), []
    for row in verdict.families:
        if row.cost is None:
            sentences.append(f"{row.family}: {row.reason}")
        elif row.cost.total > MAX_COST_RATIO * lowest_cost:
            sentences.append(f"{row.family}: {times(row.cost.total / lowest_cost)} the lowest cost.")
    return sentences


def all_rows(verdict: Verdict, base: str, bands: VerdictBands | None) -> pd.DataFrame:
    """Return a row for each system, with the link that opens its machine in Design."""
    return pd.DataFrame(
        [
            {
                "System": row_title(row),
                "Rows are held in": row.family,
                "Machine, or what limits it": spell_out_knobs(
                    " ".join(filter(None, (row.reason or machine_words(row), unavailable_sentence(row))))
                ),
                COUNTED: row.cost.total if row.cost else None,
                PRICE: row.capital,
                RATE: quantity(RATE, row.result) if row.result else None,
                quantities.POWER: quantity(quantities.POWER, row.result) if row.result else None,
                "Samples that count [%]": 100 * min(row.protection.share, 1.0) if row.result else None,
                "Best in draws [%]": 100 * bands.share(row.system) if bands and row.result else None,
                "Open": host() + links.link(row.scenario, base) if row.scenario else None,
            }
            for row in verdict.rows
        ]
    )


def bill_rows(row: SystemRow) -> pd.DataFrame:
    """Return the price of each device of a row's machine; the rows sum to its price."""
    part_rows = [{"Part": name, "USD": price} for name, price in row.bill]
    return pd.DataFrame([*part_rows, {"Part": "All", "USD": row.capital}])


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


def case_rows(variants: Sequence[VariedCase], best_row: SystemRow | None) -> pd.DataFrame:
    """Return a row for each changed question: change, winner, price and throughput.

    The first row is the unchanged question.
    """
    question_row = {
        "If": "as asked",
        "Rows are held in": best_row.family if best_row else NO_FAMILY,
        "System": row_title(best_row) if best_row else "",
        COUNTED: best_row.cost.total if best_row and best_row.cost else None,
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
                    COUNTED: variant.winner.cost if variant.winner.meets else None,
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
