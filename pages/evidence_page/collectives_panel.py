"""Collectives between GPUs, simulated and published: all-reduce, all-to-all and a step."""

from collections.abc import Sequence
from functools import cache

import pandas as pd
import streamlit as st

from engine.core.catalog import summaries
from engine.core.figures import count, exact, figure, percent, signed
from engine.errors import EmberpoolError
from engine.insight.network import collectives
from engine.insight.network.collectives import ALL_REDUCE, ALL_TO_ALL, STEP, CollectiveComparison, CollectivePoint
from pages.answers import later
from pages.graphics import chart
from pages.graphics.charts import INK, LOG, Spec, axis, layer, legend_below, nominal, quantity, scale_of, tooltip_fields
from pages.ui import downloads, palette
from pages.ui.plain import escape_markdown

GPUS = "GPUs [number, nodes of 8]"
CURVE, OUR_CURVE, PUBLISHED = "curve", "ours in the set-up of a published number", "published"
HEADS = {ALL_REDUCE: "All-reduce", ALL_TO_ALL: "All-to-all", STEP: "DCNv2"}
STANDARDS = {ALL_REDUCE: "the published value", ALL_TO_ALL: "the share that TorchRec needs", STEP: "the published value"}
SUBTITLES = {
    ALL_REDUCE: "Bus bandwidth [GB/s] of an exchange of 1 GiB; dot: published, ring: Emberpool",
    ALL_TO_ALL: "Share of a network card [%] in TorchRec's exchange, 400 Gb/s a node; dot: needed for its published speed, "
    "ring: Emberpool in the same set-up",
    STEP: "Throughput [M samples/s] of H100s, 400 Gb/s each; dot: published (an overhead is fitted to both), ring: Emberpool",
}
SOURCES = {
    ALL_REDUCE: "NVIDIA/nccl issue 527",
    ALL_TO_ALL: "facebookresearch/dlrm issue 356, pytorch/torchrec",
    STEP: "MLPerf Training v3.0",
}
AXES = {
    ALL_REDUCE: "Bus bandwidth [GB/s]",
    ALL_TO_ALL: "Share of a network card [%]",
    STEP: "Throughput [M samples/s]",
}
COLUMNS = {
    "comparison": "Comparison",
    "unit": "Unit",
    "network": "Network",
    "gpus": "GPUs",
    "what": "What",
    "amount": "Value",
    "miss": "Ours against the published [%]",
    "source": "Source",
}
TICKS = [2, 4, 8, 16, 32, 64, 128]


def draw() -> None:
    """Draw the three charts, the error at each published point, and one CSV file."""
    st.subheader("Are exchanges between GPUs as fast as measured?", anchor=False)
    try:
        later.draw_when_known("Simulating exchanges between GPUs", _draw_comparisons, collectives.collectives)
    except EmberpoolError as error:
        st.info(escape_markdown(str(error)))


def _draw_comparisons(comparisons: tuple[CollectiveComparison, ...]) -> None:
    places = [*st.columns(2), *st.columns(2)]
    for place, comparison in zip(places, comparisons, strict=False):
        with place:
            chart.draw(
                rows(comparison),
                spec(*spec_arguments(comparison)),
                key=f"collectives {comparison.name}",
                columns=COLUMNS,
                title=finding(comparison),
                subtitle=SUBTITLES[comparison.name],
                source=SOURCES[comparison.name],
            )
    with places[-1]:
        st.caption("\n".join(f"- {escape_markdown(sentence)}" for sentence in miss_sentences(comparisons)))
        table = pd.concat([rows(comparison) for comparison in comparisons], ignore_index=True)
        downloads.rows(table, "emberpool-collectives", "Download collectives as CSV", COLUMNS)


def spec_arguments(comparison: CollectiveComparison) -> tuple[str, tuple[str, ...], bool]:
    """Return the arguments of `spec` for the chart of one comparison."""
    return AXES[comparison.name], networks(), comparison.name != STEP


def networks() -> tuple[str, ...]:
    """Return the titles of all kinds of network."""
    return tuple(_titles().values())


def rows(comparison: CollectiveComparison) -> pd.DataFrame:
    """Return the columns of COLUMNS: a row for each value of a curve, two for each published point.

    The first of these two has the label.
    """
    titles = _titles()
    table_rows: list[dict[str, object]] = [
        {"network": titles[curve.network], "gpus": gpus, "what": CURVE, "amount": amount}
        for curve in comparison.curves
        for gpus, amount in zip(curve.gpus, curve.values, strict=True)
    ]
    for point in comparison.points:
        point_cells = {
            "network": titles[point.network],
            "gpus": point.gpus,
            "miss": 100 * point.relative_error,
            "source": point.source,
        }
        table_rows.append(
            {**point_cells, "what": PUBLISHED, "amount": point.published, "label": _signed_percent(point.relative_error)}
        )
        table_rows.append({**point_cells, "what": OUR_CURVE, "amount": point.simulated_value})
    frame = pd.DataFrame(table_rows, columns=["network", "gpus", "what", "amount", "miss", "source", "label"])
    return frame.assign(comparison=HEADS[comparison.name], unit=comparison.unit)


def finding(comparison: CollectiveComparison) -> str:
    """Return a clause on how far the simulated numbers are from the published points."""
    if comparison.name == STEP:
        published_gain, our_gain = throughput_gains(comparison.points)
        low, high = (exact(point.gpus) for point in (comparison.points[0], comparison.points[-1]))
        gain_text = f"{_signed_percent(published_gain)} published, {_signed_percent(our_gain)} in Emberpool"
        return f"DCNv2's throughput from {low} to {high} GPUs: {gain_text}"
    first_point, *other_points = comparison.points
    other_texts = "".join(f", {_side_text(point)} on {exact(point.gpus)}" for point in other_points)
    gpus = count(first_point.gpus, "GPU")
    return f"Emberpool's {comparison.name} is {_side_text(first_point)} {STANDARDS[comparison.name]} on {gpus}{other_texts}"


def throughput_gains(points: Sequence[CollectivePoint]) -> tuple[float, float]:
    """Return by which share the published and the simulated values grow over the points."""
    first_point, last_point = points[0], points[-1]
    return last_point.published / first_point.published - 1, last_point.simulated_value / first_point.simulated_value - 1


def miss_sentences(comparisons: Sequence[CollectiveComparison]) -> tuple[str, ...]:
    """Return a sentence for each published point: both numbers, error, set-up and source."""
    return tuple(_miss_sentence(comparison, point) for comparison in comparisons for point in comparison.points)


@cache
def spec(title: str, network_titles: tuple[str, ...], zero: bool) -> Spec:
    """Return a chart of simulated curves over GPUs, a line for each network, with points.

    Published points are filled; points simulated in the same set-up are hollow. `zero`: the axis begins at 0, else near the least
    number. The error is written next to a published point, or below it where the axis does not begin at 0.
    """
    x = quantity("gpus", scale={**LOG, "base": 2, "padding": 14}, axis=axis(GPUS, values=TICKS, tickCount=10, grid=False))
    y = quantity("amount", axis=axis(title), scale={"zero": zero})
    colour = nominal(
        "network",
        scale=_colours(network_titles),
        legend=legend_below(max(network_titles, key=len), title=None, symbolType="stroke"),
    )
    tip = tooltip_fields(
        ("network", "Network"),
        ("gpus", "GPUs", ",d"),
        ("what", "Kind"),
        ("amount", title, ",.3~r"),
        ("miss", "Error of Emberpool [%]", "+.1f"),
        ("source", "Source"),
    )
    channels = {"x": x, "y": y, "tooltip": tip}
    curve_layer = layer({"type": "line", "aria": False}, _kind_filter(CURVE), **channels, color=colour)
    hollow = {"type": "point", "aria": False, "filled": False, "size": 90, "strokeWidth": 2, "opacity": 1}
    our_layer = layer(hollow, _kind_filter(OUR_CURVE), **channels, color=colour)
    published_layer = layer({**hollow, "filled": True, "color": INK}, _kind_filter(PUBLISHED), **channels)
    place: Spec = {"align": "left", "dx": 8, "dy": -8} if zero else {"align": "center", "dy": 22}
    text = {"type": "text", "fontWeight": 600, "color": INK, **place}
    label_layer = layer(text, _kind_filter(PUBLISHED), **channels, text={"field": "label"})
    return {"height": 240, "layer": [curve_layer, our_layer, published_layer, label_layer]}


def _titles() -> dict[str, str]:
    return {name: title for kind, name, title, _ in summaries() if kind == "network"}


def _colours(network_titles: tuple[str, ...]) -> Spec:
    return scale_of(
        {name: palette.OTHER_COLOURS[number % len(palette.OTHER_COLOURS)] for number, name in enumerate(network_titles)}
    )


def _kind_filter(kind: str) -> Spec:
    return {"filter": f"datum.what === '{kind}'"}


def _miss_sentence(comparison: CollectiveComparison, point: CollectivePoint) -> str:
    titles, miss_by_network = _titles(), comparison.other_errors(point)
    other_networks = "".join(f"; {_signed_percent(miss)} with {titles[name]}" for name, miss in miss_by_network.items())
    published_verb = "needed" if comparison.name == ALL_TO_ALL else "published"
    error_text = f"{_signed_percent(point.relative_error)}{', fitted' * point.fitted}{other_networks}"
    return (
        f"{HEADS[comparison.name]}, {count(point.gpus, 'GPU')}: {exact(point.published)} {comparison.unit} {published_verb}, "
        f"{figure(point.simulated_value)} {comparison.unit} in Emberpool ({error_text}). {point.source}."
    )


def _side_text(point: CollectivePoint) -> str:
    return f"{percent(abs(point.relative_error))} {'above' if point.relative_error > 0 else 'below'}"


def _signed_percent(share: float) -> str:
    return f"{signed(100 * share)} %"
