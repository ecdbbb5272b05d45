"""Collectives between GPUs beside published numbers: a chart each of the all-reduce, the all-to-all and a whole step."""

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
from pages.graphics.charts import INK, LOG, Spec, axis, below, hover, layer, nominal, quantity, scale_of
from pages.ui import downloads, palette
from pages.ui.plain import plain

GPUS = "GPUs [number, nodes of 8]"
CURVE, OURS, PUBLISHED = "curve", "ours in the set-up of a published number", "published"
HEADS = {ALL_REDUCE: "All-reduce", ALL_TO_ALL: "All-to-all", STEP: "DCNv2"}
STANDARDS = {ALL_REDUCE: "the published", ALL_TO_ALL: "what TorchRec needs", STEP: "the published"}
SUBTITLES = {
    ALL_REDUCE: "Bus bandwidth [GB/s] of 1 GiB; dot: published, ring: ours",
    ALL_TO_ALL: "Share of a card [%] in TorchRec's exchange, 400 Gb/s a node; dot: what its published speed needs, ring: ours in "
    "the set-up of the dot",
    STEP: "Throughput [M samples/s] of H100, 400 Gb/s each; dot: published (a message's overhead is fitted to both), ring: ours",
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
    """Draw the three charts, how far each published point is off, and one CSV file of all."""
    st.subheader("Are exchanges between GPUs as fast as measured?", anchor=False)
    try:
        found: tuple[CollectiveComparison, ...] = later.cached_result(collectives.collectives)
    except EmberpoolError as error:
        st.info(plain(str(error)))
        return
    places = [*st.columns(2), *st.columns(2)]
    for place, comparison in zip(places, found, strict=False):
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
        st.caption("\n".join(f"- {plain(sentence)}" for sentence in misses(found)))
        table = pd.concat([rows(comparison) for comparison in found], ignore_index=True)
        downloads.rows(table, "emberpool-collectives", "Download collectives as CSV", COLUMNS)


def spec_arguments(comparison: CollectiveComparison) -> tuple[str, tuple[str, ...], bool]:
    """Return what `spec` needs for the chart of one comparison."""
    return AXES[comparison.name], networks(), comparison.name != STEP


def networks() -> tuple[str, ...]:
    """Return the titles of all kinds of network."""
    return tuple(_titles().values())


def rows(comparison: CollectiveComparison) -> pd.DataFrame:
    """Return the columns of COLUMNS: a row a value of a curve, and two a published point, its label beside the first."""
    titles = _titles()
    found: list[dict[str, object]] = [
        {"network": titles[curve.network], "gpus": gpus, "what": CURVE, "amount": amount}
        for curve in comparison.curves
        for gpus, amount in zip(curve.gpus, curve.values, strict=True)
    ]
    for point in comparison.points:
        of = {"network": titles[point.network], "gpus": point.gpus, "miss": 100 * point.miss, "source": point.source}
        found.append({**of, "what": PUBLISHED, "amount": point.published, "label": _signed(point.miss)})
        found.append({**of, "what": OURS, "amount": point.ours})
    frame = pd.DataFrame(found, columns=["network", "gpus", "what", "amount", "miss", "source", "label"])
    return frame.assign(comparison=HEADS[comparison.name], unit=comparison.unit)


def finding(comparison: CollectiveComparison) -> str:
    """Return how far ours is from each published point, in a line."""
    if comparison.name == STEP:
        published, ours = gains(comparison.points)
        low, high = (exact(point.gpus) for point in (comparison.points[0], comparison.points[-1]))
        return f"DCNv2's throughput from {low} to {high} GPUs: {_signed(published)} published, {_signed(ours)} ours"
    first, *more = comparison.points
    rest = "".join(f", {_side(point)} on {exact(point.gpus)}" for point in more)
    return f"Our {comparison.name} is {_side(first)} {STANDARDS[comparison.name]} on {count(first.gpus, 'GPU')}{rest}"


def gains(points: Sequence[CollectivePoint]) -> tuple[float, float]:
    """Return by which share the published and our value grow from the first point to the last."""
    first, last = points[0], points[-1]
    return last.published / first.published - 1, last.ours / first.ours - 1


def misses(found: Sequence[CollectiveComparison]) -> tuple[str, ...]:
    """Return a sentence a published point: both numbers, how far ours is off, the set-up and the source."""
    return tuple(_miss(comparison, point) for comparison in found for point in comparison.points)


@cache
def spec(title: str, shown: tuple[str, ...], zero: bool) -> Spec:
    """Ours over GPUs, a line a kind of network, with published points filled and ours in their set-ups hollow.

    The axis begins at 0, or near the least number; how far ours is off stands beside a published point, or under it there.
    """
    x = quantity("gpus", scale={**LOG, "base": 2, "padding": 14}, axis=axis(GPUS, values=TICKS, tickCount=10, grid=False))
    y = quantity("amount", axis=axis(title), scale={"zero": zero})
    colour = nominal("network", scale=_colours(shown), legend=below(max(shown, key=len), title=None, symbolType="stroke"))
    tip = hover(
        ("network", "Network"),
        ("gpus", "GPUs", ",d"),
        ("what", "What"),
        ("amount", title, ",.3~r"),
        ("miss", "Ours against the published [%]", "+.1f"),
        ("source", "Source"),
    )
    both = {"x": x, "y": y, "tooltip": tip}
    line = layer({"type": "line", "aria": False}, _only(CURVE), **both, color=colour)
    hollow = {"type": "point", "aria": False, "filled": False, "size": 90, "strokeWidth": 2, "opacity": 1}
    ours = layer(hollow, _only(OURS), **both, color=colour)
    filled = layer({**hollow, "filled": True, "color": INK}, _only(PUBLISHED), **both)
    place: Spec = {"align": "left", "dx": 8, "dy": -8} if zero else {"align": "center", "dy": 22}
    text = {"type": "text", "fontWeight": 600, "color": INK, **place}
    label = layer(text, _only(PUBLISHED), **both, text={"field": "label"})
    return {"height": 240, "layer": [line, ours, filled, label]}


def _titles() -> dict[str, str]:
    return {name: title for kind, name, title, _ in summaries() if kind == "network"}


def _colours(shown: tuple[str, ...]) -> Spec:
    return scale_of({name: palette.OTHERS[number % len(palette.OTHERS)] for number, name in enumerate(shown)})


def _only(what: str) -> Spec:
    return {"filter": f"datum.what === '{what}'"}


def _miss(comparison: CollectiveComparison, point: CollectivePoint) -> str:
    titles, others = _titles(), comparison.others(point)
    more = "".join(f"; {_signed(miss)} over {titles[name]}" for name, miss in others.items())
    told = "needed" if comparison.name == ALL_TO_ALL else "published"
    off = f"{_signed(point.miss)}{', fitted' * point.fitted}{more}"
    return (
        f"{HEADS[comparison.name]}, {count(point.gpus, 'GPU')}: {exact(point.published)} {comparison.unit} {told}, "
        f"{figure(point.ours)} {comparison.unit} ours ({off}). {point.source}."
    )


def _side(point: CollectivePoint) -> str:
    return f"{percent(abs(point.miss))} {'above' if point.miss > 0 else 'below'}"


def _signed(share: float) -> str:
    return f"{signed(100 * share)} %"
