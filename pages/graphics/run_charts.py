"""Charts of a finished run besides its curves: its ledger with a broken axis, and its power over time."""

from functools import lru_cache

import pandas as pd

from engine.core.figures import figure
from pages.graphics.charts import (
    AGAIN,
    EVENT_LETTERS,
    EVENT_ROOM,
    FIT_WIDTH,
    INK,
    Break,
    Spec,
    again_shade,
    axis,
    event_layers,
    layer,
    nominal,
    quantity,
    rows,
    time_channel,
    tooltip_fields,
)
from pages.graphics.letters import length
from pages.ui import tables

NARROWEST, LABEL_GAP = 270, 12  # pixels of the narrowest plot of a curve, and around a label of an event
NAMELESS = ("fault in recovery", "recovered", "full speed")  # events with a rule and without a label
BAR_ROOM = 74  # pixels for a number right of its bar
COLOURS = {
    "useful": "#4fa64a",
    "checkpoint": "#2f9e9b",
    "stalled": "#b7791f",
    "replay": AGAIN,
    "lost": "#c23b3b",
    "detect": "#a09a92",
    "repair": "#8c8c8c",
    "restart": "#6f7780",
    "restore": "#5b7bb4",
}
COLUMNS = [(title, column) for title, column in tables.EVENTS.items() if column in ("elapsed", "kind")]
POWER, POWER_HEIGHT = "#5b7bb4", 160


def event_labels(frame: pd.DataFrame, x_field: str) -> pd.DataFrame:
    """Return the frame of `tables.curve` with the label `says` of each event that has room over `x_field`, and its `side`.

    Labels are placed so that they are apart from each other in a plot of NARROWEST pixels; other events keep their rule.
    """
    says, side = pd.Series(None, frame.index, object), pd.Series(None, frame.index, object)
    events = frame[frame["kind"].notna()].sort_values("elapsed", kind="stable")
    end, texts, placed = float(frame[x_field].max() or 0.0), _texts(events), list[tuple[float, float]]()
    for row, text in texts.items():
        place = float(frame.at[row, x_field]) / end if end else 0.0
        share = (length(text, EVENT_LETTERS, bold=True) + LABEL_GAP) / NARROWEST
        for name, low, high in (("right", place, place + share), ("left", place - share, place)):
            if low >= 0 and high <= 1 and all(high <= first or low >= last for first, last in placed):
                placed.append((low, high))
                says[row], side[row] = text, name
                break
    return frame.assign(says=says, side=side)


def _texts(events: pd.DataFrame) -> dict[int, str]:
    """Return the label of each event by its row: first a fault's number and outage, then the kinds of other events."""
    began = [(row, float(seconds)) for row, seconds, kind in events[["elapsed", "kind"]].itertuples() if kind == "fault"]
    ends = {
        float(first): float(last)
        for first, last in tables.outages(
            {title: getattr(row, column) for title, column in COLUMNS} for row in events.itertuples()
        )
    }
    faults = {}
    for number, (row, seconds) in enumerate(began, 1):
        outage = f": {figure(ends[seconds] - seconds, 's')}" if seconds in ends else ""
        faults[row] = f"fault{f' {number}' if len(began) > 1 else ''}{outage}"
    others = {row: kind for row, kind in events["kind"].items() if kind not in ("fault", *NAMELESS)}
    return {**faults, **others}


@lru_cache(maxsize=64)
def power(x_field: str, breaks: tuple[Break, ...] = ()) -> Spec:
    """Return a chart of watts over one of CURVE_AXES.

    Needs the frame of `run_books.power_frame` with `event_labels`, and its breaks.
    """
    x = time_channel(x_field, breaks)
    y = quantity("watts", axis=axis("Power [W]"), scale={"zero": True, "range": [POWER_HEIGHT, EVENT_ROOM]})
    tip = tooltip_fields(("elapsed", "Simulated time [s]", ".6~g"), ("watts", "Power [W]", ",.4~r"))
    line = layer(
        {"type": "line", "interpolate": "step-before", "color": POWER, "strokeWidth": 2},
        {"filter": "isValid(datum.watts)"},
        x=x,
        y=y,
        order={"field": "elapsed"},
        detail={"field": "phase"},
        tooltip=tip,
    )
    return {
        **FIT_WIDTH,
        "height": POWER_HEIGHT,
        "layer": [again_shade(x, POWER_HEIGHT), line, *event_layers(x, breaks, POWER_HEIGHT)],
    }


@lru_cache(maxsize=16)
def books(row_names: tuple[str, ...], joint: float | None) -> Spec:
    """Return bars of seconds and joules by account, a row each.

    Needs the frame of `run_books.books_frame`; `joint` is where its axis is broken, as a share of the plot, None if nowhere.
    """
    label, is_sum = (
        "split(datum.value, '|')[1]",
        {"test": "datum.value === 's|Time' || datum.value === 'J|Energy'", "value": "bold"},
    )
    y = nominal(
        "row",
        sort=list(row_names),
        axis=axis(
            "",
            labelExpr=label,
            labelFontWeight={"condition": is_sum, "value": "normal"},
            ticks=False,
            domain=False,
            labelLimit=150,
        ),
    )
    x = quantity("drawn", axis=None, scale={"domain": [0, 1], "range": [0, {"expr": f"max(width - {BAR_ROOM}, 40)"}]})
    tip = tooltip_fields(("account", "Account"), ("quantity", "Quantity"), ("amount", "Amount", ",.6~r"))
    colour = nominal("account", scale={"domain": list(COLOURS), "range": list(COLOURS.values())}, legend=None)
    bar = layer({"type": "bar", "height": {"band": 0.72}}, {"filter": "datum.account !== ''"}, x=x, color=colour, tooltip=tip)
    number = layer({"type": "text", "align": "left", "dx": 5, "fontWeight": 600, "color": INK}, x=x, text={"field": "label"})
    layers = [bar, number]
    if joint is not None:
        slash = {"type": "text", "text": "//", "fontSize": 19, "fontWeight": 700, "color": "white", "aria": False}
        layers.append(layer(slash, {"filter": "datum.is_cut"}, x={"datum": joint, "type": "quantitative"}))
    return {**rows(21), "encoding": {"y": y}, "layer": layers}
