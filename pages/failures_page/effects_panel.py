"""The accuracy that one recovery by a protection costs.

Stored studies have measured these costs, with 95 % intervals.
"""

from functools import cache
from statistics import fmean

import pandas as pd
import streamlit as st

from engine.campaign.accuracy import AccuracyEffect, accuracy_effect, many_faults_sentence
from engine.core.arithmetic import total
from engine.core.figures import signed
from engine.errors import EmberpoolError
from engine.registry import load_variant, variant_names
from engine.validation.studies.findings import MOMENTS, variant_label
from pages.evidence_page import study_panel
from pages.failures_page.campaigns import ProtectionCampaigns
from pages.graphics import chart
from pages.graphics.charts import INK, Spec, axis, layer, legend_below, nominal, rows, rule_mark, scale_of, tooltip_fields
from pages.ui import downloads
from pages.ui.plain import escape_markdown

MEASURE_COLOURS = {"AUC": "#3f8fd0", "Accuracy": "#c2557f"}
FORMATS = {"Difference": "%+.5f", "Low": "%+.5f", "High": "%+.5f"}


def draw(protection: ProtectionCampaigns) -> None:
    """Draw the chosen protection's effect, in a chart with all protections that lose accuracy."""
    try:
        effect = accuracy_effect(protection.name, protection.runs[0].plan if protection.runs else None)
        frame = table()
    except EmberpoolError as error:
        st.error(escape_markdown(str(error)))
        return
    end_rows = frame[frame["Measure"].isin(MEASURE_COLOURS) & (frame["Moment"] == MOMENTS["at_end"])]
    chart.draw(
        chart_rows(end_rows),
        spec(),
        key="effects",
        title=effect_sentence(protection.title, effect),
        subtitle="Difference in accuracy and AUC to a run without a fault [percentage points]; lines are 95 % intervals",
        columns={"recovery": "Recovery", "measure": "Measure", "difference": "Difference [points]", "low": "Low", "high": "High"},
    )
    st.caption(
        "Each run is compared with the run of the same seed without a fault, on held-out samples, some hundred batches after one "
        "recovery. The model is a small twin of dlrm-kaggle, so differences of other models may be larger or smaller. "
        + escape_markdown(recoveries_sentence(protection))
    )
    with st.expander("All differences in numbers, also right after the recovery"):
        downloads.show(frame, FORMATS)
        downloads.rows(frame, "emberpool-recovery-accuracy", "Download the differences as CSV")


def recoveries_sentence(protection: ProtectionCampaigns) -> str:
    """Return a sentence on the summed effect of recoveries to older MLPs.

    The recoveries are those of a mean campaign; the sentence is "" without such recoveries.
    """
    runs, lossy = protection.runs, protection.name in ("relaxed", "relaxed-backup")
    if not (runs and lossy):
        return ""
    recoveries = [recovery for run in runs for recovery in run.recoveries]
    taken_back = total(recovery.mlp_batches - recovery.embedding_batches for recovery in recoveries)
    return many_faults_sentence(len(recoveries) / len(runs), fmean(run.batches for run in runs), taken_back / len(runs))


def effect_sentence(title: str, effect: AccuracyEffect) -> str:
    """Return a sentence on the accuracy that the chosen protection's recovery costs."""
    if effect.is_exact:
        return f"{title}: {effect.sentence[0].lower()}{effect.sentence[1:].rstrip('.')}"
    auc_effect = next(
        measurement for measurement in effect.effects if (measurement.measure, measurement.moment) == ("auc", "at_end")
    )
    low, high = auc_effect.difference.low, auc_effect.difference.high
    judged = "no effect is shown" if low <= 0 <= high else "a loss is shown" if high < 0 else "a gain is shown"
    interval = f"{signed(low)} to {signed(high)}"
    change = f"{signed(auc_effect.difference.mean)} percentage points ({interval})"
    return f"{title}: AUC changes by {change}, {judged}. {effect.sentence}"


@cache
def table() -> pd.DataFrame:
    """Return a row for each measured difference, of all protections that lose accuracy."""
    effects_by_protection = {name: accuracy_effect(name) for name in variant_names("protections")}
    return pd.DataFrame(
        [
            {
                "Protection": load_variant("protections", name).title,
                "Recovery": variant_label(measurement.variant),
                **study_panel.difference_row(measurement),
            }
            for name, effect in effects_by_protection.items()
            for measurement in effect.effects
        ]
    )


def chart_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the chart's columns; `recovery` names the protection and its measured recovery."""
    row_names = frame["Protection"] + ": " + frame["Recovery"]
    return frame[["Measure", "Difference", "Low", "High"]].rename(columns=str.lower).assign(recovery=row_names)


@cache
def spec() -> Spec:
    """Return a chart of means with intervals, a row for each protection.

    The chart needs recovery, measure, difference, low, high.
    """
    x = {"type": "quantitative", "axis": axis("Difference at the end to a run without a fault [percentage points]")}
    measure = nominal("measure", sort=list(MEASURE_COLOURS))
    encoding = {
        "y": nominal("recovery", axis=None),
        "yOffset": {**measure, "scale": {"paddingOuter": 1}},
        "color": {**measure, "scale": scale_of(MEASURE_COLOURS), "legend": legend_below("Accuracy", title=None)},
        "tooltip": tooltip_fields(
            ("recovery", "Recovery"),
            ("measure", "Measure"),
            ("difference", "Difference [points]", "+.4f"),
            ("low", "95 % interval from", "+.4f"),
            ("high", "to", "+.4f"),
        ),
    }
    interval = layer(rule_mark(strokeWidth=2), **encoding, x={"field": "low", **x}, x2={"field": "high"})
    mean = layer({"type": "point", "filled": True, "size": 70, "opacity": 1}, **encoding, x={"field": "difference", **x})
    # A name stands over its row rather than beside it, so that a narrow screen has room for the bars.
    name = layer(
        {"type": "text", "align": "left", "x": 0, "dy": -24, "color": INK},
        {"filter": f"datum.measure === '{next(iter(MEASURE_COLOURS))}'"},
        y=nominal("recovery"),
        text={"field": "recovery"},
    )
    zero = layer(rule_mark(color=INK), x={"datum": 0.0})
    return {
        **rows(64),
        "height": {"step": 64, "for": "position"},
        "layer": [zero, interval, mean, name],
    }
