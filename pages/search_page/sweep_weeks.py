"""Metrics over weeks of faults for a sweep's points, by simulated campaigns.

They are only computed if a filter needs them; a campaign takes milliseconds.
"""

from collections.abc import Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from engine.analysis.objective import Constraint
from engine.analysis.over_weeks import CAMPAIGN_METRICS, campaign_metrics
from engine.campaign.fault_stream import hazards_of
from engine.core.arithmetic import total
from engine.core.figures import count
from engine.sweep.sweep import Sweep
from engine.units import DAY
from pages.answers import later
from pages.failures_page import campaigns
from pages.search_page.points import sweep_table
from pages.search_page.points.sweep_table import POINT, FilterWords

MAX_POINTS, MOST_FAULTS = 250, 50_000  # points and faults at most, some 8 ms and 40 us each
Numbers = tuple[float, ...]


def with_weeks_metrics(sweep: Sweep, table: pd.DataFrame, limits: Sequence[Constraint | FilterWords]) -> tuple[pd.DataFrame, str]:
    """Return the table with the metrics over weeks that filters need, and a warning or "".

    The metrics are computed for rows that pass all other filters.
    """
    weeks_metrics = [limit.name for limit in limits if limit.name in CAMPAIGN_METRICS]
    if not weeks_metrics or table.empty:
        return table, ""
    points = sweep_table.filtered_rows(table, [limit for limit in limits if limit.name not in CAMPAIGN_METRICS])[POINT]
    if len(points) > MAX_POINTS:
        return table, (
            f"{weeks_metrics[0]} needs a campaign of every point, so the page computes it for at most {count(MAX_POINTS)}; "
            f"{count(len(points), 'point passes', 'points pass')} the other filters. Add another filter, "
            "or run python -m engine sweep with --link and this link."
        )
    numbers_by_point = _numbers_by_point(sweep.digest)
    unknown_points = [int(point) for point in points if point not in numbers_by_point]
    scenarios = tuple(sweep[point] for point in unknown_points)
    faults = total(campaigns.expected_faults(hazards_of(scenario), scenario.faults.campaign_days * DAY) for scenario in scenarios)
    if faults > MOST_FAULTS:
        return table, (
            f"The campaigns of {count(len(unknown_points), 'point')} would have {count(faults, 'fault')}, more than the "
            f"{count(MOST_FAULTS)} that the page simulates; shorten faults.campaign_days, or lengthen the MTBFs."
        )
    if unknown_points:
        with st.spinner(f"Simulating campaigns of {count(len(unknown_points), 'point')}"):
            numbers_by_point.update(zip(unknown_points, later.cached_result(campaign_metrics, scenarios), strict=True))
    weeks_frame = pd.DataFrame.from_dict(
        {point: numbers_by_point[point] for point in points}, orient="index", columns=[*CAMPAIGN_METRICS], dtype=float
    )
    all_unknown = weeks_frame.isna().all(axis=None) and len(weeks_frame)
    warning = "There are no results over weeks, as no fault can strike here. Give the faults a rate, such as faults.rates=llama3."
    return table.join(weeks_frame, on=POINT), warning if all_unknown else ""


@lru_cache(maxsize=4)
def _numbers_by_point(digest: str) -> dict[int, Numbers]:
    return {}
