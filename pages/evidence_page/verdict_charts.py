"""The charts of published and simulated step times and energies."""

from functools import cache, lru_cache

from engine.core.graph import STAGES
from engine.registry import load_variant
from pages.evidence_page.verdict_tables import OUR_BAR, PUBLISHED
from pages.graphics.charts import (
    FIGURE,
    INK,
    Spec,
    axis,
    bar_scale,
    conditional,
    layer,
    legend_below,
    nominal,
    quantity,
    tooltip_fields,
)
from pages.ui import palette

LABEL = "20.6 published"  # the longest label right of a bar
TITLED = (
    "{"
    + ", ".join(f"'{name}': '{load_variant('systems', name).title}'" for name in palette.systems())
    + "}[datum.label] || datum.label"
)


@lru_cache(maxsize=64)
def stacks(longest: float, legend_stages: tuple[str, ...] = STAGES) -> Spec:
    """Return a chart with two bars for each training system, the published one above.

    `longest` is the longest bar [ms], beside which labels have room. The legend names `legend_stages`.
    Needs system, who, part, amount.
    """
    rows = {
        "y": nominal("system", sort=list(palette.systems()), axis=_systems_axis()),
        "yOffset": nominal("who", sort=[PUBLISHED, OUR_BAR]),
    }
    stack = layer(
        {"type": "bar", "height": {"band": 0.86}},
        x=quantity(
            "amount",
            stack="zero",
            axis=axis("Step time [ms]", grid=False),
            scale={**bar_scale(LABEL, 12), "domainMin": 0, "domainMax": longest, "nice": False},
        ),
        color=nominal(
            "part",
            scale=palette.colours(STAGES),
            legend=legend_below(max(legend_stages, key=len), title="Stage", values=list(legend_stages)),
        ),
        order=quantity("rank"),
        opacity=conditional(f"datum.who === '{OUR_BAR}'", 1, 0.6),
        tooltip=tooltip_fields(
            ("system", "Training system"), ("who", "Whose"), ("part", "Stage"), ("amount", "Step time [ms]", ".3f")
        ),
    )
    return {
        "height": {"step": 17, "for": "offset"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "transform": [{"calculate": f"indexof({list(STAGES)}, datum.part)", "as": "rank"}],
        "encoding": rows,
        "layer": [stack, _total_labels()],
    }


@cache
def energies(legend_systems: tuple[str, ...]) -> Spec:
    """Return a chart with a group of bars for each model, a bar for each system.

    Published bars are paler. Needs preset, system, who, energy.
    """
    systems = palette.systems()
    return {
        "height": {"step": 11, "for": "offset"},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "mark": {"type": "bar"},
        "encoding": {
            "y": nominal("preset", sort=None, axis=axis("", labelLimit=120), title=None),
            "yOffset": nominal("system", sort=list(systems)),
            "x": quantity("energy", axis=axis("Energy of a batch, PMEM = 1", format=".1f")),
            "color": nominal(
                "system",
                scale=palette.colours(systems),
                legend=legend_below("All in HBM, cached", title="Training system", values=list(legend_systems), labelExpr=TITLED),
            ),
            "opacity": conditional(f"datum.who === '{OUR_BAR}'", 1, 0.6),
            "tooltip": tooltip_fields(
                ("preset", "Model"), ("system", "Training system"), ("who", "Whose"), ("energy", "Energy, PMEM = 1", ".3f")
            ),
        },
    }


def _systems_axis() -> Spec:
    return {**axis("", labelFontSize=13, labelLimit=150), "title": None, "labelExpr": TITLED}


def _total_labels() -> Spec:
    return layer(
        {"type": "text", "align": "left", "dx": 5, "color": INK},
        {"aggregate": [{"op": "sum", "field": "amount", "as": "total"}], "groupby": ["system", "who"]},
        {"calculate": FIGURE.format("total") + " + ' ' + datum.who", "as": "label"},
        x=quantity("total"),
        text={"field": "label"},
    )
