"""A paper's figure for print: published and simulated numbers, title, caption and source.

Sizes are in points; a figure is as wide as one or two columns of a paper, and no letter is smaller than 8 points.
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
PUBLISHED, OUR_BAR = "Published", "Emberpool"
COLOURS = {PUBLISHED: "#b4b9c2", OUR_BAR: "#d9622b"}
MET_WITHIN, NOT_MET, BAND = "Emberpool, met", "Emberpool, not met", "#dfe3e8"
MET = {MET_WITHIN: "#2a7f62", NOT_MET: "#c23b3b"}
TEXT, SMALL, EDGE = pictures.INK, pictures.LETTERS, pictures.EDGE
LETTER, BOLD_LETTER = 3.95, 5.3  # points of a letter in the mean, of small text and of the title
STEP, LINE = 25, 10  # points of a row with two bars, and of a line of text
BAR_ROWS, BAR_PANELS, BAR_SPREAD = 16, 2, 20.0  # limits of bar charts; beyond them ratios are drawn
NUMBER = 26  # points that a bar's number takes
ROUND_NUMBERS = [float(f"{part}e{power}") for power in range(-4, 9) for part in (1, 2, 5)]
FINE_TICKS = [1.5, 0.7, 1.2, 0.8, 1.1, 0.9]
MIN_RATIO, MILLION, GAP, TICK_WIDTH = 1e-3, 1e6, 3, 22  # least ratio; a million; points between rows and of a tick's label
SOURCE = f"Emberpool, model {version.MODEL}"


def title(name: str, figure_rows: Sequence[FigureRow]) -> str:
    """Return the finding of a paper's figure: simulated means, or how many numbers are met."""
    means = [
        max(rows, key=lambda row: row.published_range or (0, 0))
        for rows in _by_panel(figure_rows)
        if any(row.indented for row in rows)
    ]
    if means:
        mean_texts = (
            f"{mean.subject.lower()} {_with_unit(figure(mean.simulated_value), mean)}, "
            f"{_with_unit(_ends_text(mean), mean)} published"
            for mean in means
        )
        return f"{name}: {'; '.join(mean_texts)}"
    met = sum(bool(row.met) for row in figure_rows)
    return f"{name}: {count(met)} of {count(len(figure_rows), 'published number')} met within tolerance"


def caption(paper: str, figure_rows: Sequence[FigureRow], calibrated: int) -> str:
    """Return the caption: the numbers drawn, those derived or only simulated, and the source."""
    judged_rows = [row for row in figure_rows if row.met is not None]
    marks_text = (
        "Bars: the published number and Emberpool's number; line: the tolerance."
        if is_bar_chart(figure_rows)
        else "Points: Emberpool's number divided by the published number; band: the tolerance. Numbers: published → Emberpool."
    )
    sentences = [
        marks_text,
        f"{sum(bool(row.met) for row in judged_rows)} of {count(len(judged_rows), 'number')} within tolerance.",
        "A published number of a single model is the ratio of two step times of the paper."
        if any(row.derived for row in figure_rows)
        else "",
        "None published: the row has Emberpool's number alone."
        if any(row.published_range is None for row in figure_rows)
        else "",
        f"Constants were fitted to {count(calibrated, 'other number' if any(row.indented for row in figure_rows) else 'number')} "
        "of this source."
        if calibrated
        else "",
        f"Published: {paper.rstrip('.')}.",
    ]
    return " ".join(filter(None, sentences))


def _by_panel(figure_rows: Sequence[FigureRow]) -> list[list[FigureRow]]:
    return [[row for row in figure_rows if row.panel == name] for name in dict.fromkeys(row.panel for row in figure_rows)]


def _ends_text(row: FigureRow) -> str:
    return " to ".join(exact(end) for end in dict.fromkeys(row.published_range or ()))


def _with_unit(number: str, row: FigureRow) -> str:
    return f"{number} {row.panel.partition('[')[2].rstrip(']')}".rstrip()


def svg(figure_rows: Sequence[FigureRow], heading: str, caption_text: str, inches: float) -> str:
    """Return the figure as SVG with a printed width [inches].

    Panels are drawn twice: the first drawing shows how much width the labels need.
    """
    width = inches * pictures.POINTS
    abreast = panels_abreast(figure_rows, inches)
    draft_width = width / (3 * abreast)
    plot = draft_width + (width - pictures.bare_width(spec(figure_rows, inches, draft_width))) / abreast
    words, small = (
        wrap(heading, int(width / BOLD_LETTER)),
        wrap(f"{caption_text} {SOURCE}.", int(width / LETTER), break_on_hyphens=False),
    )
    legend = COLOURS if is_bar_chart(figure_rows) else {**MET, "Tolerance": BAND}
    return pictures.print_svg(spec(figure_rows, inches, plot), width, words, small, legend)


def panels_abreast(figure_rows: Sequence[FigureRow], inches: float) -> int:
    """Return the number of panels side by side.

    Panels of a bar chart wider than one column are all side by side; other panels are stacked.
    """
    return len({row.panel for row in figure_rows}) if is_bar_chart(figure_rows) and inches > COLUMN else 1


def spec(figure_rows: Sequence[FigureRow], inches: float, plot: float) -> Spec:
    """Return the panels as a Vega-Lite specification with data.

    `plot` is the width of a panel without labels, in points.
    """
    two_columns = inches > COLUMN
    panels = list(dict.fromkeys(row.panel for row in figure_rows))
    if is_bar_chart(figure_rows):
        letters = 24 if not two_columns else 30 if len(panels) > 1 else 60
        panel_specs = [_bar_panel([row for row in figure_rows if row.panel == name], name, plot, letters) for name in panels]
    else:
        panel_specs = [_ratio_panel(figure_rows, plot, two_columns)]
    return {
        "hconcat" if two_columns else "vconcat": panel_specs,
        "spacing": 12,
        "padding": {"left": EDGE, "right": EDGE, "top": 0, "bottom": 0},
        "config": _config(),
    }


def is_bar_chart(figure_rows: Sequence[FigureRow]) -> bool:
    """Return whether numbers are drawn as bars, not as ratios.

    Bars need few numbers, of few units and of similar size.
    """
    panels = {row.panel for row in figure_rows}
    sizes = {
        name: [
            number for row in figure_rows if row.panel == name for number in (row.simulated_value, *(row.published_range or ()))
        ]
        for name in panels
    }
    like_sizes = all(min(numbers) > 0 and max(numbers) <= BAR_SPREAD * min(numbers) for numbers in sizes.values())
    return len(figure_rows) <= BAR_ROWS and len(panels) <= BAR_PANELS and like_sizes


def _bar_panel(rows: Sequence[FigureRow], panel: str, plot: float, letters: int) -> Spec:
    """Return one panel of bars: published with tolerance and ours, each with its number."""
    names = [wrap(row.label, letters) for row in rows]
    values = [bar for name, row in zip(names, rows, strict=True) for bar in _row_bars(name, row)]
    longest = max(bar["end"] for bar in values)
    places = {"y": _rows(names), "yOffset": nominal("whose", sort=list(COLOURS))}
    ticks = _even_ticks(longest, plot)
    scale = {"domain": [0, longest * plot / (plot - NUMBER)], "nice": False}
    x = quantity("value", axis={"title": panel, "values": ticks}, scale=scale)
    end = quantity("end", axis=x["axis"])
    bar = layer(
        {"type": "bar", "height": {"band": 0.92}}, {"filter": "isValid(datum.value)"}, x=x, color=_colour("whose", COLOURS)
    )
    tolerance = layer({"type": "rule", "color": TEXT}, {"filter": "isValid(datum.low)"}, x=quantity("low"), x2={"field": "high"})
    number = layer({"type": "text", "align": "left", "dx": 3}, x=end, text={"field": "words"})
    for mark in (bar, tolerance, number):
        mark["encoding"] |= places
    return {
        "data": {"values": values},
        "width": plot,
        "height": {"step": max(STEP, LINE * max(map(len, names)) + 4), "for": "position"},
        "layer": [bar, tolerance, number, *_labels(names, _rows(names))],
    }


def _row_bars(name: list[str], row: FigureRow) -> list[dict[str, Any]]:
    """Return the two bars of a row; without published number the first is words."""
    row_cells = {"row": _key(name), "label": name, "lines": len(name)}
    our_bar = {
        **row_cells,
        "whose": OUR_BAR,
        "value": row.simulated_value,
        "end": row.simulated_value,
        "words": figure(row.simulated_value),
    }
    if row.published_range is None:
        return [{**row_cells, "whose": PUBLISHED, "end": 0, "words": "none published"}, our_bar]
    low, high = row.published_range[0] - row.tolerance, row.published_range[1] + row.tolerance
    words = figure(row.published_range[0]) if row.derived else _ends_text(row)
    published_bar: dict[str, Any] = {
        **row_cells,
        "whose": PUBLISHED,
        "value": row.published_range[1],
        "end": max(high, row.published_range[1]),
        "words": words,
    }
    if high > low:
        published_bar |= {"low": low, "high": high}
    return [published_bar, our_bar]


def _ratio_panel(rows: Sequence[FigureRow], plot: float, two_columns: bool) -> Spec:
    """Return one panel of points: ours over published, in the tolerance's band, with both numbers."""
    numbers = [_numbers_text(row) for row in rows]
    names = [
        wrap(row.label, 62) if two_columns else [*wrap(row.label, 30), number_text]
        for row, number_text in zip(rows, numbers, strict=True)
    ]
    values = _ratio_values(rows, names, numbers)
    ends = [point[key] for point in values for key in ("low", "high", "ratio")]
    domain = [min(ends) * 0.95, max(ends) * 1.05]
    axis = {"title": "Emberpool over published [×]", "values": _ratio_ticks(domain[0], domain[1], plot), "format": "~g"}
    x = {"scale": {"type": "log", "domain": domain, "nice": False}, "axis": axis}
    y = quantity("middle", scale=None, axis=None)
    edges = {"y": quantity("top", scale=None, axis=None), "y2": {"field": "bottom"}}
    band = layer({"type": "rect", "color": BAND}, x=quantity("low", **x), x2={"field": "high"}, **edges)
    unity_line = layer({"type": "rule", "color": TEXT}, x={"datum": 1, "type": "quantitative"})
    ratio = layer(
        {"type": "point", "filled": True, "size": 34, "opacity": 1},
        x=quantity("ratio", **x),
        y=y,
        color=_colour("verdict", MET),
        shape=nominal("verdict", scale={"domain": list(MET), "range": ["circle", "diamond"]}, legend=None),
    )
    number_labels = layer({"type": "text", "align": "left", "dx": 6}, x={"value": "width"}, y=y, text={"field": "words"})
    return {
        "data": {"values": values},
        "width": plot,
        "height": values[-1]["bottom"] + GAP,
        "layer": [band, unity_line, ratio, *([number_labels] if two_columns else []), *_labels(names, y)],
    }


def _ratio_values(rows: Sequence[FigureRow], names: Sequence[list[str]], numbers: Sequence[str]) -> list[dict[str, Any]]:
    """Return the values of each row: its place from the top [points] and its ratios.

    A row is as high as its label.
    """
    points: list[dict[str, Any]] = []
    top = 0.0
    for row, name, words in zip(rows, names, numbers, strict=True):
        low, high = row.published_range or (row.simulated_value, row.simulated_value)
        nearest_published = min(max(row.simulated_value, low), high)
        bottom = top + LINE * len(name)
        points.append(
            {
                "label": name,
                "lines": len(name),
                "top": top,
                "bottom": bottom,
                "middle": (top + bottom) / 2,
                "ratio": row.simulated_value / nearest_published,
                "low": max(low - row.tolerance, MIN_RATIO * nearest_published) / nearest_published,
                "high": (high + row.tolerance) / nearest_published,
                "verdict": NOT_MET if row.met is False else MET_WITHIN,
                "words": words,
            }
        )
        top = bottom + GAP
    return points


def _numbers_text(row: FigureRow) -> str:
    """Return the published number and ours, for beside a ratio: "94.4 → 93.4 %"."""
    unit = row.panel.partition("[")[2].rstrip("]").replace("×", "").strip()
    return f"{_ends_text(row)} → {_number_text(row.simulated_value)} {unit}".rstrip()


def _number_text(number: float) -> str:
    """Return a number in three digits, without a unit or its prefix."""
    return exact(float(f"{number:.3g}")) if abs(number) >= MILLION else figure(number)


def _rows(names: Sequence[Sequence[str]]) -> Spec:
    """Return the channel of rows, in order; their labels are text layers of several lines."""
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


def _even_ticks(longest: float, plot: float) -> list[float]:
    """Return ticks from 0 to at most the longest bar, as many as have room."""
    min_step = longest / max(plot / TICK_WIDTH, 2)
    step = next(round_number for round_number in ROUND_NUMBERS if round_number >= min_step)
    return [number * step for number in range(int(longest / step) + 1)]


def _ratio_ticks(low: float, high: float, plot: float) -> list[float]:
    """Return ticks of 1, 2 and 5 x 10^n and finer, with room for labels."""
    ticks: list[float] = []
    for tick in (tick for tick in (1.0, *ROUND_NUMBERS, *FINE_TICKS) if low <= tick <= high):
        if all(abs(log(tick / other_tick)) * plot >= TICK_WIDTH * log(high / low) for other_tick in ticks):
            ticks.append(tick)
    return sorted(ticks)


def _config() -> Spec:
    words = {"labelFontSize": SMALL, "titleFontSize": SMALL, "labelColor": TEXT, "titleColor": TEXT, "titleFontWeight": "normal"}
    return {
        "axis": {**words, "domainColor": TEXT, "tickColor": TEXT, "gridColor": "#e8eaee", "tickSize": 3},
        "text": {"fontSize": SMALL, "color": TEXT},
        "view": {"stroke": None},
    }
