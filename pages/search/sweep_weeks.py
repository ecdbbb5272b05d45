"""What a sweep's points come to over weeks of faults, for those that a filter asks about: a campaign takes milliseconds."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.objective import Constraint
from engine.analysis.over_weeks import WEEKS, over_weeks
from engine.sweep.sweep import Sweep
from pages.search import sweep_table
from pages.search.sweep_table import POINT, Words

MOST = 1000  # points whose campaigns a visitor waits for, some 8 ms each
Numbers = tuple[float, ...]


def joined(sweep: Sweep, table: pd.DataFrame, limits: Sequence[Constraint | Words]) -> pd.DataFrame:
    """Return the table with what filters ask about over weeks, known for the rows that pass all other filters."""
    asked = [limit.name for limit in limits if limit.name in WEEKS]
    if not asked or table.empty:
        return table
    points = sweep_table.kept(table, [limit for limit in limits if limit.name not in WEEKS])[POINT]
    if len(points) > MOST:
        st.warning(
            f"{asked[0]} takes a campaign of every point, so the page asks it of up to {MOST:,}; {len(points):,} pass the other "
            "filters. Add one that leaves fewer, or run python -m engine sweep with --link and this link."
        )
        return table
    held = _held(sweep.digest)
    with st.spinner(f"Campaigns of {len(points):,} points"):
        for point in points:
            if point not in held:
                held[point] = tuple(np.nan if (one := over_weeks(sweep[point], name)) is None else one for name in WEEKS)
    found = pd.DataFrame.from_dict({point: held[point] for point in points}, orient="index", columns=[*WEEKS], dtype=float)
    if found.isna().all(axis=None) and len(found):
        st.warning("Nothing is known over weeks here: no fault can strike. Give the faults a rate, such as faults.rates=llama3.")
    return table.join(found, on=POINT)


@lru_cache(maxsize=4)
def _held(digest: str) -> dict[int, Numbers]:
    return {}
