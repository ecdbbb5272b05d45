"""The accuracy study's stored result: the finding, what a stale MLP log costs at once and at the end, table and CSV file."""

from functools import cache
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from engine.core import figures
from engine.core.arrays import Row
from engine.errors import EmberpoolError
from engine.validation.studies import findings, kept
from engine.validation.studies.findings import MEASURES, MOMENTS, PAPER, PAPER_POINTS
from pages.graphics import chart, charts
from pages.graphics.charts import hover, layer, nominal, ruled, scale_of
from pages.ui import downloads
from pages.ui.plain import plain

DRAWN = {"Accuracy": "#c2557f", "AUC": "#3f8fd0"}  # no training system's colours
SUBTITLE = "Difference to the run without a fault [percentage points], with its 95 % interval; dashed: the paper's bound"
FAULTS = "Recoveries"
AGE = "Age of the MLP log [batches]"
FORMATS = {"Difference": "%+.5f", "Low": "%+.5f", "High": "%+.5f", "Seed spread": "%.5f"}


def draw() -> None:
    """Draw the study; a stored file in trouble shows its sentence and leaves the rest of the page."""
    st.subheader("What does an old MLP log cost in accuracy?", anchor=False)
    try:
        study = kept.read(kept.STORED)
    except EmberpoolError as error:
        st.error(plain(str(error)))
        return
    st.markdown(f"**{plain(findings.sentence(study))}**")
    frame = rows(study)
    for column, moment in zip(st.columns(2), MOMENTS.values(), strict=True):
        shown = drawn(frame[(frame["Moment"] == moment) & frame["Measure"].isin(DRAWN)])
        with column:
            chart.draw(
                shown,
                spec(),
                key=f"study {moment}",
                title=f"{moment.capitalize()}{_after(study, moment)}: {_largest(shown)}",
                subtitle=SUBTITLE,
                alt=_alt(moment),
                columns={"age": AGE, "measure": "Measure", "difference": "Difference", "low": "Low", "high": "High"},
            )
    downloads.show(frame, FORMATS)
    downloads.rows(frame, "emberpool-accuracy-study", "Download the study as CSV")
    st.caption(_caption(study))
    st.code(study.command, language=None)
    _many_faults()


def _many_faults() -> None:
    """Draw what many recoveries add up to, each with an old MLP log."""
    st.subheader("Do many recoveries add up?", anchor=False)
    try:
        study = kept.read(kept.STORED_ROLLBACKS)
    except EmberpoolError as error:
        st.error(plain(str(error)))
        return
    st.markdown(f"**{plain(findings.many_faults_sentence(study))}**")
    frame = pd.DataFrame([measured(one, {FAULTS: findings.label(one.variant)}) for one in findings.findings(study)])
    downloads.show(frame, FORMATS)
    downloads.rows(frame, "emberpool-many-recoveries", "Download the study of many recoveries as CSV")
    st.caption(
        f"As above with {len(study.seeds)} seeds. A recovery never goes back beyond the one before. "
        "± is half of a 95 % interval. "
        f"Computed on {study.date} with model version {study.model} by:"
    )
    st.code(study.command, language=None)


def rows(study: kept.Study) -> pd.DataFrame:
    """Return one row a moment, measure and staleness: the paired difference, its 95 % interval, the unpaired seed spread."""
    return pd.DataFrame([{**measured(one, {AGE: one.variant}), "Seed spread": one.spread} for one in findings.findings(study)])


def measured(one: findings.Finding, of: Row = MappingProxyType({})) -> Row:
    """Return a difference as a row: its moment and measure, `of` which variant, its mean and interval."""
    title, _, unit = MEASURES[one.measure]
    difference = {"Difference": one.difference.mean, "Low": one.difference.low, "High": one.difference.high}
    return {"Moment": MOMENTS[one.moment], "Measure": title, "Unit": unit, **of, **difference}


def drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the chart draws."""
    columns = {AGE: "age", "Measure": "measure", "Difference": "difference", "Low": "low", "High": "high"}
    return frame[list(columns)].rename(columns=columns)


@cache
def spec() -> dict[str, Any]:
    """Means with their intervals beside the paper's bound; needs age, measure, difference, low, high."""
    height = {"type": "quantitative", "axis": charts.axis("Difference [percentage points]")}
    colour = nominal("measure", legend=charts.below("Accuracy", title=None))
    across = {
        "x": {"field": "age", "type": "ordinal", "axis": charts.axis(AGE, labelAngle=0, format=",")},
        "xOffset": nominal("measure", sort=list(DRAWN)),
        "color": {**colour, "scale": scale_of(DRAWN)},
        "tooltip": _TOOLTIP,
    }
    interval = layer(ruled(strokeWidth=2), **across, y={"field": "low", **height}, y2={"field": "high"})
    shape = {**colour, "scale": {"domain": list(DRAWN)}}
    mean = layer(
        {"type": "point", "filled": True, "size": 60, "opacity": 1}, **across, y={"field": "difference", **height}, shape=shape
    )
    return {
        "height": 260,
        "layer": [_level(0.0, []), _level(-PAPER_POINTS, [5, 4]), interval, mean],
    }


_TOOLTIP = hover(
    ("measure", "Measure"),
    ("age", AGE, ","),
    ("difference", "Difference [percentage points]", "+.4f"),
    ("low", "95 % interval from", "+.4f"),
    ("high", "to", "+.4f"),
)


def _level(at: float, dash: list[int]) -> dict[str, Any]:
    return layer(ruled(color=charts.INK, strokeDash=dash), y={"datum": at})


def _after(study: kept.Study, moment: str) -> str:
    plan = study.plan
    return f", {figures.count(plan.batches - plan.crash_at, 'batch', 'batches')} later" if moment == MOMENTS["at_end"] else ""


def _largest(shown: pd.DataFrame) -> str:
    """Return the largest loss of a picture in a few words."""
    worst = shown.loc[shown["difference"].idxmin()]
    if worst["difference"] >= 0:
        return "no loss"
    return f"at most {figures.figure(-worst['difference'])} points of {worst['measure']} lost"


def _alt(moment: str) -> str:
    return f"Difference of accuracy and AUC to the run without a fault, {moment}, against the age of the MLP log"


def _caption(study: kept.Study) -> str:
    plan, count = study.plan, len(study.seeds)
    return (
        f"Preset {plan.preset}: {count} seeds, each with its own data, teacher, order and first weights. Power is lost in batch "
        f"{figures.count(plan.crash_at)} of {figures.count(plan.batches)}; embeddings come back as that batch found them, "
        f"MLPs older; the run is compared with the same seed's run without a fault "
        f"on {figures.count(plan.held_out_samples)} held-out samples. "
        "Bars are 95 % intervals of the mean (Student's t). With an age of 0 both runs are equal to the bit. "
        f"Dashed: the loss of {figures.exact(PAPER_POINTS)} percentage points that the paper stays within though logs are "
        f"hundreds of batches old ({PAPER}). "
        "Accuracy also depends on where the last few batches left the bias, hence its wide intervals right after recovery; "
        "AUC depends on the ranking alone. "
        f"Computed on {study.date} with model version {study.model} by:"
    )
