"""Charts of what a batch or a run is made of: a bar a training system, stacked by stage or by component."""

from functools import cache

from engine.core.graph import STAGES
from pages.graphics.charts import (
    FIGURE,
    INK,
    LABEL,
    Spec,
    axis,
    below,
    ending,
    hover,
    layer,
    nominal,
    quantity,
    rows,
    ruled,
    when,
    where,
)
from pages.ui import palette

LONGEST = "0.123, bar cut  ◀ this one"


@cache
def stacked(unit: str, parts: tuple[str, ...], title: str, fade: float, drawn: tuple[str, ...] = ()) -> Spec:
    """One bar a training system, stacked by part; needs system, known, part, amount, drawn, chosen, low, high.

    The chosen one is marked, the others have opacity `fade`.
    """
    order, across = list(palette.systems()), axis(unit, grid=False)
    legend = below(max(drawn or parts, key=len), title=title, **({"values": list(drawn)} if drawn else {}))
    lane = axis("", labelFontSize=13, labelLimit=150)
    bar = {"y": nominal("system", sort=order, axis=lane)}
    stack = layer(
        {"type": "bar", "height": {"band": 0.72}},
        x=quantity("drawn", stack="zero", axis=across, scale=ending(LONGEST)),
        color=nominal("part", scale=palette.colours(parts), legend=legend),
        order=quantity("rank"),
        opacity=when("datum.chosen", 1, fade),
        tooltip=hover(("system", "Training system"), ("part", title), ("amount", unit, ",.4~r"), ("known", "Known by")),
    )
    return {
        **rows(30),
        "transform": [{"calculate": f"indexof({list(parts)}, datum.part)", "as": "rank"}],
        "encoding": bar,
        "layer": [stack, _whiskers(unit), _totals()],
    }


def _whiskers(unit: str) -> Spec:
    """A line from the lowest to the highest plausible value of a whole bar, where both are known."""
    low, high = (quantity(end, title=unit) for end in ("low", "high"))
    tip = hover(("low", "9 of 10 draws, from", ",.4~r"), ("high", "to", ",.4~r"))
    only = where("isValid(datum.low)")
    ends = {"x": low, "x2": {"field": "high"}, "tooltip": tip}
    halo = layer(ruled(strokeWidth=4, color="white", opacity=0.35), **ends)  # seen on any colour
    line = layer(ruled(strokeWidth=2, color=INK), **ends)
    cap: Spec = {"type": "tick", "aria": False, "thickness": 2, "size": 9, "color": INK}
    return {**only, "layer": [halo, line, *(layer(cap, x=end) for end in (low, high))]}


def _totals() -> Spec:
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


def step_time(fade: float = 0.5) -> Spec:
    """Step time by stage, all systems."""
    return stacked("Step time [ms]", STAGES, "Stage", fade)


def energy(drawn: tuple[str, ...], fade: float = 0.5) -> Spec:
    """Energy of the whole run by component, all systems; the legend names the components that are `drawn`."""
    return stacked("Energy of the run [J]", palette.devices(), "Component", fade, drawn)
