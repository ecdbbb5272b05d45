"""The scoreboard: each family's errors on published numbers that were not used, and all of them in one picture."""

from collections.abc import Sequence
from functools import cache, lru_cache
from math import ceil, floor, log10

import pandas as pd
import streamlit as st

from engine import version
from engine.campaign.reference_points import published_figures
from engine.core import figures as figures_text
from engine.validation.accepted import read, worse
from engine.validation.claims import SAMPLES, families
from engine.validation.scoreboard import NEAR, PublishedNumber, score_lines, scores
from engine.validation.validate import ClaimVerdict
from pages.graphics import chart
from pages.graphics.charts import FIT, INK, LOG, Spec, axis, hover, layer, nominal, quantity
from pages.ui import palette
from pages.ui.plain import plain

COLUMNS = (
    "Family",
    "Numbers",
    "Median error [%]",
    "Roofline [%]",
    f"Within {figures_text.exact(NEAR)} % [%]",
    "Rank",
    "Ours beside it [%]",
    "Its numbers",
)
FITTED, UNPUBLISHED, NONE = "all used for fitting", "none published", figures_text.NOTHING
FIGURE = ",.4~r"
POWER = "datum.value >= 1 ? format(datum.value, '~s') : format(datum.value, '~g')"
TITLES = {
    "name": "Number",
    "family": "Family",
    "sample": "The number was",
    "published": "Published",
    "ours": "Ours",
    "error": "Error [%]",
}
COLOURS = (*palette.OTHERS, "#2f9e9b", "#c2a02b", "#7b5fa8")  # as many as there are families, and one


READING = (
    "The scoreboard's line is where ours is the published number; a mark above it says that ours is larger.",
    "The scoreboard's table counts numbers out of sample alone. A number that a constant or a shape was fitted to is in the "
    "picture, but in no median. No number counts twice.",
    "Rank is the correlation of ranks over all units of a family, which flatters it.",
    "A roofline is what can be said without this model: bytes over bandwidth and operations over peak, of the same set-up. The "
    "last two columns have our median over the numbers that a roofline can say, and how many these are.",
)


def draw(verdicts: Sequence[ClaimVerdict]) -> None:
    """Draw the families' table, what got worse since the accepted record, and the picture."""
    found = scores(verdicts, ()) + figures(version.MODEL)
    st.subheader("How far off is it where nothing was fitted?", anchor=False)
    picture, families_of = st.columns(2)
    drawn = points(found)
    hidden = len(found) - len(drawn)
    with picture:
        chart.draw(
            drawn,
            spec(*decades(drawn)),
            key="scoreboard",
            title=finding(found),
            subtitle="Published numbers against ours, each in its own unit, both axes logarithmic"
            + f"; {figures_text.count(hidden, 'number')} of 0 or less not drawn" * (hidden > 0),
            columns=TITLES,
        )
    with families_of:
        st.table(table(found).set_index("Family"), border="horizontal")
    record = read()
    lost = worse(record, found, every=True)
    for sentence in lost:
        st.warning(plain(sentence))
    st.caption(plain(f"Accepted with model version {record.model} on {record.date}: {record.reason.rstrip('.')}."))


def finding(found: Sequence[PublishedNumber]) -> str:
    """Return the sentence on the median error over all numbers that nothing was fitted to."""
    whole = score_lines(found)[0]
    if whole.median_percent is None:
        return "Every published number was used for fitting"
    off = figures_text.percent(whole.median_percent / 100)
    return f"Half of the {figures_text.count(whole.count, 'number')} that nothing was fitted to are within {off}"


@lru_cache(maxsize=1)
def figures(model: str) -> tuple[PublishedNumber, ...]:
    """Return the published numbers that no preset claims, kept as long as the model version lives."""
    return scores((), published_figures())


def table(found: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return a row over all numbers and one a family, as text: a family without free numbers says so."""
    published = {score.family for score in found}
    rows = []
    for line in score_lines(found):
        count = figures_text.count(line.count) if line.count else FITTED if line.family in published else UNPUBLISHED
        rest = (line.median_percent, line.roofline_percent, line.near_percent, line.rank, line.beside_percent)
        cells = [NONE if number is None else _digits(number) for number in rest]
        rows.append((line.family, count, *cells, figures_text.count(line.roofline_count) if line.roofline_count else NONE))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _digits(number: float) -> str:
    return figures_text.exact(float(f"{number:.3g}"))


def decades(drawn: pd.DataFrame) -> tuple[int, int]:
    """Return the powers of ten around all numbers of the picture."""
    numbers = [*drawn["published"], *drawn["ours"]] or [1.0]
    return floor(log10(min(numbers))), ceil(log10(max(numbers)))


def points(found: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return one row a published number that has a logarithm: name, family, sample, published, ours, error in percent, cause."""
    drawn = [one for one in found if min(one.published, one.ours) > 0]
    rows = [(one.name, one.family, one.sample, one.nearest, one.ours, one.error_percent, one.cause) for one in drawn]
    return pd.DataFrame(rows, columns=["name", "family", "sample", "published", "ours", "error", "cause"])


# In the charts' ink, since shapes are black by themselves, on dark too; below each other, as side by side they need 600 pixels.
SAMPLE = {"title": "The number was", "columns": 3, "symbolStrokeColor": INK, "symbolFillColor": INK}
BELOW = {"bottom": {"direction": "vertical", "anchor": "start"}}
MOST_TICKS = 5


@cache
def spec(low: int = -1, high: int = 8) -> Spec:
    """Published against ours over these decades, both logarithmic; needs name, family, sample, published, ours, error, cause."""
    named = families()
    step = ceil((high - low) / MOST_TICKS)
    ticks = {"values": [10.0**power for power in range(low, high + 1, step)], "labelExpr": POWER}
    scale = {**LOG, "domain": [10.0**low, 10.0**high]}
    x = quantity("published", scale=scale, axis={**axis("Published [in its own unit]"), **ticks})
    y = quantity("ours", scale=scale, axis={**axis("Ours [in the same unit]"), **ticks})
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
