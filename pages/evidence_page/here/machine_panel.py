"""Steps that were predicted from a machine's measured parts, beside those that PyTorch then took on it."""

from functools import cache

import pandas as pd
import streamlit as st

from engine.core.figures import percent
from engine.errors import BadFile
from engine.measure.here.read_back import TrialRun, first_machine, read
from engine.measure.here.trials import NEAR, TrialScore, score
from engine.units import MS
from engine.version import PROGRAM
from pages.graphics import chart
from pages.graphics.charts import CURVE, FIT, INK, LOG, Spec, axis, hover, layer, quantity
from pages.ui import downloads
from pages.ui.plain import plain

UPLOAD = "validate here upload"
COLUMNS = {
    "model": "Model",
    "predicted": "Predicted [ms]",
    "measured": "Measured [ms]",
    "miss": "Predicted against measured [%]",
    "peaks": "At peak rates [ms]",
}


def draw() -> None:
    """Draw predicted against measured steps of the uploaded machine, or of the first one."""
    st.subheader("Does it hold on a real machine?", anchor=False)
    given = st.file_uploader("The file of your own machine, from validate --here --json", type="json", key=UPLOAD)
    try:
        found = read("The file", given.getvalue()) if given else first_machine()
    except BadFile as error:
        st.error(plain(str(error)))
        found = first_machine()
    chart.draw(
        rows(found),
        spec(),
        key="here",
        columns=COLUMNS,
        title=finding(found),
        subtitle="Step time of a model [ms], each dot predicted before it was trained; band: within 25 %",
        source=f"{found.machine}, {found.day}; seed {found.seed}",
    )
    downloads.rows(rows(found), "emberpool-here", "Download these models as CSV", COLUMNS)
    st.caption("Measure yours, let it predict, then train for real:")
    st.code(f"{PROGRAM} measure --out DIR\n{PROGRAM} validate --here --parts-dir DIR --json here.json", language=None)


def finding(found: TrialRun) -> str:
    """Return how good the predictions are, as a sentence."""
    scored = score(found.trials)
    if scored is None:
        return "One model is too few for a score"
    return f"{_headline(scored)}; operations and bytes over peak rates alone are off by {percent(scored.by_peaks)}"


def _headline(scored: TrialScore) -> str:
    near = f"{percent(scored.near)} of them within {percent(NEAR)}"
    return f"Steps are predicted within {percent(scored.median)} in the median, {near}"


def rows(found: TrialRun) -> pd.DataFrame:
    """Return a row a model."""
    return pd.DataFrame(
        [
            {
                "model": one.words,
                "predicted": one.predicted / MS,
                "measured": (one.measured or 0.0) / MS,
                "miss": 100 * one.error,
                "peaks": one.by_peaks / MS,
                "low": (one.measured or 0.0) / MS * (1 - NEAR),
                "high": (one.measured or 0.0) / MS * (1 + NEAR),
            }
            for one in found.trials
        ]
    )


@cache
def spec() -> Spec:
    """A dot a model over a band of 25 % around what was measured, both axes logarithmic; needs model, predicted, measured."""
    x = quantity("measured", scale=LOG, axis=axis("Measured [ms]", grid=False))
    told = hover(
        ("model", "Model"),
        ("predicted", "Predicted [ms]", ".3g"),
        ("measured", "Measured [ms]", ".3g"),
        ("miss", "Off [%]", "+.1f"),
    )
    return {
        **FIT,
        "height": 300,
        "layer": [
            layer(
                {"type": "area", "color": INK, "opacity": 0.2, "aria": False},
                x=x,
                y=quantity("low", scale=LOG),
                y2={"field": "high"},
            ),
            layer({"type": "line", "color": INK, "aria": False}, x=x, y=quantity("measured", scale=LOG)),
            layer(
                {"type": "point", "filled": True, "size": 60, "color": CURVE, "opacity": 0.9},
                x=x,
                y=quantity("predicted", scale=LOG, axis=axis("Predicted [ms]")),
                tooltip=told,
            ),
        ],
    }
