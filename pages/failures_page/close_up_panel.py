"""One power loss batch by batch, under the system's own log.

The chart shows which batches count, are lost, or run again, and which log writes were cut.
"""

from functools import cache, lru_cache

import pandas as pd
import streamlit as st

from engine.core.figures import count, exact, figure
from engine.errors import EmberpoolError
from engine.insight.power_loss_detail import LANES, PowerLossDetail, power_loss_detail
from engine.scenario.scenario import Scenario
from engine.systems.kernels.in_force import title_of
from pages.graphics import chart
from pages.graphics.charts import (
    INK,
    Spec,
    axis,
    layer,
    legend_below,
    nominal,
    quantity,
    rows,
    rule_mark,
    scale_of,
    tooltip_fields,
)
from pages.ui.plain import escape_markdown

FATES = {"counts": "#4fa64a", "lost": "#c23b3b", "torn": "#7a1f1f", "run again": "#e8904a"}


def draw(scenario: Scenario) -> None:
    """Draw the slider, the sentence and the chart."""
    share = st.slider("Part of a batch that has passed when power is lost [%]", 1, 99, 60, key="struck at")
    detail = _detail_or_refusal(scenario, share / 100)
    if isinstance(detail, str):
        st.info(escape_markdown(detail))
        return
    chart.draw(
        frame(detail),
        spec(),
        key="close up",
        title=loss_sentence(detail, scenario),
        subtitle="Batches and log writes around one power loss, with the accesses of the steady state; outage drawn shorter",
        columns={"lane": "Lane", "batch": "Batch", "fate": "Fate", "start": "Start [ms]", "end": "End [ms]"},
    )
    st.caption(escape_markdown(outage_sentence(detail, scenario)))


@lru_cache(maxsize=128)
def _detail_or_refusal(scenario: Scenario, share: float) -> PowerLossDetail | str:
    try:
        return power_loss_detail(scenario, share)
    except EmberpoolError as error:
        return str(error)


def outage_sentence(detail: PowerLossDetail, scenario: Scenario) -> str:
    """Return a sentence on the parts of an outage.

    The sentence also says why an outage is long compared with a short run.
    """
    faults, outage = scenario.faults, detail.crash.outage
    outage_seconds = outage.resume_seconds - outage.stop_seconds
    knob_seconds = faults.detect_seconds + faults.restart_seconds
    trained = count(scenario.run.batches, "batch", "batches")
    return (
        f"The outage takes {figure(outage_seconds, 's')}: "
        f"{exact(faults.detect_seconds, 's')} for detection (faults.detect_seconds), "
        f"{exact(faults.restart_seconds, 's')} for the restart (faults.restart_seconds), "
        f"{figure(max(outage_seconds - knob_seconds, 0.0), 's')} for repair and restore. "
        f"A short run has the same outage as a long run: a full run of {trained} "
        "trains for seconds and may stand still for minutes; in a month of training these minutes count little."
    )


def loss_sentence(detail: PowerLossDetail, scenario: Scenario) -> str:
    """Return a sentence on the lost batches and the batch where training goes on."""
    crash, resumed = detail.crash, detail.crash.resumption
    outage_text = figure(crash.outage.resume_seconds - crash.outage.stop_seconds, "s")
    if resumed.embedding_batch == 0:
        title = title_of(scenario)
        return (
            f"Power is lost in batch {crash.batch}: {title} keeps no log, so training starts again at batch 0 {outage_text} later"
        )
    stale = resumed.embedding_batch - resumed.mlp_batch
    mlps = f", with MLPs that are {count(stale, 'batch', 'batches')} older" if stale else ""
    rerun_words = f"{count(crash.batches_lost, 'batch', 'batches')} {'is' if crash.batches_lost == 1 else 'are'}"
    return (
        f"Power is lost in batch {crash.batch}: training goes on {outage_text} later at the start of batch "
        f"{resumed.embedding_batch}{mlps}; {rerun_words} trained again"
    )


def frame(detail: PowerLossDetail) -> pd.DataFrame:
    """Return the chart's rows: lane, batch, fate, start, end in ms from the fault."""
    return pd.DataFrame(
        [
            {
                "lane": row["Lane"],
                "batch": row["Batch"],
                "fate": row["Fate"],
                "start": row["Start [ms]"],
                "end": row["End [ms]"],
                "label": str(row["Batch"]) if row["Lane"] == "Batch" else "",
            }
            for row in detail.rows
        ]
    )


@cache
def spec() -> Spec:
    """Return a chart with a lane for batches and a lane for each kind of log write.

    The chart needs the columns of `frame`.
    """
    bars = layer(
        {"type": "bar", "height": {"band": 0.74}, "stroke": "#80808080", "strokeWidth": 0.5},
        x=quantity("start", axis=axis("Time from the power loss, outage drawn shorter [ms]", grid=False), scale={"nice": False}),
        x2={"field": "end"},
        color=nominal("fate", scale=scale_of(FATES), legend=legend_below("run again", title=None)),
        tooltip=tooltip_fields(
            ("lane", "Lane"), ("batch", "Batch"), ("fate", "Fate"), ("start", "From [ms]", ".4~g"), ("end", "To [ms]", ".4~g")
        ),
    )
    middle = {"calculate": "(datum.start + datum.end) / 2", "as": "middle"}
    label = layer(
        {"type": "text", "color": "#ffffff", "fontWeight": 600},
        {"filter": "datum.label !== ''"},
        middle,
        x=quantity("middle"),
        text={"field": "label"},
    )
    fault = layer(rule_mark(color=INK, strokeWidth=2), x={"datum": 0.0})
    lanes = nominal("lane", sort=["Batch", *LANES.values()], axis=axis("", labelFontSize=13))
    return {**rows(30), "encoding": {"y": lanes}, "layer": [bars, label, fault]}
