"""The scoreboard: each family's errors on published numbers out of sample, and a chart."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from math import ceil, floor, log10

import pandas as pd
import streamlit as st

from engine import version
from engine.campaign.reference_points import published_figures
from engine.core import figures as figures_text
from engine.validation import kept_numbers
from engine.validation.accepted import read_record, worse_numbers
from engine.validation.claims import SAMPLES, families
from engine.validation.scoreboard import NEAR_PERCENT, PublishedNumber, score_lines, scores
from engine.validation.validate import ClaimVerdict
from pages.answers import runs
from pages.graphics import chart
from pages.graphics.charts import FIT_WIDTH, INK, LOG, Spec, axis, layer, nominal, quantity, tooltip_fields
from pages.ui import palette
from pages.ui.plain import escape_markdown

COLUMNS = (
    "Family",
    "Numbers",
    "Median error [%]",
    "Roofline [%]",
    f"Within {figures_text.exact(NEAR_PERCENT)} % [%]",
    "Rank",
    "Median beside a roofline [%]",
    "Numbers with a roofline",
)
FITTED, UNPUBLISHED, EMPTY_CELL = "all used for fitting", "none published", figures_text.NO_NUMBER
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
COLOURS = (*palette.OTHER_COLOURS, "#2f9e9b", "#c2a02b", "#7b5fa8")  # one more than there are families


READING_NOTES = (
    "On the scoreboard's line Emberpool's number equals the published number; above the line Emberpool's number is larger.",
    "The scoreboard's table counts only numbers out of sample. A number that was used for fitting is in the chart, but in no "
    "median. No number counts twice.",
    "Rank is the rank correlation over all numbers of a family. They have different units, so it looks better than it is.",
    "A roofline is an estimate without Emberpool: bytes over bandwidth and operations over peak rate, of the same set-up. The "
    "last two columns have Emberpool's median error on the numbers that a roofline can estimate, and their count.",
)


def draw(verdicts: Sequence[ClaimVerdict]) -> None:
    """Draw the families' table, numbers worse than the accepted record, and the chart."""
    numbers = scores(verdicts, ()) + figures(version.MODEL)
    st.subheader("How far off is Emberpool where nothing was fitted?", anchor=False)
    chart_column, table_column = st.columns(2)
    drawn_points = points(numbers)
    num_hidden = len(numbers) - len(drawn_points)
    with chart_column:
        chart.draw(
            drawn_points,
            spec(*decades(drawn_points)),
            key="scoreboard",
            title=finding(numbers),
            subtitle="Emberpool's numbers against published numbers, each in its own unit, both axes logarithmic"
            + f"; {figures_text.count(num_hidden, 'number')} of 0 or less left out" * (num_hidden > 0),
            columns=TITLES,
        )
    with table_column:
        st.table(table(numbers).set_index("Family"), border="horizontal")
    record = read_record()
    regressions = worse_numbers(record, numbers, every=True)
    for sentence in regressions:
        st.warning(escape_markdown(sentence))
    st.caption(
        escape_markdown(f"The accepted record is of model version {record.model}, {record.date}: {record.reason.rstrip('.')}.")
    )


def finding(numbers: Sequence[PublishedNumber]) -> str:
    """Return the sentence on the median error over all numbers to which nothing was fitted."""
    overall_line = score_lines(numbers)[0]
    if overall_line.median_percent is None:
        return "Every published number was used for fitting"
    error_text = figures_text.percent(overall_line.median_percent / 100)
    return (
        f"Half of the {figures_text.count(overall_line.count, 'number')} that were not used for fitting are within {error_text}"
    )


@lru_cache(maxsize=1)
def figures(model: str) -> tuple[PublishedNumber, ...]:
    """Return the published numbers that no preset claims, cached by model version, and kept for later processes."""
    file = runs.STORE.with_name("figures.txt")
    if (kept := kept_numbers.read_numbers(file)) is not None:
        return tuple(PublishedNumber(**fields) for fields in kept)
    numbers = scores((), published_figures())
    kept_numbers.write_numbers(file, [asdict(number) for number in numbers])
    return numbers


def table(numbers: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return a row over all numbers and a row for each family, as text.

    The row of a family without numbers out of sample says so.
    """
    published = {score.family for score in numbers}
    rows = []
    for line in score_lines(numbers):
        count = figures_text.count(line.count) if line.count else FITTED if line.family in published else UNPUBLISHED
        rest = (line.median_percent, line.roofline_percent, line.near_percent, line.rank_correlation, line.model_percent)
        cells = [EMPTY_CELL if number is None else _three_digits(number) for number in rest]
        rows.append((line.family, count, *cells, figures_text.count(line.roofline_count) if line.roofline_count else EMPTY_CELL))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _three_digits(number: float) -> str:
    return figures_text.exact(float(f"{number:.3g}"))


def decades(frame: pd.DataFrame) -> tuple[int, int]:
    """Return the powers of ten below and above all numbers of the chart."""
    numbers = [*frame["published"], *frame["ours"]] or [1.0]
    return floor(log10(min(numbers))), ceil(log10(max(numbers)))


def points(numbers: Sequence[PublishedNumber]) -> pd.DataFrame:
    """Return a row for each published number above 0.

    Columns: name, family, sample, published, ours (the simulated number), error [%], cause.
    """
    positive_numbers = [number for number in numbers if min(number.published, number.simulated_value) > 0]
    rows = [
        (number.name, number.family, number.sample, number.nearest, number.simulated_value, number.error_percent, number.cause)
        for number in positive_numbers
    ]
    return pd.DataFrame(rows, columns=["name", "family", "sample", "published", "ours", "error", "cause"])


# In the charts' ink, since shapes are black by themselves, on dark too; below each other, as side by side they need 600 pixels.
SAMPLE = {"title": "The number was", "columns": 3, "symbolStrokeColor": INK, "symbolFillColor": INK}
LEGEND_LAYOUT = {"bottom": {"direction": "vertical", "anchor": "start"}}
MOST_TICKS = 5


@lru_cache(maxsize=64)
def spec(low: int = -1, high: int = 8) -> Spec:
    """Return a chart of published against simulated numbers, both logarithmic.

    low, high: powers of ten at the ends of the axes. Needs name, family, sample, published, ours, error, cause.
    """
    family_names = families()
    step = ceil((high - low) / MOST_TICKS)
    ticks = {"values": [10.0**power for power in range(low, high + 1, step)], "labelExpr": POWER}
    scale = {**LOG, "domain": [10.0**low, 10.0**high]}
    x = quantity("published", scale=scale, axis={**axis("Published [in its own unit]"), **ticks})
    y = quantity("ours", scale=scale, axis={**axis("Emberpool [in the same unit]"), **ticks})
    line = layer({"type": "line", "color": INK, "strokeDash": [4, 4], "aria": False}, x=x, y={**y, "field": "published"})
    marks = layer(
        {"type": "point", "filled": True, "size": 90, "opacity": 0.8},
        x=x,
        y=y,
        color=nominal("family", scale={"domain": family_names, "range": COLOURS[: len(family_names)]}, title="Family"),
        shape=nominal("sample", scale={"domain": list(SAMPLES)}, legend=SAMPLE),
        tooltip=tooltip_fields(
            ("name", "Number"),
            ("family", "Family"),
            ("sample", "The number was"),
            ("published", "Published", FIGURE),
            ("ours", "Emberpool", FIGURE),
            ("error", "Error [%]", "+.1f"),
            ("cause", "Cause of a miss"),
        ),
    )
    return {
        **FIT_WIDTH,
        "height": 420,
        "layer": [line, marks],
        "config": {"legend": {"orient": "bottom", "columns": 2, "titleFontWeight": "normal", "layout": LEGEND_LAYOUT}},
    }
