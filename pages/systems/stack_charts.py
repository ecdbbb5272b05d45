"""Charts of a batch or a run: a stacked bar for each training system."""

from functools import lru_cache

from engine.core.graph import STAGES
from pages.graphics.charts import (
    FIGURE,
    INK,
    LABEL,
    Spec,
    axis,
    bar_scale,
    conditional,
    layer,
    legend_below,
    nominal,
    only_rows,
    quantity,
    rows,
    rule_mark,
    tooltip_fields,
)
from pages.ui import palette

LONGEST = "0.123, bar cut  ◀ this one"


@lru_cache(maxsize=64)
def stacked(unit: str, parts: tuple[str, ...], title: str, fade: float, legend_parts: tuple[str, ...] = ()) -> Spec:
    """Return a chart with one bar for each training system, stacked by part.

    The chosen system is marked; other systems have opacity `fade`. Needs system, known, part, amount, drawn, chosen, low, high.
    """
    order, x_axis = list(palette.systems()), axis(unit, grid=False)
    legend = legend_below(
        max(legend_parts or parts, key=len), title=title, **({"values": list(legend_parts)} if legend_parts else {})
    )
    lane = axis("", labelFontSize=13, labelLimit=150)
    bar = {"y": nominal("system", sort=order, axis=lane)}
    stack = layer(
        {"type": "bar", "height": {"band": 0.72}},
        x=quantity("drawn", stack="zero", axis=x_axis, scale=bar_scale(LONGEST)),
        color=nominal("part", scale=palette.colours(parts), legend=legend),
        order=quantity("rank"),
        opacity=conditional("datum.chosen", 1, fade),
        tooltip=tooltip_fields(("system", "Training system"), ("part", title), ("amount", unit, ",.4~r"), ("known", "Known by")),
    )
    return {
        **rows(30),
        "transform": [{"calculate": f"indexof({list(parts)}, datum.part)", "as": "rank"}],
        "encoding": bar,
        "layer": [stack, _whiskers(unit), _total_labels()],
    }


def _whiskers(unit: str) -> Spec:
    """A line over a bar's plausible range, where both ends are known."""
    low, high = (quantity(end, title=unit) for end in ("low", "high"))
    tip = tooltip_fields(("low", "9 of 10 draws, from", ",.4~r"), ("high", "to", ",.4~r"))
    has_range = only_rows("isValid(datum.low)")
    ends = {"x": low, "x2": {"field": "high"}, "tooltip": tip}
    halo = layer(rule_mark(strokeWidth=4, color="white", opacity=0.35), **ends)  # white, so that the line is seen on any colour
    line = layer(rule_mark(strokeWidth=2, color=INK), **ends)
    cap: Spec = {"type": "tick", "aria": False, "thickness": 2, "size": 9, "color": INK}
    return {**has_range, "layer": [halo, line, *(layer(cap, x=end) for end in (low, high))]}


def _total_labels() -> Spec:
    wholes = [{"op": "sum", "field": name, "as": f"{name}_total"} for name in ("amount", "drawn")]
    return layer(
        LABEL,
        {"aggregate": [*wholes, {"op": "max", "field": "high", "as": "high"}], "groupby": ["system", "chosen"]},
        {"calculate": "max(datum.drawn_total, isValid(datum.high) ? datum.high : 0)", "as": "end"},
        {
            "calculate": FIGURE.format("amount_total")
            + " + (datum.drawn_total < 0.999 * datum.amount_total ? ', bar cut' : '')"
            + " + (datum.chosen ? '  ◀ this one' : '')",
            "as": "label",
        },
        x=quantity("end"),
        text={"field": "label"},
    )


def step_time(legend_parts: tuple[str, ...] = STAGES, fade: float = 0.5) -> Spec:
    """Return the chart of step time by stage, for all systems; the legend names `legend_parts`."""
    return stacked("Step time [ms]", STAGES, "Stage", fade, legend_parts)


def energy(legend_parts: tuple[str, ...], fade: float = 0.5) -> Spec:
    """Return the chart of the run's energy by component; the legend names `legend_parts`."""
    return stacked("Energy of the run [J]", palette.devices(), "Component", fade, legend_parts)
