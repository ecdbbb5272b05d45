"""The charts that set published step times and energies beside ours."""

from functools import cache

from engine.core.graph import STAGES
from pages.evidence_page.verdict_tables import OURS, PUBLISHED
from pages.graphics.charts import FIGURE, INK, Spec, axis, hover, layer, nominal, quantity, when
from pages.ui import palette


@cache
def stacks() -> Spec:
    """Two bars a training system, the published one above ours; needs system, who, part, amount."""
    rows = {
        "y": nominal("system", sort=list(palette.systems()), axis=axis("Training system", labelFontSize=13)),
        "yOffset": nominal("who", sort=[PUBLISHED, OURS]),
    }
    stack = layer(
        {"type": "bar", "height": {"band": 0.86}},
        x=quantity("amount", stack="zero", axis=axis("Step time [ms]", grid=False)),
        color=nominal("part", scale=palette.colours(STAGES), title="Stage"),
        order=quantity("rank"),
        opacity=when(f"datum.who === '{OURS}'", 1, 0.6),
        tooltip=hover(("system", "Training system"), ("who", "Whose"), ("part", "Stage"), ("amount", "Step time [ms]", ".3f")),
    )
    return {
        "height": {"step": 17, "for": "offset"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "transform": [{"calculate": f"indexof({list(STAGES)}, datum.part)", "as": "rank"}],
        "encoding": rows,
        "layer": [stack, _totals()],
        "config": {"legend": {"orient": "top", "columns": 3, "titleFontWeight": "normal"}},
    }


@cache
def energies(shown: tuple[str, ...]) -> Spec:
    """A group of bars a preset, one a training system, published ones paler; needs preset, system, who, energy."""
    systems = palette.systems()
    return {
        "height": 320,
        "mark": {"type": "bar"},
        "encoding": {
            "x": nominal("preset", axis=axis("Model", labelAngle=0, labelLimit=170)),
            "xOffset": nominal("system", sort=list(systems)),
            "y": quantity("energy", axis=axis("Energy of a batch, pmem = 1", format=".1f")),
            "color": nominal("system", scale=palette.colours(systems), title="Training system", legend={"values": list(shown)}),
            "opacity": when(f"datum.who === '{OURS}'", 1, 0.6),
            "tooltip": hover(
                ("preset", "Model"), ("system", "Training system"), ("who", "Whose"), ("energy", "Energy, pmem = 1", ".3f")
            ),
        },
        "config": {"legend": {"orient": "top", "titleFontWeight": "normal"}},
    }


def _totals() -> Spec:
    return layer(
        {"type": "text", "align": "left", "dx": 5, "color": INK},
        {"aggregate": [{"op": "sum", "field": "amount", "as": "total"}], "groupby": ["system", "who"]},
        {"calculate": FIGURE.format("total") + " + ' ' + datum.who", "as": "label"},
        x=quantity("total"),
        text={"field": "label"},
    )
