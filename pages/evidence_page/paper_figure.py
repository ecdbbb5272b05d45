"""A paper's figure for print: published beside ours, with title, caption, source and model version inside the picture.

Sizes are in points; a figure is as wide as one column or two of a paper, and no letter is smaller than 8 points.
"""

from collections.abc import Mapping, Sequence
from math import log
from textwrap import wrap
from typing import Any

from engine import version
from engine.core.figures import count, exact, figure
from pages.evidence_page.paper_rows import FigureRow
from pages.graphics import pictures
from pages.graphics.charts import Spec, layer, nominal, quantity, scale_of

COLUMN, PAGE = 3.3, 7.0  # inches: one column of a paper, and two
PUBLISHED, OURS = "Published", "Emberpool"
COLOURS = {PUBLISHED: "#b4b9c2", OURS: "#d9622b"}
WITHIN, OUTSIDE, BAND = "Emberpool, met", "Emberpool, not met", "#dfe3e8"
MET = {WITHIN: "#2a7f62", OUTSIDE: "#c23b3b"}
TEXT, SMALL, EDGE = pictures.INK, pictures.LETTERS, pictures.EDGE
LETTER, BOLD_LETTER = 3.95, 5.3  # points of a letter in the mean, of small text and of the title
STEP, LINE = 25, 10  # points of a row with two bars, and of a line of text
BAR_ROWS, BAR_PANELS, BAR_SPREAD = 16, 2, 20.0  # the most that bars are drawn for; beyond them ratios are
NUMBER = 26  # points that a bar's number takes
ROUND = [float(f"{part}e{power}") for power in range(-4, 9) for part in (1, 2, 5)]
FINE = [1.5, 0.7, 1.2, 0.8, 1.1, 0.9]
LEAST, MILLION, GAP, TICK_WIDTH = 1e-3, 1e6, 3, 22  # of a ratio; of numbers; points between rows and of a tick's label
SOURCE = f"Emberpool, model {version.MODEL}"


def title(name: str, found: Sequence[FigureRow]) -> str:
    """Return the finding of a paper's figure: its means beside ours, or how many of its numbers are met."""
    means = [max(rows, key=lambda row: row.ends or (0, 0)) for rows in _by_panel(found) if any(row.indented for row in rows)]
    if means:
        said = (
            f"{mean.subject.lower()} {_with_unit(figure(mean.ours), mean)}, {_with_unit(_ends(mean), mean)} published"
            for mean in means
        )
        return f"{name}: {'; '.join(said)}"
    met = sum(bool(row.met) for row in found)
    return f"{name}: {count(met)} of {count(len(found), 'published number')} met within tolerance"


def caption(paper: str, found: Sequence[FigureRow], calibrated: int) -> str:
    """Return what the figure shows, what is derived or ours alone, and whose numbers it has."""
    held = [row for row in found if row.met is not None]
    drawn = (
        "Bars: the published number, with the tolerance that ours is held to as a line, and Emberpool's."
        if as_bars(found)
        else "Points: Emberpool's number over the published one, on the band of its tolerance. Numbers: published → Emberpool."
    )
    sentences = [
        drawn,
        f"{sum(bool(row.met) for row in held)} of {count(len(held), 'number')} within tolerance.",
        "A published number of a single model is the ratio of two step times of the paper."
        if any(row.derived for row in found)
        else "",
        "Ours alone: no published number is used." if any(row.ends is None for row in found) else "",
        f"Constants were fitted to {count(calibrated, 'other number' if any(row.indented for row in found) else 'number')} "
        "of this source."
        if calibrated
        else "",
        f"Published: {paper.rstrip('.')}.",
    ]
    return " ".join(filter(None, sentences))


def _by_panel(found: Sequence[FigureRow]) -> list[list[FigureRow]]:
    return [[row for row in found if row.panel == name] for name in dict.fromkeys(row.panel for row in found)]


def _ends(row: FigureRow) -> str:
    return " to ".join(exact(end) for end in dict.fromkeys(row.ends or ()))


def _with_unit(number: str, row: FigureRow) -> str:
    return f"{number} {row.panel.partition('[')[2].rstrip(']')}".rstrip()


def svg(found: Sequence[FigureRow], heading: str, below: str, inches: float) -> str:
    """Return the figure as SVG of a printed width; its panels are drawn twice, as their labels take what they need."""
    width = inches * pictures.POINTS
    abreast = panels_abreast(found, inches)
    first = width / (3 * abreast)
    plot = first + (width - pictures.bare_width(spec(found, inches, first))) / abreast
    words, small = (
        wrap(heading, int(width / BOLD_LETTER)),
        wrap(f"{below} {SOURCE}.", int(width / LETTER), break_on_hyphens=False),
    )
    legend = COLOURS if as_bars(found) else {**MET, "Tolerance": BAND}
    return pictures.printed(spec(found, inches, plot), width, words, small, legend)


def panels_abreast(found: Sequence[FigureRow], inches: float) -> int:
    """Return how many panels stand side by side: all of them over two columns of a paper, one in a single column."""
    return len({row.panel for row in found}) if as_bars(found) and inches > COLUMN else 1


def spec(found: Sequence[FigureRow], inches: float, plot: float) -> Spec:
    """Return the panels as a Vega-Lite specification with their data; `plot` is the width of one without labels, in points."""
    wide = inches > COLUMN
    panels = list(dict.fromkeys(row.panel for row in found))
    if as_bars(found):
        letters = 24 if not wide else 30 if len(panels) > 1 else 60
        drawn = [_bars([row for row in found if row.panel == name], name, plot, letters) for name in panels]
    else:
        drawn = [_ratios(found, plot, wide)]
    return {
        "hconcat" if wide else "vconcat": drawn,
        "spacing": 12,
        "padding": {"left": EDGE, "right": EDGE, "top": 0, "bottom": 0},
        "config": _config(),
    }


def as_bars(found: Sequence[FigureRow]) -> bool:
    """Whether few numbers of few units and like size are drawn as bars; all others are drawn as ratios."""
    panels = {row.panel for row in found}
    sizes = {name: [number for row in found if row.panel == name for number in (row.ours, *(row.ends or ()))] for name in panels}
    alike = all(min(numbers) > 0 and max(numbers) <= BAR_SPREAD * min(numbers) for numbers in sizes.values())
    return len(found) <= BAR_ROWS and len(panels) <= BAR_PANELS and alike


def _bars(rows: Sequence[FigureRow], panel: str, plot: float, letters: int) -> Spec:
    """Return one panel: two bars a row, the published one with its tolerance, each with its number at its end."""
    names = [wrap(row.label, letters) for row in rows]
    values = [bar for name, row in zip(names, rows, strict=True) for bar in _bars_of(name, row)]
    most = max(value["end"] for value in values)
    places = {"y": _rows(names), "yOffset": nominal("whose", sort=list(COLOURS))}
    ticks = _even_ticks(most, plot)
    scale = {"domain": [0, most * plot / (plot - NUMBER)], "nice": False}
    x = quantity("value", axis={"title": panel, "values": ticks}, scale=scale)
    end = quantity("end", axis=x["axis"])
    bar = layer(
        {"type": "bar", "height": {"band": 0.92}}, {"filter": "isValid(datum.value)"}, x=x, color=_colour("whose", COLOURS)
    )
    tolerance = layer({"type": "rule", "color": TEXT}, {"filter": "isValid(datum.low)"}, x=quantity("low"), x2={"field": "high"})
    number = layer({"type": "text", "align": "left", "dx": 3}, x=end, text={"field": "words"})
    for one in (bar, tolerance, number):
        one["encoding"] |= places
    return {
        "data": {"values": values},
        "width": plot,
        "height": {"step": max(STEP, LINE * max(map(len, names)) + 4), "for": "position"},
        "layer": [bar, tolerance, number, *_labels(names, _rows(names))],
    }


def _bars_of(name: list[str], row: FigureRow) -> list[dict[str, Any]]:
    """Return the two bars of a row; without a published number the first is the words that ours stands alone."""
    own = {"row": _key(name), "label": name, "lines": len(name)}
    ours = {**own, "whose": OURS, "value": row.ours, "end": row.ours, "words": figure(row.ours)}
    if row.ends is None:
        return [{**own, "whose": PUBLISHED, "end": 0, "words": "ours alone"}, ours]
    low, high = row.ends[0] - row.allowed, row.ends[1] + row.allowed
    words = figure(row.ends[0]) if row.derived else _ends(row)
    published: dict[str, Any] = {**own, "whose": PUBLISHED, "value": row.ends[1], "end": max(high, row.ends[1]), "words": words}
    if high > low:
        published |= {"low": low, "high": high}
    return [published, ours]


def _ratios(rows: Sequence[FigureRow], plot: float, wide: bool) -> Spec:
    """Return one panel of points: ours over published, in the band of the tolerance, with both numbers beside."""
    numbers = [_numbers(row) for row in rows]
    names = [wrap(row.label, 62) if wide else [*wrap(row.label, 30), said] for row, said in zip(rows, numbers, strict=True)]
    values = _ratio_values(rows, names, numbers)
    ends = [value[key] for value in values for key in ("low", "high", "ratio")]
    domain = [min(ends) * 0.95, max(ends) * 1.05]
    axis = {"title": "Emberpool over published [×]", "values": _ratio_ticks(domain[0], domain[1], plot), "format": "~g"}
    x = {"scale": {"type": "log", "domain": domain, "nice": False}, "axis": axis}
    y = quantity("middle", scale=None, axis=None)
    edges = {"y": quantity("top", scale=None, axis=None), "y2": {"field": "bottom"}}
    band = layer({"type": "rect", "color": BAND}, x=quantity("low", **x), x2={"field": "high"}, **edges)
    even = layer({"type": "rule", "color": TEXT}, x={"datum": 1, "type": "quantitative"})
    ratio = layer(
        {"type": "point", "filled": True, "size": 34, "opacity": 1},
        x=quantity("ratio", **x),
        y=y,
        color=_colour("verdict", MET),
        shape=nominal("verdict", scale={"domain": list(MET), "range": ["circle", "diamond"]}, legend=None),
    )
    said = layer({"type": "text", "align": "left", "dx": 6}, x={"value": "width"}, y=y, text={"field": "words"})
    return {
        "data": {"values": values},
        "width": plot,
        "height": values[-1]["bottom"] + GAP,
        "layer": [band, even, ratio, *([said] if wide else []), *_labels(names, y)],
    }


def _ratio_values(rows: Sequence[FigureRow], names: Sequence[list[str]], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """Return a value for each row: its place from the top in points, as high as its label, and its ratios."""
    found: list[dict[str, Any]] = []
    top = 0.0
    for row, name, words in zip(rows, names, numbers, strict=True):
        low, high = row.ends or (row.ours, row.ours)
        held = min(max(row.ours, low), high)
        bottom = top + LINE * len(name)
        found.append(
            {
                "label": name,
                "lines": len(name),
                "top": top,
                "bottom": bottom,
                "middle": (top + bottom) / 2,
                "ratio": row.ours / held,
                "low": max(low - row.allowed, LEAST * held) / held,
                "high": (high + row.allowed) / held,
                "verdict": OUTSIDE if row.met is False else WITHIN,
                "words": words,
            }
        )
        top = bottom + GAP
    return found


def _numbers(row: FigureRow) -> str:
    """Return the published number and ours, for beside a ratio: "94.4 → 93.4 %"."""
    unit = row.panel.partition("[")[2].rstrip("]").replace("×", "").strip()
    return f"{_ends(row)} → {_plain(row.ours)} {unit}".rstrip()


def _plain(number: float) -> str:
    """Return a number in three digits without a unit, as long as the published one beside it may be."""
    return exact(float(f"{number:.3g}")) if abs(number) >= MILLION else figure(number)


def _rows(names: Sequence[Sequence[str]]) -> Spec:
    """Return the channel of rows, in order; their labels are drawn as text, so that lines of one stand around its middle."""
    return nominal("row", sort=[_key(name) for name in names], axis=None)


def _labels(names: Sequence[Sequence[str]], y: Spec) -> list[Spec]:
    """Return a layer of labels for each number of lines."""
    return [
        layer(
            {"type": "text", "align": "right", "dx": -5, "dy": -LINE * (lines - 1) / 2, "lineHeight": LINE},
            {"filter": f"datum.lines === {lines}"},
            {"aggregate": [], "groupby": [y["field"], "label"]},
            x={"value": 0},
            y=y,
            text={"field": "label"},
        )
        for lines in sorted(set(map(len, names)))
    ]


def _key(lines: Sequence[str]) -> str:
    return " ".join(lines)


def _colour(field: str, colours: Mapping[str, str]) -> Spec:
    return nominal(field, scale=scale_of(colours), legend=None)


def _even_ticks(most: float, plot: float) -> list[float]:
    """Return ticks from 0 that reach no further than the longest bar, as many as have room."""
    wanted = most / max(plot / TICK_WIDTH, 2)
    step = next(one for one in ROUND if one >= wanted)
    return [number * step for number in range(int(most / step) + 1)]


def _ratio_ticks(low: float, high: float, plot: float) -> list[float]:
    """Return ticks of 1, 2 and 5 x 10^n, and finer ones between, none nearer to another than a label needs."""
    kept: list[float] = []
    for one in (tick for tick in (1.0, *ROUND, *FINE) if low <= tick <= high):
        if all(abs(log(one / other)) * plot >= TICK_WIDTH * log(high / low) for other in kept):
            kept.append(one)
    return sorted(kept)


def _config() -> Spec:
    words = {"labelFontSize": SMALL, "titleFontSize": SMALL, "labelColor": TEXT, "titleColor": TEXT, "titleFontWeight": "normal"}
    return {
        "axis": {**words, "domainColor": TEXT, "tickColor": TEXT, "gridColor": "#e8eaee", "tickSize": 3},
        "text": {"fontSize": SMALL, "color": TEXT},
        "view": {"stroke": None},
    }
