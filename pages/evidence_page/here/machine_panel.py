"""Predicted steps of a measured machine, compared with the steps that PyTorch took on it."""

from functools import cache

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.core.figures import figure, percent
from engine.errors import BadFile
from engine.measure.here.read_back import TrialRun, first_machine, read_trials
from engine.measure.here.trials import NEAR_ERROR, TrialScore, score
from engine.units import MS, MiB
from engine.version import PROGRAM
from pages.gate import upload_limits
from pages.graphics import chart
from pages.graphics.charts import CURVE, FIT_WIDTH, INK, LOG, Spec, axis, layer, quantity, tooltip_fields
from pages.ui import downloads
from pages.ui.plain import escape_markdown

UPLOAD = "validate here upload"
MOST_MB = 1  # a file of 40 models has some 12 kB
COLUMNS = {
    "model": "Model",
    "predicted": "Predicted [ms]",
    "measured": "Measured [ms]",
    "miss": "Predicted against measured [%]",
    "peaks": "At peak rates [ms]",
}


def draw() -> None:
    """Draw predicted against measured steps, of an uploaded machine or of the first machine."""
    st.subheader("Do the predictions hold on a real machine?", anchor=False)
    upload_limits.take_uploads()
    upload = st.file_uploader(
        "Upload the file of your own machine, made by validate --here --json", type="json", key=UPLOAD, max_upload_size=MOST_MB
    )
    try:
        trial_run = read_trials("The file", _content(upload)) if upload else first_machine()
    except BadFile as error:
        st.error(escape_markdown(str(error)))
        trial_run = first_machine()
    chart.draw(
        rows(trial_run),
        spec(),
        key="here",
        columns=COLUMNS,
        title=finding(trial_run),
        subtitle="Step time [ms], one dot a model, predicted before the model was trained; band: within 25 %",
        source=f"{trial_run.machine}, {trial_run.day}; seed {trial_run.seed}",
    )
    downloads.rows(rows(trial_run), "emberpool-here", "Download these models as CSV", COLUMNS)
    st.caption("These commands measure your machine, predict its steps, and then train for real:")
    st.code(f"{PROGRAM} measure --out DIR\n{PROGRAM} validate --here --parts-dir DIR --json here.json", language=None)


def _content(upload: UploadedFile) -> bytes:
    """Return the content of an upload, which stays in memory; raises BadFile if it is large."""
    if upload.size > MOST_MB * MiB:
        raise BadFile(
            f"The file has {figure(upload.size / MiB, 'MiB')}, and at most {figure(MOST_MB, 'MiB')} are allowed; upload the file "
            "that validate --here --json writes."
        )
    return upload.getvalue()


def finding(trial_run: TrialRun) -> str:
    """Return a sentence on the errors of the predictions."""
    trial_score = score(trial_run.trials)
    if trial_score is None:
        return "One model is too few for a score; measure more models"
    return f"{_headline(trial_score)}; a roofline is off by {percent(trial_score.peak_error)}"


def _headline(trial_score: TrialScore) -> str:
    share_text = f"{percent(trial_score.near_share)} of the predictions are within {percent(NEAR_ERROR)}"
    return f"The median error of predicted steps is {percent(trial_score.median)}, and {share_text}"


def rows(trial_run: TrialRun) -> pd.DataFrame:
    """Return a row for each model."""
    return pd.DataFrame(
        [
            {
                "model": trial.words,
                "predicted": trial.predicted_seconds / MS,
                "measured": (trial.measured_seconds or 0.0) / MS,
                "miss": 100 * trial.error,
                "peaks": trial.peak_seconds / MS,
                "low": (trial.measured_seconds or 0.0) / MS * (1 - NEAR_ERROR),
                "high": (trial.measured_seconds or 0.0) / MS * (1 + NEAR_ERROR),
            }
            for trial in trial_run.trials
        ]
    )


@cache
def spec() -> Spec:
    """Return a chart with a dot for each model, and a band of 25 % around measured steps.

    Both axes are logarithmic. Needs model, predicted, measured, miss, low and high.
    """
    x = quantity("measured", scale=LOG, axis=axis("Measured [ms]", grid=False))
    tooltip = tooltip_fields(
        ("model", "Model"),
        ("predicted", "Predicted [ms]", ".3g"),
        ("measured", "Measured [ms]", ".3g"),
        ("miss", "Error [%]", "+.1f"),
    )
    return {
        **FIT_WIDTH,
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
                tooltip=tooltip,
            ),
        ],
    }
