"""The accuracy study's stored result: finding, charts, table and CSV file.

The study measured the cost of an MLP log that is older than the rows, right after recovery and at the end.
"""

from functools import cache
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from engine.core import figures
from engine.core.arrays import Row
from engine.errors import EmberpoolError
from engine.validation.studies import findings, study_file
from engine.validation.studies.findings import MEASURES, MOMENTS, PAPER, PAPER_POINTS
from pages.graphics import chart, charts
from pages.graphics.charts import layer, nominal, rule_mark, scale_of, tooltip_fields
from pages.ui import downloads
from pages.ui.plain import escape_markdown

MEASURE_COLOURS = {"Accuracy": "#c2557f", "AUC": "#3f8fd0"}  # colours that no training system has
SUBTITLE = "Difference to the run without a fault [percentage points], with its 95 % interval; dashed: the paper's bound"
FAULTS = "Recoveries"
AGE = "Age of the MLP log [batches]"
FORMATS = {"Difference": "%+.5f", "Low": "%+.5f", "High": "%+.5f", "Seed spread": "%.5f"}


def draw() -> None:
    """Draw the study; if its file is damaged, draw the error instead."""
    st.subheader("How much accuracy does an old MLP log cost?", anchor=False)
    try:
        study = study_file.read_study(study_file.STORED_ACCURACY)
    except EmberpoolError as error:
        st.error(escape_markdown(str(error)))
        return
    st.markdown(f"**{escape_markdown(findings.accuracy_sentence(study))}**")
    frame = difference_rows(study)
    for column, moment in zip(st.columns(2), MOMENTS.values(), strict=True):
        moment_rows = chart_columns(frame[(frame["Moment"] == moment) & frame["Measure"].isin(MEASURE_COLOURS)])
        with column:
            chart.draw(
                moment_rows,
                spec(),
                key=f"study {moment}",
                title=f"{moment.capitalize()}{_batches_after(study, moment)}: {_loss_text(moment_rows)}",
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
    """Draw the sum of many recoveries, each with an old MLP log."""
    st.subheader("Do the losses of many recoveries add up?", anchor=False)
    try:
        study = study_file.read_study(study_file.STORED_ROLLBACKS)
    except EmberpoolError as error:
        st.error(escape_markdown(str(error)))
        return
    st.markdown(f"**{escape_markdown(findings.many_faults_sentence(study))}**")
    frame = pd.DataFrame(
        [difference_row(finding, {FAULTS: findings.variant_label(finding.variant)}) for finding in findings.findings(study)]
    )
    downloads.show(frame, FORMATS)
    downloads.rows(frame, "emberpool-many-recoveries", "Download the study of many recoveries as CSV")
    st.caption(
        f"The set-up is that of the study above, with {figures.count(len(study.seeds), 'seed')}. A recovery never "
        "goes back beyond the recovery "
        "before it. ± is half of a 95 % interval. "
        f"This command computed the study on {study.date} with model version {study.model}:"
    )
    st.code(study.command, language=None)


def difference_rows(study: study_file.Study) -> pd.DataFrame:
    """Return a row for each moment, measure and age of the MLP log.

    Each row has the paired difference, its 95 % interval, and the spread between unpaired seeds.
    """
    return pd.DataFrame(
        [
            {**difference_row(finding, {AGE: finding.variant}), "Seed spread": finding.spread}
            for finding in findings.findings(study)
        ]
    )


def difference_row(finding: findings.Finding, variant_cells: Row = MappingProxyType({})) -> Row:
    """Return a difference as a row: moment, measure, variant, mean and interval.

    `variant_cells` names the variant.
    """
    title, _, unit = MEASURES[finding.measure]
    difference = {"Difference": finding.difference.mean, "Low": finding.difference.low, "High": finding.difference.high}
    return {"Moment": MOMENTS[finding.moment], "Measure": title, "Unit": unit, **variant_cells, **difference}


def chart_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the chart draws."""
    columns = {AGE: "age", "Measure": "measure", "Difference": "difference", "Low": "low", "High": "high"}
    return frame[list(columns)].rename(columns=columns)


@cache
def spec() -> dict[str, Any]:
    """Return a chart of mean differences with their intervals, and the paper's bound.

    Needs age, measure, difference, low, high.
    """
    height = {"type": "quantitative", "axis": charts.axis("Difference [percentage points]")}
    colour = nominal("measure", legend=charts.legend_below("Accuracy", title=None))
    channels = {
        "x": {"field": "age", "type": "ordinal", "axis": charts.axis(AGE, labelAngle=0, format=",")},
        "xOffset": nominal("measure", sort=list(MEASURE_COLOURS)),
        "color": {**colour, "scale": scale_of(MEASURE_COLOURS)},
        "tooltip": _TOOLTIP,
    }
    interval = layer(rule_mark(strokeWidth=2), **channels, y={"field": "low", **height}, y2={"field": "high"})
    shape = {**colour, "scale": {"domain": list(MEASURE_COLOURS)}}
    mean = layer(
        {"type": "point", "filled": True, "size": 60, "opacity": 1}, **channels, y={"field": "difference", **height}, shape=shape
    )
    return {
        "height": 260,
        "layer": [_level_rule(0.0, []), _level_rule(-PAPER_POINTS, [5, 4]), interval, mean],
    }


_TOOLTIP = tooltip_fields(
    ("measure", "Measure"),
    ("age", AGE, ","),
    ("difference", "Difference [percentage points]", "+.4f"),
    ("low", "95 % interval from", "+.4f"),
    ("high", "to", "+.4f"),
)


def _level_rule(level: float, dash: list[int]) -> dict[str, Any]:
    return layer(rule_mark(color=charts.INK, strokeDash=dash), y={"datum": level})


def _batches_after(study: study_file.Study, moment: str) -> str:
    plan = study.plan
    return f", {figures.count(plan.batches - plan.crash_at, 'batch', 'batches')} later" if moment == MOMENTS["at_end"] else ""


def _loss_text(moment_rows: pd.DataFrame) -> str:
    """Return the largest loss of a picture in a few words."""
    largest_loss = moment_rows.loc[moment_rows["difference"].idxmin()]
    if largest_loss["difference"] >= 0:
        return "no loss"
    return f"at most {figures.figure(-largest_loss['difference'])} percentage points of {largest_loss['measure']} lost"


def _alt(moment: str) -> str:
    return f"Difference of accuracy and AUC to the run without a fault, {moment}, over the age of the MLP log"


def _caption(study: study_file.Study) -> str:
    plan, count = study.plan, len(study.seeds)
    return (
        f"Preset {plan.preset}: {figures.count(count, 'seed')}, each with its own data, click model, order and first weights. "
        f"Power is lost in batch "
        f"{figures.count(plan.crash_at)} of {figures.count(plan.batches)}. Recovery restores the embeddings from the start of "
        f"that batch, and older MLPs. The run is compared with the run of the same seed without a fault "
        f"on {figures.count(plan.held_out_samples)} held-out samples. "
        "Bars are 95 % intervals of the mean (Student's t). With an age of 0 both runs are equal bit for bit. "
        f"Dashed: the paper's bound, a loss of {figures.exact(PAPER_POINTS)} percentage points with logs that are "
        f"hundreds of batches old ({PAPER}). "
        "Accuracy also depends on the bias after the last few batches, so its intervals are wide right after recovery; "
        "AUC depends on the ranking alone. "
        f"This command computed the study on {study.date} with model version {study.model}:"
    )
