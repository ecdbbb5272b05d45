"""One power loss batch by batch: what the system's own log had committed, what is lost, torn and run again."""

from functools import cache, lru_cache

import pandas as pd
import streamlit as st

from engine.errors import EmberpoolError
from engine.insight.power_loss_detail import LANES, PowerLossDetail, power_loss_detail
from engine.scenario.scenario import Scenario
from pages.failures_page.fault_tables import length
from pages.graphics.charts import INK, Spec, axis, hover, layer, nominal, quantity, rows, ruled, scale_of
from pages.ui.plain import plain

FATES = {"counts": "#4fa64a", "lost": "#c23b3b", "torn": "#7a1f1f", "run again": "#e8904a"}


def draw(scenario: Scenario) -> None:
    """Draw the slider, the sentence and the chart."""
    share = st.slider("Power is lost when so much of a batch has passed [%]", 1, 99, 60, key="struck at")
    found = _of(scenario, share / 100)
    if isinstance(found, str):
        st.info(plain(found))
        return
    st.markdown(f"**{plain(told(found, scenario))}**")
    st.vega_lite_chart(frame(found), spec(), key="close up", alt="Batches and log writes around one power loss")
    st.caption("Expected accesses in the steady state. The gap is the outage, which lasts far longer than it is drawn.")


@lru_cache(maxsize=128)
def _of(scenario: Scenario, share: float) -> PowerLossDetail | str:
    try:
        return power_loss_detail(scenario, share)
    except EmberpoolError as error:
        return str(error)


def told(found: PowerLossDetail, scenario: Scenario) -> str:
    """Return what happened, as a sentence."""
    crash, resumed = found.crash, found.crash.resumption
    down = length(crash.outage.resumed - crash.outage.at)
    if resumed.embedding_batch == 0:
        return (
            f"Power fails in batch {crash.batch}: system {scenario.system} keeps no log, and training starts again after {down}"
        )
    stale = resumed.embedding_batch - resumed.mlp_batch
    mlps = f", the MLPs {stale} batch{'es' if stale > 1 else ''} older" if stale else ""
    again = "1 batch is" if crash.lost == 1 else f"{crash.lost} batches are"
    return (
        f"Power fails in batch {crash.batch}: {down} later training goes on at the start of batch "
        f"{resumed.embedding_batch}{mlps}; {again} run again"
    )


def frame(found: PowerLossDetail) -> pd.DataFrame:
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
            for row in found.rows
        ]
    )


@cache
def spec() -> Spec:
    """A lane for batches and for each kind of log write; needs lane, batch, fate, start, end, label."""
    bars = layer(
        {"type": "bar", "height": {"band": 0.74}, "stroke": "#80808080", "strokeWidth": 0.5},
        x=quantity("start", axis=axis("Time from the power loss, the outage shortened [ms]", grid=False), scale={"nice": False}),
        x2={"field": "end"},
        color=nominal("fate", scale=scale_of(FATES), legend={"orient": "top", "title": None}),
        tooltip=hover(
            ("lane", "What"), ("batch", "Batch"), ("fate", "Fate"), ("start", "From [ms]", ".4~g"), ("end", "To [ms]", ".4~g")
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
    fault = layer(ruled(color=INK, strokeWidth=2), x={"datum": 0.0})
    lanes = nominal("lane", sort=["Batch", *LANES.values()], axis=axis("", labelFontSize=13))
    return {**rows(30), "encoding": {"y": lanes}, "layer": [bars, label, fault]}
