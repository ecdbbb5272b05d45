"""The scoreboard: each family's errors on published numbers that were not used, and all of them in one picture."""

from collections.abc import Sequence
from functools import cache, lru_cache

import pandas as pd
import streamlit as st

from engine import version
from engine.campaign.reference_points import published_figures
from engine.validation.accepted import read, worse
from engine.validation.claims import SAMPLES, families
from engine.validation.scoreboard import NEAR, PublishedNumber, score_lines, scores
from engine.validation.validate import ClaimVerdict
from pages.graphics.charts import FIT, INK, LOG, Spec, axis, hover, layer, nominal, quantity
from pages.ui import downloads, palette
from pages.ui.plain import plain

FORMATS = {
    "Numbers": "%d",
    "Median error [%]": "%.1f",
    "Roofline [%]": "%.1f",
    f"Within {NEAR:g} % [%]": "%.0f",
    "Rank": "%.2f",
    "Ours beside it [%]": "%.1f",
    "Its numbers": "%d",
}
ALT = "Published numbers against ours, both logarithmic, coloured by family"
FIGURE = ",.4~r"
COLOURS = (*palette.OTHERS, "#2f9e9b", "#c2a02b", "#7b5fa8")  # as many as there are families, and one


def draw(verdicts: Sequence[ClaimVerdict]) -> None:
    """Draw the families' table, what got worse since the accepted record, and the picture."""
    found = scores(verdicts, ()) + figures(version.MODEL)
    st.subheader("How far off is it where nothing was fitted?", anchor=False)
    picture, families_of = st.columns(2)
    picture.vega_lite_chart(points(found), spec(), key="scoreboard", alt=ALT)
    with families_of:
        downloads.show(table(found), FORMATS)
    hidden = len(found) - len(points(found))
    st.caption(
        "The line is where ours is what is published; a mark above it says that ours is larger. "
        + f"{hidden} of 0 or less cannot be drawn. " * (hidden > 0)
        + "In the table out of sample alone: a number that a constant or a shape was fitted to is in the picture, but in no "
        "median, and no number is in it twice. A family with 0 has no published number that was not used. Rank is the "
        "correlation of ranks over all units of a family, which flatters it. A roofline, whose median error stands beside ours, "
        "is what can be said without this model: bytes over bandwidth and operations over peak, of the same set-up. At the "
        "right is our median over the numbers that a roofline can say, and how many these are."
    )
    record = read()
    lost = worse(record, found, every=True)
    for sentence in lost:
        st.warning(plain(sentence))
    st.caption(plain(f"Accepted with model version {record.model} on {record.date}: {record.reason.rstrip('.')}."))


@lru_cache(maxsize=1)
def figures(model: str) -> tuple[PublishedNumber, ...]:
    """Return the published numbers that no preset claims, kept as long as the model version lives."""
    return scores((), published_figures())


def table(found: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return a row over all numbers and one a family."""
    rows = [
        (
            line.family,
            line.count,
            line.median_percent,
            line.roofline_percent,
            line.near_percent,
            line.rank,
            line.beside_percent,
            line.roofline_count,
        )
        for line in score_lines(found)
    ]
    return pd.DataFrame(rows, columns=["Family", *FORMATS]).astype(dict.fromkeys(FORMATS, float))


def points(found: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return one row a published number that has a logarithm: name, family, sample, published, ours, error in percent, cause."""
    drawn = [one for one in found if min(one.published, one.ours) > 0]
    rows = [(one.name, one.family, one.sample, one.nearest, one.ours, one.error_percent, one.cause) for one in drawn]
    return pd.DataFrame(rows, columns=["name", "family", "sample", "published", "ours", "error", "cause"])


# In the charts' ink, since shapes are black by themselves, on dark too; below each other, as side by side they need 600 pixels.
SAMPLE = {"title": "The number was", "columns": 3, "symbolStrokeColor": INK, "symbolFillColor": INK}
BELOW = {"bottom": {"direction": "vertical", "anchor": "start"}}


@cache
def spec() -> Spec:
    """Published against ours, both logarithmic; needs name, family, sample, published, ours, error, cause."""
    named = families()
    x = quantity("published", scale=LOG, axis=axis("Published [in its own unit]"))
    y = quantity("ours", scale=LOG, axis=axis("Ours [in the same unit]"))
    line = layer({"type": "line", "color": INK, "strokeDash": [4, 4], "aria": False}, x=x, y={**y, "field": "published"})
    marks = layer(
        {"type": "point", "filled": True, "size": 90, "opacity": 0.8},
        x=x,
        y=y,
        color=nominal("family", scale={"domain": named, "range": COLOURS[: len(named)]}, title="Family"),
        shape=nominal("sample", scale={"domain": list(SAMPLES)}, legend=SAMPLE),
        tooltip=hover(
            ("name", "Number"),
            ("family", "Family"),
            ("sample", "The number was"),
            ("published", "Published", FIGURE),
            ("ours", "Ours", FIGURE),
            ("error", "Error [%]", "+.1f"),
            ("cause", "Cause of a miss"),
        ),
    )
    return {
        **FIT,
        "height": 420,
        "layer": [line, marks],
        "config": {"legend": {"orient": "bottom", "columns": 2, "titleFontWeight": "normal", "layout": BELOW}},
    }
