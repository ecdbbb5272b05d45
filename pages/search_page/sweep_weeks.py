"""What a sweep's points come to over weeks of faults, for those that a filter asks about: a campaign takes milliseconds."""

from collections.abc import Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from engine.analysis.objective import Constraint
from engine.analysis.over_weeks import WEEKS, all_over_weeks
from engine.campaign.fault_stream import hazards_of
from engine.core.figures import count
from engine.sweep.sweep import Sweep
from engine.units import DAY
from pages.answers import later
from pages.failures_page import campaigns
from pages.search_page.points import sweep_table
from pages.search_page.points.sweep_table import POINT, Words

MOST, MOST_FAULTS = 250, 50_000  # points and faults whose campaigns a visitor waits for, some 8 ms and 40 us each
Numbers = tuple[float, ...]


def joined(sweep: Sweep, table: pd.DataFrame, limits: Sequence[Constraint | Words]) -> tuple[pd.DataFrame, str]:
    """Return the table with what filters ask about over weeks, and the sentence that warns of what is not known, or "".

    The columns are known for the rows that pass all other filters.
    """
    asked = [limit.name for limit in limits if limit.name in WEEKS]
    if not asked or table.empty:
        return table, ""
    points = sweep_table.kept(table, [limit for limit in limits if limit.name not in WEEKS])[POINT]
    if len(points) > MOST:
        return table, (
            f"{asked[0]} takes a campaign of every point, so the page asks it of up to {count(MOST)}; {count(len(points))} "
            "pass the other filters. Add one that leaves fewer, or run python -m engine sweep with --link and this link."
        )
    held = _held(sweep.digest)
    missing = [int(point) for point in points if point not in held]
    asked_of = tuple(sweep[point] for point in missing)
    faults = sum(campaigns.faults_expected(hazards_of(one), one.faults.campaign_days * DAY) for one in asked_of)
    if faults > MOST_FAULTS:
        return table, (
            f"The campaigns of {count(len(missing))} points would be struck {count(faults)} times, more than the "
            f"{count(MOST_FAULTS)} that the page draws; shorten faults.campaign_days, or lengthen the MTBFs."
        )
    if missing:
        with st.spinner(f"Campaigns of {count(len(missing))} points"):
            held.update(zip(missing, later.worker_result(all_over_weeks, asked_of), strict=True))
    found = pd.DataFrame.from_dict({point: held[point] for point in points}, orient="index", columns=[*WEEKS], dtype=float)
    nothing = found.isna().all(axis=None) and len(found)
    told = "Nothing is known over weeks here: no fault can strike. Give the faults a rate, such as faults.rates=llama3."
    return table.join(found, on=POINT), told if nothing else ""


@lru_cache(maxsize=4)
def _held(digest: str) -> dict[int, Numbers]:
    return {}
