"""What one recovery by a protection costs in accuracy, as the stored studies measured it, with intervals."""

from functools import cache
from statistics import fmean

import pandas as pd
import streamlit as st

from engine.campaign.accuracy import AccuracyEffect, accuracy_effect, over_many_faults
from engine.core.figures import signed
from engine.errors import EmberpoolError
from engine.registry import load, names
from engine.validation.studies.findings import MOMENTS, label
from pages.evidence_page import study_panel
from pages.failures_page.campaigns import Protected
from pages.graphics import chart
from pages.graphics.charts import INK, Spec, axis, below, hover, layer, nominal, rows, ruled, scale_of
from pages.ui import downloads
from pages.ui.plain import plain

DRAWN = {"AUC": "#3f8fd0", "Accuracy": "#c2557f"}
FORMATS = {"Difference": "%+.5f", "Low": "%+.5f", "High": "%+.5f"}


def draw(chosen: Protected) -> None:
    """Draw the finding of the chosen protection, and beside it those of all others that lose something."""
    try:
        own = accuracy_effect(chosen.name, chosen.runs[0].plan if chosen.runs else None)
        frame = table()
    except EmberpoolError as error:
        st.error(plain(str(error)))
        return
    shown = frame[frame["Measure"].isin(DRAWN) & (frame["Moment"] == MOMENTS["at_end"])]
    chart.draw(
        drawn(shown),
        spec(),
        key="effects",
        title=told(chosen.title, own),
        subtitle="Difference in accuracy and AUC to a run without a fault, percentage points; lines are 95 % intervals",
        columns={"recovery": "Recovery", "measure": "Measure", "difference": "Difference [points]", "low": "Low", "high": "High"},
    )
    st.caption(
        "Paired with the same seed's run without a fault, on held-out samples, some hundred batches after one recovery; bars are "
        "95 % intervals. Trained on dlrm-kaggle's small twin, so sizes carry over to other models only with care. "
        + plain(many_recoveries(chosen))
    )
    with st.expander("Right after the recovery, too, in numbers"):
        downloads.show(frame, FORMATS)
        downloads.rows(frame, "emberpool-recovery-accuracy", "Download the differences as CSV")


def many_recoveries(chosen: Protected) -> str:
    """Return what the recoveries of the mean campaign that give back older MLPs can add up to; "" where there are none."""
    runs, lossy = chosen.runs, chosen.name in ("relaxed", "relaxed-backup")
    if not (runs and lossy):
        return ""
    found = [one for run in runs for one in run.recoveries]
    taken_back = sum(one.mlp_batches - one.embedding_batches for one in found)
    return over_many_faults(len(found) / len(runs), fmean(run.batches for run in runs), taken_back / len(runs))


def told(title: str, own: AccuracyEffect) -> str:
    """Return what the chosen protection's recovery costs at the end, as a sentence."""
    if own.exact:
        return f"{title}: {own.sentence[0].lower()}{own.sentence[1:].rstrip('.')}"
    found = next(one for one in own.effects if (one.measure, one.moment) == ("auc", "at_end"))
    low, high = found.difference.low, found.difference.high
    judged = "no effect is shown" if low <= 0 <= high else "a loss is shown" if high < 0 else "a gain is shown"
    interval = f"{signed(low)} to {signed(high)}"
    return f"{title}: AUC changes by {signed(found.difference.mean)} points ({interval}), {judged}. {own.sentence}"


@cache
def table() -> pd.DataFrame:
    """Return every measured difference of the protections that lose something, a row each."""
    found = {name: accuracy_effect(name) for name in names("protections")}
    return pd.DataFrame(
        [
            {"Protection": load("protections", name).title, "Recovery": label(one.variant), **study_panel.measured(one)}
            for name, effect in found.items()
            for one in effect.effects
        ]
    )


def drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the chart draws; a row is named after its protection and what was measured of it."""
    named = frame["Protection"] + ": " + frame["Recovery"]
    return frame[["Measure", "Difference", "Low", "High"]].rename(columns=str.lower).assign(recovery=named)


@cache
def spec() -> Spec:
    """Means with their intervals, a row a protection; needs recovery, measure, difference, low, high."""
    x = {"type": "quantitative", "axis": axis("Difference at the end [percentage points]")}
    measure = nominal("measure", sort=list(DRAWN))
    both = {
        "y": nominal("recovery", axis=None),
        "yOffset": {**measure, "scale": {"paddingOuter": 1}},
        "color": {**measure, "scale": scale_of(DRAWN), "legend": below("Accuracy", title=None)},
        "tooltip": hover(
            ("recovery", "Recovery"),
            ("measure", "Measure"),
            ("difference", "Difference [points]", "+.4f"),
            ("low", "95 % interval from", "+.4f"),
            ("high", "to", "+.4f"),
        ),
    }
    interval = layer(ruled(strokeWidth=2), **both, x={"field": "low", **x}, x2={"field": "high"})
    mean = layer({"type": "point", "filled": True, "size": 70, "opacity": 1}, **both, x={"field": "difference", **x})
    # A name stands over its row rather than beside it, so that a narrow screen has room for the bars.
    name = layer(
        {"type": "text", "align": "left", "x": 0, "dy": -24, "color": INK},
        {"filter": f"datum.measure === '{next(iter(DRAWN))}'"},
        y=nominal("recovery"),
        text={"field": "recovery"},
    )
    zero = layer(ruled(color=INK), x={"datum": 0.0})
    return {
        **rows(64),
        "height": {"step": 64, "for": "position"},
        "layer": [zero, interval, mean, name],
    }
