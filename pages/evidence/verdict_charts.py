"""The charts that set published step times and energies beside ours."""

from functools import cache

from engine.core.graph import STAGES
from pages.common import palette
from pages.common.charts import FIGURE, INK, Spec, axis
from pages.evidence.verdict_tables import OURS, PUBLISHED


@cache
def stacks() -> Spec:
    """Two bars a training system, the published one above ours; needs system, who, part, amount."""
    rows = {
        "y": {
            "field": "system",
            "type": "nominal",
            "sort": list(palette.systems()),
            "axis": axis("Training system", labelFontSize=13),
        },
        "yOffset": {"field": "who", "type": "nominal", "sort": [PUBLISHED, OURS]},
    }
    stack = {
        "mark": {"type": "bar", "height": {"band": 0.86}},
        "encoding": {
            "x": {"field": "amount", "type": "quantitative", "stack": "zero", "axis": axis("Step time [ms]", grid=False)},
            "color": {"field": "part", "type": "nominal", "scale": palette.colours(STAGES), "title": "Stage"},
            "order": {"field": "rank", "type": "quantitative"},
            "opacity": {"condition": {"test": f"datum.who === '{OURS}'", "value": 1}, "value": 0.6},
            "tooltip": [
                {"field": "system", "title": "Training system"},
                {"field": "who", "title": "Whose"},
                {"field": "part", "title": "Stage"},
                {"field": "amount", "title": "Step time [ms]", "type": "quantitative", "format": ".3f"},
            ],
        },
    }
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
            "x": {"field": "preset", "type": "nominal", "axis": axis("Model", labelAngle=0, labelLimit=170)},
            "xOffset": {"field": "system", "type": "nominal", "sort": list(systems)},
            "y": {"field": "energy", "type": "quantitative", "axis": axis("Energy of a batch, pmem = 1", format=".1f")},
            "color": {
                "field": "system",
                "type": "nominal",
                "scale": palette.colours(systems),
                "title": "Training system",
                "legend": {"values": list(shown)},
            },
            "opacity": {"condition": {"test": f"datum.who === '{OURS}'", "value": 1}, "value": 0.6},
            "tooltip": [
                {"field": "preset", "title": "Model"},
                {"field": "system", "title": "Training system"},
                {"field": "who", "title": "Whose"},
                {"field": "energy", "title": "Energy, pmem = 1", "type": "quantitative", "format": ".3f"},
            ],
        },
        "config": {"legend": {"orient": "top", "titleFontWeight": "normal"}},
    }


def _totals() -> Spec:
    return {
        "transform": [
            {"aggregate": [{"op": "sum", "field": "amount", "as": "total"}], "groupby": ["system", "who"]},
            {"calculate": FIGURE.format("total") + " + ' ' + datum.who", "as": "label"},
        ],
        "mark": {"type": "text", "align": "left", "dx": 5, "color": INK},
        "encoding": {"x": {"field": "total", "type": "quantitative"}, "text": {"field": "label"}},
    }
