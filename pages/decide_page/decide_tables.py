"""Tables of Decide: rows, bars by family, losses by failure, cases and the cells of the map."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf
from typing import Any

import pandas as pd

from engine.analysis.verdict.decide import Row, Verdict
from engine.analysis.verdict.outlook.axes import AXES
from engine.analysis.verdict.outlook.bands import VerdictBands
from engine.analysis.verdict.outlook.territory import Territory
from engine.analysis.verdict.outlook.variants import Varied
from engine.analysis.verdict.report.sentences import machine_words, not_on_sale, row_title
from engine.core.figures import figure
from engine.insight.running_costs import BILLION, MONTH
from engine.registry import load
from engine.sweep import links
from pages.decide_page.decide_charts import NOBODY
from pages.ui.page_link import host
from pages.ui.plain import worded

MOST_TIMES = 6.0  # the best: a dearer family's bar would leave no room for the others
WHISKER = 1.5  # times the longest bar: a longer line is cut there
LEAST = 1e-4  # of a cost: a smaller part is not drawn
NUMBERS = {
    "USD a billion samples": "%.4g",
    "Machine [USD]": "%,.0f",
    "Samples/s": "%,.0f",
    "Power [W]": "%,.0f",
    "Samples that count [%]": "%.2f",
    "Best in draws [%]": "%.0f",
}


def title(system: str) -> str:
    """Return the title of a system, "" for none."""
    return str(load("systems", system).title) if system else ""


def family_rows(verdict: Verdict, bands: VerdictBands | None) -> pd.DataFrame:
    """Return a row for each part of the cost of each family's best machine, the cheapest family first."""
    leaders = [row for row in verdict.families if row.cost is not None]
    leaders.sort(key=lambda row: row.cost.total if row.cost else inf)
    least = min((row.cost.total for row in leaders if row.cost), default=0.0)
    shown = [(row, row.cost) for row in leaders if row.cost and row.cost.total <= MOST_TIMES * least]
    edge = WHISKER * max((cost.total for _, cost in shown), default=0.0)
    found = []
    for row, cost in shown:
        band = bands.rows.get(row.system) if bands and verdict.question.objective == "cost" else None
        parts = {"capital": cost.capital, "electricity": cost.electricity, "lost to failures": max(cost.lost, 0.0)}
        for rank, (part, amount) in enumerate(parts.items()):
            if amount <= LEAST * cost.total:
                continue
            found.append(
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
    return pd.DataFrame(found)


def dearer_families(verdict: Verdict) -> list[str]:
    """Return why families have no bar: much dearer than the best, or nothing of theirs can run."""
    costs = [row.cost.total for row in verdict.families if row.cost]
    least, told = min(costs, default=0.0), []
    for row in verdict.families:
        if row.cost is None:
            told.append(f"{row.family}: {row.reason}")
        elif row.cost.total > MOST_TIMES * least:
            told.append(f"{row.family}: {figure(row.cost.total / least)} times the cost.")
    return told


def all_rows(verdict: Verdict, base: str, bands: VerdictBands | None) -> pd.DataFrame:
    """Return a row a system, with the link that opens its machine in Design."""
    return pd.DataFrame(
        [
            {
                "System": row_title(row),
                "Rows are held in": row.family,
                "Machine, or what limits it": worded(
                    " ".join(filter(None, (row.reason or machine_words(row), not_on_sale(row))))
                ),
                "USD a billion samples": row.cost.total if row.cost else None,
                "Machine [USD]": row.capital,
                "Samples/s": row.result.results["Throughput [samples/s]"] if row.result else None,
                "Power [W]": row.result.results["Average power [W]"] if row.result else None,
                "Samples that count [%]": 100 * min(row.protected.share, 1.0) if row.result else None,
                "Best in draws [%]": 100 * bands.share(row.system) if bands and row.result else None,
                "Open": host() + links.link(row.scenario, base) if row.scenario else None,
            }
            for row in verdict.rows
        ]
    )


def bill(row: Row) -> pd.DataFrame:
    """Return what each device of a row's machine costs; the rows sum to its price."""
    found = [{"Part": name, "USD": price} for name, price in row.bill]
    return pd.DataFrame([*found, {"Part": "All", "USD": row.capital}])


def losses(verdict: Verdict) -> pd.DataFrame:
    """Return what a failure loses on the best machine of each family, and what failures cost a month."""
    found = []
    for row in verdict.families:
        if row.result is None:
            continue
        guard, rate = row.protected, (row.result.results["Throughput [samples/s]"] or 0.0) * MONTH / BILLION
        lost = max(row.cost.lost, 0.0) * rate * guard.share if row.cost else None
        found.append(
            {
                "Rows are held in": row.family,
                "System": title(row.system),
                "Protection": str(load("protections", guard.name).title),
                "Worst failure": guard.worst_fault or "none has a rate",
                "Lost then [batches]": guard.lost_batches,
                "Lost then [min]": guard.lost_minutes,
                "Samples that count [%]": 100 * min(guard.share, 1.0),
                "Failures cost a month [USD]": lost,
                "What is asked": "met" if row.meets else "missed",
            }
        )
    return pd.DataFrame(found)


def cases(found: Sequence[Varied], best: Row | None) -> pd.DataFrame:
    """Return a row a case, the question as it is first: what is changed, who wins then, at which price and pace."""
    now = {
        "If": "as asked",
        "Rows are held in": best.family if best else NOBODY,
        "System": row_title(best) if best else "",
        "USD a billion samples": best.cost.total if best and best.cost else None,
        "Machine [USD]": best.capital if best else None,
        "Samples/s": best.result.results["Throughput [samples/s]"] if best and best.result else None,
    }
    return pd.DataFrame(
        [
            now,
            *(
                {
                    "If": f"{one.name}: {one.told}",
                    "Rows are held in": one.winner.family or NOBODY,
                    "System": title(one.winner.system),
                    "USD a billion samples": one.winner.cost if one.winner.meets else None,
                    "Machine [USD]": one.winner.capital,
                    "Samples/s": one.winner.throughput or None,
                }
                for one in found
            ),
        ]
    )


def map_cells(found: Territory, verdict: Verdict) -> pd.DataFrame:
    """Return a rectangle for each known cell of a map, and a row that says where the question stands."""
    across, up = AXES[found.across], AXES[found.up]
    x, y = (_bounds(axis.values, axis.log) for axis in (across, up))
    rows: list[dict[str, Any]] = [
        {
            "x": across.values[column],
            "y": up.values[row],
            "x0": x[column],
            "x1": x[column + 1],
            "y0": y[row],
            "y1": y[row + 1],
            "family": cell.winner.family or NOBODY,
            "system": title(cell.winner.system),
            "cost": cell.winner.cost if cell.winner.meets else None,
            "price": cell.winner.capital,
            "rate": cell.winner.throughput or None,
            "answered": cell.answered,
        }
        for (column, row), cell in sorted(found.cells.items())
    ]
    here = across.here(verdict.question.base), up.here(verdict.question.base)
    frame = pd.DataFrame(rows)
    if here[0] is not None and here[1] is not None and x[0] <= here[0] <= x[-1] and y[0] <= here[1] <= y[-1]:
        frame = pd.concat([frame, pd.DataFrame([{"here_x": here[0], "here_y": here[1]}])], ignore_index=True)
    return frame


def _bounds(values: Sequence[float], log: bool) -> list[float]:
    """Return the bounds of the cells around values: half-way, by ratio where the axis is logarithmic."""
    if log:
        inner = [(one * other) ** 0.5 for one, other in pairwise(values)]
        return [values[0] ** 2 / inner[0], *inner, values[-1] ** 2 / inner[-1]]
    inner = [(one + other) / 2 for one, other in pairwise(values)]
    return [2 * values[0] - inner[0], *inner, 2 * values[-1] - inner[-1]]
