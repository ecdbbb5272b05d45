"""The gap between each preset's estimate and its full run, computed on request and cached."""

from functools import partial

import pandas as pd
import streamlit as st

from engine.core.arithmetic import total
from engine.core.figures import count, duration, percent, signed
from engine.run import forecast
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.validation import validate
from engine.validation.validate import Gap
from pages.answers import later
from pages.ui import downloads
from pages.ui.plain import escape_markdown

FORMATS = {"Estimate": "%.4g", "Full run": "%.4g", "Gap [%]": "%+.2f", "Error bar [%]": "%.2f"}
ASKED_KEY = "gaps asked"
_GAPS_BY_PRESET: dict[str, tuple[Gap, ...]] = {}


def draw() -> None:
    """Draw the button with the expected time; once computed, the gaps and the largest gap."""
    st.subheader("How far is the estimate from a full run?", anchor=False)
    st.caption(
        "The estimate schedules as many batches as the run has, with expected accesses; a full run counts the ids of its own "
        "batches. Both run without faults and without weights, which do not change the step time. The remaining gap is chance: "
        "its error bar is three standard deviations of the work of such batches."
    )
    pending_presets = [name for name in preset_names() if name not in _GAPS_BY_PRESET]
    wait = duration(total(forecast.run_seconds(with_values(preset(name).scenario, validate.TIMING)) for name in pending_presets))
    if pending_presets and not st.session_state.get(ASKED_KEY):
        label = f"Compare estimate and full run of {count(len(pending_presets), 'preset')}: about {wait}"
        st.button(label, key="gaps", on_click=_ask)
        return
    bar = st.empty()
    for index, name in enumerate(pending_presets):
        bar.progress(
            index / len(pending_presets), f"{escape_markdown(preset(name).title)}: run {index + 1} of {len(pending_presets)}"
        )
        keep = partial(_GAPS_BY_PRESET.__setitem__, name)
        if not later.draw_when_known("", keep, validate.gaps, name, quick_seconds=0.0):
            return
    bar.empty()
    gaps = [gap for name in preset_names() for gap in _GAPS_BY_PRESET[name]]
    st.markdown(f"**{escape_markdown(largest_gap_sentence(gaps))}**")
    downloads.show(table(gaps), FORMATS)
    downloads.rows(table(gaps), "emberpool-gaps", "Download the gaps as CSV")


def _ask() -> None:
    st.session_state[ASKED_KEY] = True


def largest_gap_sentence(gaps: list[Gap]) -> str:
    """Return a sentence with the largest gap and the median gap."""
    sizes = sorted(abs(gap.percent) for gap in gaps)
    largest_gap = max(gaps, key=lambda gap: abs(gap.percent))
    return (
        f"Half of the estimates are within {percent(sizes[len(sizes) // 2] / 100)} of the full run; the largest gap is "
        f"{signed(largest_gap.percent)} %, in {largest_gap.metric} of {preset(largest_gap.preset).title} "
        f"over {count(largest_gap.batches, 'batch', 'batches')}."
    )


def table(gaps: list[Gap]) -> pd.DataFrame:
    """Return a row for each preset and metric."""
    return pd.DataFrame(
        [
            {
                "Preset": gap.preset,
                "System": gap.system,
                "Batches": gap.batches,
                "Result": gap.metric,
                "Estimate": gap.estimate,
                "Full run": gap.full_run,
                "Gap [%]": gap.percent,
                "Error bar [%]": gap.error_bar,
            }
            for gap in gaps
        ]
    )
