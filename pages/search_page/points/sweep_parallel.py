"""Parallel coordinates of any number of points in a few thousand marks.

Grey ribbons are the paths of all points, lines the paths of the best.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil

import numpy as np
import pandas as pd

from engine.analysis.objective import Constraint
from engine.scenario.scenario import KNOBS
from pages.graphics.charts import GAP, INK, Spec, axis, only_rows, quantity, rule_mark
from pages.graphics.letters import length
from pages.graphics.log_axes import wants_log
from pages.search_page.points.sweep_charts import BRUSH
from pages.search_page.points.sweep_table import POINT, FilterWords, rank_rows
from pages.ui import numbers

BINS, FEW_RIBBONS = 16, 60
MOST_LINES = 40
MOST_LABELS = 12
TITLE_PIXELS = 100  # pixels that a title needs
LETTER, SMALLEST, HEADER, MAX_LETTERS = 11, 8, 12, 12  # pixels of label and title letters; letters of a one-line label


@dataclass(frozen=True)
class Scale:
    """One vertical scale of parallel coordinates.

    name: the column.
    heights: each row's height, 0 to 1.
    words: the column's words from bottom to top, empty for numbers.
    low: the number at height 0.
    high: the number at height 1.
    log: True if the scale is logarithmic.
    """

    name: str
    heights: np.ndarray
    words: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False

    def number_at(self, height: float) -> float:
        """Return the number of the scale at a height from 0 to 1."""
        share = min(max(height, 0.0), 1.0)
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)

    def labels(self) -> list[tuple[float, str]]:
        """Return the scale's labels with their heights: its words, or its ends and its middle."""
        if self.words:
            label_step = -(-len(self.words) // MOST_LABELS)
            return [(index / max(len(self.words) - 1, 1), word) for index, word in enumerate(self.words)][::label_step]
        return [
            (height, numbers.result_text(self.number_at(height)))
            for height in ((0.0, 0.5, 1.0) if self.high > self.low else (0.0,))
        ]

    def filters_between(self, low: float, high: float) -> tuple[Constraint | FilterWords, ...]:
        """Return the filters that keep the rows that cross the scale between two heights."""
        if self.words:
            last_word = max(len(self.words) - 1, 1)
            return (
                FilterWords(self.name, tuple(word for index, word in enumerate(self.words) if low <= index / last_word <= high)),
            )
        bounds = (Constraint(self.name, ">=", self.number_at(low)), Constraint(self.name, "<=", self.number_at(high)))
        return tuple(
            Constraint(bound.name, bound.sign, float(f"{bound.bound:.4g}"))
            for bound, is_inside in zip(bounds, (low > 0, high < 1), strict=True)
            if is_inside
        )


def scale(frame: pd.DataFrame, name: str) -> Scale:
    """Return the scale of a column, which needs at least one row and no missing number."""
    column = frame[name]
    if not pd.api.types.is_numeric_dtype(column):
        words = tuple(str(word) for word in column.cat.categories if word in set(column))
        return Scale(name, np.array([words.index(str(word)) for word in column]) / max(len(words) - 1, 1), words)
    log = KNOBS[name].log and column.min() > 0 if name in KNOBS else wants_log(column)
    scaled = np.log(column.to_numpy()) if log else column.to_numpy()
    low, high = scaled.min(), scaled.max()
    return Scale(name, (scaled - low) / ((high - low) or 1.0), low=float(column.min()), high=float(column.max()), log=bool(log))


def marks(frame: pd.DataFrame, scales: Sequence[Scale], metric: str) -> pd.DataFrame:
    """Return the rows of the chart's marks.

    These are ribbons between neighbouring scales, lines of the best rows, and labels of the scales.
    """
    rows = [
        row
        for scale_number, (left_scale, right_scale) in enumerate(pairwise(scales))
        for row in _ribbons(scale_number, left_scale, right_scale)
    ]
    place = {point: row_number for row_number, point in enumerate(frame[POINT])}
    for rank, (point, metric_value) in enumerate(
        rank_rows(frame, metric)[[POINT, metric]].head(MOST_LINES).itertuples(index=False), 1
    ):
        for scale_number, axis_scale in enumerate(scales):
            height = float(axis_scale.heights[place[point]])
            rows.append({"kind": "line", "at": scale_number, "y": height, "point": point, "rank": rank, "metric": metric_value})
    rows += [
        {"kind": "label", "at": scale_number, "y": height, "label": (lines := two_lines(label)), "long": _longest_line(lines)}
        for scale_number, axis_scale in enumerate(scales)
        for height, label in axis_scale.labels()
    ]
    columns = ("kind", "at", "to", "y", "y2", "share", "rank", "metric", "label", "long", "point")
    return pd.DataFrame(rows, columns=columns)


def two_lines(label: str) -> str:
    """Return a label; a long label is broken into two lines between words."""
    breaks = [position + 1 for position, letter in enumerate(label[:-1]) if letter in " -"]
    if len(label) <= MAX_LETTERS or not breaks:
        return label
    line_break = min(breaks, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:line_break].rstrip()}\n{label[line_break:]}"


def _longest_line(lines: str) -> float:
    """Return the length of the longest line, in units of its letters' size."""
    return max(length(line, 1, bold=True) for line in lines.split("\n"))


def first_length(rows: pd.DataFrame) -> float:
    """Return the length of the first scale's longest label, in units of its letters' size."""
    return float(rows.loc[(rows["kind"] == "label") & (rows["at"] == 0), "long"].max())


def _ribbons(scale_number: int, left_scale: Scale, right_scale: Scale) -> list[Mapping[str, object]]:
    """Return one row for each pair of heights that points connect.

    Ribbons of more points are wider.
    """
    pairs = [
        np.round(axis_scale.heights * BINS).astype(int) if not axis_scale.words else axis_scale.heights
        for axis_scale in (left_scale, right_scale)
    ]
    heights = pd.DataFrame(
        {"y": pairs[0] / (1 if left_scale.words else BINS), "y2": pairs[1] / (1 if right_scale.words else BINS)}
    )
    ribbons = heights.value_counts(sort=False).reset_index(name="count")
    max_count = ribbons["count"].max() * max(len(ribbons) / FEW_RIBBONS, 1)  # each of many ribbons is drawn finer
    return [
        {
            "kind": "ribbon",
            "at": scale_number,
            "to": scale_number + 1,
            "y": y,
            "y2": y2,
            "share": float(np.sqrt(count / max_count)),
        }
        for y, y2, count in ribbons.itertuples(index=False)
    ]


def box_filters(scales: Sequence[Scale], box: Mapping[str, Sequence[float]]) -> tuple[Constraint | FilterWords, ...]:
    """Return the filters for a box that the visitor drags on the chart.

    Each scale inside the box is filtered by the box's heights; a box without a scale filters the nearest scale.
    """
    (left_edge, right_edge), (low, high) = sorted(box["at"]), sorted(box["y"])
    scales_inside = [scale_number for scale_number in range(len(scales)) if left_edge <= scale_number <= right_edge]
    nearest = min(range(len(scales)), key=lambda scale_number: abs(scale_number - (left_edge + right_edge) / 2))
    return tuple(
        limit for scale_number in scales_inside or [nearest] for limit in scales[scale_number].filters_between(low, high)
    )


@lru_cache(maxsize=64)
def spec(titles: tuple[str, ...], metric: str, longest_label: float = 0.0) -> Spec:
    """Return a chart with a vertical scale for each title.

    Grey ribbons are all points, lines the best. The chart needs the columns of `marks`. Dragging along a scale adds a filter.
    longest_label: length of the first scale's longest label, in units of its letters' size.
    """
    slanted = f"width < {TITLE_PIXELS * len(titles)}"  # on a narrow screen, where level titles would overlap
    turned = {"labelAngle": {"expr": f"{slanted} ? -40 : 0"}, "labelAlign": {"expr": f"{slanted} ? 'left' : 'center'"}}
    words = {"labelExpr": f"{[*titles]}[datum.value]", "labelLimit": 0, "labelOverlap": False}
    top = axis("", values=[*range(len(titles))], orient="top", **words, **turned)
    halves = [length(title, HEADER) / 2 for title in (titles[0], titles[-1])]
    left_pixels = ceil(max(longest_label * LETTER, halves[0])) + 2 * GAP
    # A slanted title needs the width of its horizontal projection.
    right_pixels = {"expr": f"width - ({slanted} ? {ceil(halves[1] * 1.6)} : {ceil(halves[1])}) - {GAP}"}
    x_scale = {"domain": [0, max(len(titles) - 1, 1)], "range": [left_pixels, right_pixels]}
    x = quantity("at", axis={**top, "domain": False, "ticks": False}, scale=x_scale)
    label_room = f"(range('x')[1] - range('x')[0]) / {max(len(titles) - 1, 1)} - {2 * GAP}"
    y = quantity("y", axis=None, scale={"domain": [-0.04, 1.04]})
    halo = {"stroke": {"expr": "background || 'white'"}, "strokeWidth": 5, "strokeJoin": "round"}
    labels = [_label(label_room, label_halo) for label_halo in (halo, {})]
    return {"height": 420, "encoding": {"x": x, "y": y}, "layer": [{**_ribbon(), "params": [BRUSH]}, _line(metric), *labels]}


def _label(label_room: str, halo: Spec) -> Spec:
    """Return a layer of the scales' labels.

    A `halo` in the page's colour keeps ribbons off the letters.
    label_room: an expression for the pixels between two scales. Labels shrink to fit, and vanish below SMALLEST pixels.
    """
    size = f"(datum.at === 0 ? {LETTER} : min({LETTER}, ({label_room}) / datum.long))"
    room = {"fontSize": {"expr": size}, "opacity": {"expr": f"{size} < {SMALLEST} ? 0 : 1"}, "lineBreak": "\n"}
    text: Spec = {"type": "text", "align": "right", "dx": -6, "fontWeight": 600, "color": INK, "baseline": "middle", **room}
    return {**_rows_of_kind("label"), "mark": {**text, **halo}, "encoding": {"text": {"field": "label"}}}


def _rows_of_kind(kind: str) -> Spec:
    return only_rows(f"datum.kind == '{kind}'")


def _ribbon() -> Spec:
    width, depth = (quantity("share", scale={"domain": [0, 1], "range": ends}, legend=None) for ends in ([0.6, 9], [0.1, 0.45]))
    return {
        **_rows_of_kind("ribbon"),
        "mark": rule_mark(color=INK),
        "encoding": {"x2": {"field": "to"}, "y2": {"field": "y2"}, "strokeWidth": width, "opacity": depth},
    }


def _line(metric: str) -> Spec:
    tip = [{"field": "rank", "title": "Rank"}, {"field": "metric", "title": metric, "format": ",.5~r"}]
    return {
        **_rows_of_kind("line"),
        "mark": {"type": "line", "strokeWidth": 1.8, "opacity": 0.85},
        "encoding": {
            "detail": {"field": "point"},
            "order": quantity("at"),
            "color": quantity("rank", scale={"range": ["#b8481a", "#e8b04a"]}, legend=None),
            "tooltip": tip,
        },
    }
