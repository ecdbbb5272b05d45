"""Parallel coordinates of any number of points in a few thousand marks: ribbons where points run, lines of the best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil

import numpy as np
import pandas as pd

from engine.analysis.objective import Constraint
from engine.scenario.scenario import KNOBS
from pages.graphics.charts import GAP, INK, Spec, axis, quantity, ruled, where
from pages.graphics.letters import length
from pages.graphics.log_axes import wants_log
from pages.search_page.points.sweep_charts import BRUSH
from pages.search_page.points.sweep_table import POINT, Words, ranked
from pages.ui import numbers

BINS, FEW = 16, 60
MOST_LINES = 40
MOST_LABELS = 12
ROOM = 100  # pixels that a title wants
LETTER, SMALLEST, HEADER, LONG = 11, 8, 12, 12  # pixels of letters of labels and titles; letters of a label of one line


@dataclass(frozen=True)
class Scale:
    """One vertical scale: where each row crosses it, from 0 to 1, and how to read a height back."""

    name: str
    heights: np.ndarray
    words: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False

    def value(self, height: float) -> float:
        """Return the number at a height."""
        share = min(max(height, 0.0), 1.0)
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + (self.high - self.low) * share)

    def labels(self) -> list[tuple[float, str]]:
        """Return what is written beside the scale: its words, or its ends and middle."""
        if self.words:
            every = -(-len(self.words) // MOST_LABELS)
            return [(at / max(len(self.words) - 1, 1), word) for at, word in enumerate(self.words)][::every]
        return [
            (height, numbers.readable(self.value(height))) for height in ((0.0, 0.5, 1.0) if self.high > self.low else (0.0,))
        ]

    def limit(self, low: float, high: float) -> tuple[Constraint | Words, ...]:
        """Return the filters that keep what crosses the scale between two heights."""
        if self.words:
            last = max(len(self.words) - 1, 1)
            return (Words(self.name, tuple(word for at, word in enumerate(self.words) if low <= at / last <= high)),)
        bounds = (Constraint(self.name, ">=", self.value(low)), Constraint(self.name, "<=", self.value(high)))
        return tuple(
            Constraint(one.name, one.sign, float(f"{one.bound:.4g}"))
            for one, inside in zip(bounds, (low > 0, high < 1), strict=True)
            if inside
        )


def scale(frame: pd.DataFrame, name: str) -> Scale:
    """Return the scale of a column; needs at least one row, and no row without the number."""
    held = frame[name]
    if not pd.api.types.is_numeric_dtype(held):
        words = tuple(str(word) for word in held.cat.categories if word in set(held))
        return Scale(name, np.array([words.index(str(one)) for one in held]) / max(len(words) - 1, 1), words)
    log = KNOBS[name].log and held.min() > 0 if name in KNOBS else wants_log(held)
    scaled = np.log(held.to_numpy()) if log else held.to_numpy()
    low, high = scaled.min(), scaled.max()
    return Scale(name, (scaled - low) / ((high - low) or 1.0), low=float(held.min()), high=float(held.max()), log=bool(log))


def marks(frame: pd.DataFrame, scales: Sequence[Scale], metric: str) -> pd.DataFrame:
    """Return ribbons between neighbouring scales, a line for each of the best rows, and the labels of the scales."""
    rows = [row for at, (left, right) in enumerate(pairwise(scales)) for row in _ribbons(at, left, right)]
    place = {point: at for at, point in enumerate(frame[POINT])}
    for rank, (point, found) in enumerate(ranked(frame, metric)[[POINT, metric]].head(MOST_LINES).itertuples(index=False), 1):
        for at, one in enumerate(scales):
            height = float(one.heights[place[point]])
            rows.append({"kind": "line", "at": at, "y": height, "point": point, "rank": rank, "metric": found})
    rows += [
        {"kind": "label", "at": at, "y": height, "label": (lines := two_lines(label)), "long": _long(lines)}
        for at, one in enumerate(scales)
        for height, label in one.labels()
    ]
    columns = ("kind", "at", "to", "y", "y2", "share", "rank", "metric", "label", "long", "point")
    return pd.DataFrame(rows, columns=columns)


def two_lines(label: str) -> str:
    """Return a label, a long one in two lines, broken near its middle where words meet."""
    breaks = [at + 1 for at, letter in enumerate(label[:-1]) if letter in " -"]
    if len(label) <= LONG or not breaks:
        return label
    at = min(breaks, key=lambda place: abs(place - len(label) / 2))
    return f"{label[:at].rstrip()}\n{label[at:]}"


def _long(lines: str) -> float:
    """Return the length of the longest line in the unit of its letters' size."""
    return max(length(line, 1, bold=True) for line in lines.split("\n"))


def first_length(rows: pd.DataFrame) -> float:
    """Return the length of the longest label of the first scale, in the unit of its letters' size."""
    return float(rows.loc[(rows["kind"] == "label") & (rows["at"] == 0), "long"].max())


def _ribbons(at: int, left: Scale, right: Scale) -> list[Mapping[str, object]]:
    """One row for each pair of places that points run between, wider the more points do."""
    pairs = [np.round(one.heights * BINS).astype(int) if not one.words else one.heights for one in (left, right)]
    found = pd.DataFrame({"y": pairs[0] / (1 if left.words else BINS), "y2": pairs[1] / (1 if right.words else BINS)})
    counted = found.value_counts(sort=False).reset_index(name="count")
    most = counted["count"].max() * max(len(counted) / FEW, 1)  # many ribbons are each drawn finer
    return [
        {"kind": "ribbon", "at": at, "to": at + 1, "y": y, "y2": y2, "share": float(np.sqrt(count / most))}
        for y, y2, count in counted.itertuples(index=False)
    ]


def brushed(scales: Sequence[Scale], box: Mapping[str, Sequence[float]]) -> tuple[Constraint | Words, ...]:
    """Return the filters that a box on the chart means: between its heights on each scale in it, or on the nearest one."""
    (left, right), (low, high) = sorted(box["at"]), sorted(box["y"])
    inside = [at for at in range(len(scales)) if left <= at <= right]
    nearest = min(range(len(scales)), key=lambda at: abs(at - (left + right) / 2))
    return tuple(one for at in inside or [nearest] for one in scales[at].limit(low, high))


@lru_cache(maxsize=64)
def spec(titles: tuple[str, ...], metric: str, first: float = 0.0) -> Spec:
    """A vertical scale for each title: grey ribbons say how many points run from where to where, lines are the best.

    Needs the columns of `marks`. Dragging along a scale keeps what crosses it there. `first` is the length of the first scale's
    longest label, in the unit of its letters' size.
    """
    slanted = f"width < {ROOM * len(titles)}"  # on a narrow screen, where titles side by side would hide each other
    turned = {"labelAngle": {"expr": f"{slanted} ? -40 : 0"}, "labelAlign": {"expr": f"{slanted} ? 'left' : 'center'"}}
    words = {"labelExpr": f"{[*titles]}[datum.value]", "labelLimit": 0, "labelOverlap": False}
    top = axis("", values=[*range(len(titles))], orient="top", **words, **turned)
    halves = [length(title, HEADER) / 2 for title in (titles[0], titles[-1])]
    left = ceil(max(first * LETTER, halves[0])) + 2 * GAP
    right = {"expr": f"width - ({slanted} ? {ceil(halves[1] * 1.6)} : {ceil(halves[1])}) - {GAP}"}  # of a slanted one its shadow
    across = {"domain": [0, max(len(titles) - 1, 1)], "range": [left, right]}
    x = quantity("at", axis={**top, "domain": False, "ticks": False}, scale=across)
    between = f"(range('x')[1] - range('x')[0]) / {max(len(titles) - 1, 1)} - {2 * GAP}"
    y = quantity("y", axis=None, scale={"domain": [-0.04, 1.04]})
    halo = {"stroke": {"expr": "background || 'white'"}, "strokeWidth": 5, "strokeJoin": "round"}
    labels = [_label(between, more) for more in (halo, {})]
    return {"height": 420, "encoding": {"x": x, "y": y}, "layer": [{**_ribbon(), "params": [BRUSH]}, _line(metric), *labels]}


def _label(between: str, halo: Spec) -> Spec:
    """A scale's words; drawn first with a halo in the colour of the page, so that no ribbon hides them.

    They shrink to the room `between` two scales, and go where they could not be read.
    """
    size = f"(datum.at === 0 ? {LETTER} : min({LETTER}, ({between}) / datum.long))"
    room = {"fontSize": {"expr": size}, "opacity": {"expr": f"{size} < {SMALLEST} ? 0 : 1"}, "lineBreak": "\n"}
    text: Spec = {"type": "text", "align": "right", "dx": -6, "fontWeight": 600, "color": INK, "baseline": "middle", **room}
    return {**_of("label"), "mark": {**text, **halo}, "encoding": {"text": {"field": "label"}}}


def _of(kind: str) -> Spec:
    return where(f"datum.kind == '{kind}'")


def _ribbon() -> Spec:
    width, depth = (quantity("share", scale={"domain": [0, 1], "range": ends}, legend=None) for ends in ([0.6, 9], [0.1, 0.45]))
    return {
        **_of("ribbon"),
        "mark": ruled(color=INK),
        "encoding": {"x2": {"field": "to"}, "y2": {"field": "y2"}, "strokeWidth": width, "opacity": depth},
    }


def _line(metric: str) -> Spec:
    tip = [{"field": "rank", "title": "Rank"}, {"field": "metric", "title": metric, "format": ",.5~r"}]
    return {
        **_of("line"),
        "mark": {"type": "line", "strokeWidth": 1.8, "opacity": 0.85},
        "encoding": {
            "detail": {"field": "point"},
            "order": quantity("at"),
            "color": quantity("rank", scale={"range": ["#b8481a", "#e8b04a"]}, legend=None),
            "tooltip": tip,
        },
    }
