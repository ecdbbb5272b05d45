"""A chart of lost time over the checkpoint period.

The chart marks the lowest loss and the user's own period.
"""

from functools import lru_cache, partial

import streamlit as st

from engine.campaign.compare import PeriodCurve
from engine.campaign.fault_stream import hazards_of
from engine.campaign.monthly import losses
from engine.campaign.monthly.losses import ProtectionLoss
from engine.errors import BadKnob
from engine.registry import load_variant
from engine.scenario.scenario import Scenario
from pages.answers import later
from pages.failures_page import campaigns, fault_charts, fault_tables
from pages.graphics import chart
from pages.ui.plain import escape_markdown


def draw(scenario: Scenario, chosen_loss: ProtectionLoss) -> None:
    """Draw the curve of the chosen protection, or of full checkpoints if that has no period."""
    name = campaigns.curve_protection(scenario)
    own_loss = chosen_loss if chosen_loss.name == name else None
    later.draw_when_known("Simulating checkpoint periods", partial(_draw_answer, name, own_loss), curve_and_best, scenario, name)


def curve_and_best(scenario: Scenario, name: str) -> tuple[PeriodCurve | str, ProtectionLoss | None]:
    """Return a protection's curve, or the sentence of its refusal; and its loss at the best period."""
    return campaigns.curve(scenario, name), best_period_loss(scenario, name)


def _draw_answer(name: str, own_loss: ProtectionLoss | None, answer: tuple[PeriodCurve | str, ProtectionLoss | None]) -> None:
    curve, best_loss = answer
    if isinstance(curve, str):
        st.info(escape_markdown(curve))
    else:
        draw_curve(curve, name, best_loss, own_loss)


def draw_curve(curve: PeriodCurve, name: str, best_loss: ProtectionLoss | None, chosen_loss: ProtectionLoss | None) -> None:
    """Draw one protection's curve."""
    frame = fault_tables.period_rows(curve)
    shortest, longest = float(frame["period"].min()), float(frame["period"].max())
    marked = tuple(
        period
        for period in fault_tables.periods_to_mark(curve, best_loss, chosen_loss)
        if shortest <= period.minutes <= longest or period.lost_percent is not None
    )
    chart.draw(
        frame,
        fault_charts.period_chart(marked, fault_tables.chart_floor(frame), shortest, longest),
        key="periods",
        title=fault_tables.best_period_sentence(curve, load_variant("protections", name).title, best_loss),
        subtitle="Share of time lost [%] over the minutes of training between checkpoints; line: closed form, dots: simulated",
        source="dotted lines: published by others for their own machines",
        columns={"period": "Checkpoint period [min]", "gone": "Time lost [%]", "how": "Known by"},
    )
    for text in fault_tables.yardstick_sentences():
        st.caption(escape_markdown(text, most=1000))


@lru_cache(maxsize=64)
def best_period_loss(scenario: Scenario, name: str) -> ProtectionLoss | None:
    """Return the loss at the best period, None if the faults have no closed form."""
    try:
        return losses.best_period(scenario, name, hazards_of(scenario))
    except BadKnob:
        return None
