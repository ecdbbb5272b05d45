"""A chart as a picture: SVG with the same bytes each time, or PNG, drawn without a browser and without the network."""

import re

import pandas as pd

from pages.graphics.charts import Spec

VEGA_LITE = "6.1"  # the newest of the converter's versions that is not newer than the browser's
WIDTH, SHARPNESS = 900, 2
PAPER: Spec = {"background": "white", "config": {"font": "Liberation Sans, Arial, sans-serif", "axis": {"labelFontSize": 12}}}
CLIP = re.compile(r"\b(clip|gradient_)\d+\b")


def svg(spec: Spec, marks: pd.DataFrame, prefix: str = "chart") -> str:
    """Draw a chart as SVG; names inside begin with `prefix`, so that several can stand in one page."""
    import vl_convert  # late: starting it takes a second

    drawn: str = vl_convert.vegalite_to_svg(_whole(spec, marks), vl_version=VEGA_LITE)
    order: dict[str, str] = {}
    return CLIP.sub(lambda found: order.setdefault(found[0], f"{prefix}-{len(order)}"), drawn)


def png(spec: Spec, marks: pd.DataFrame) -> bytes:
    """Draw a chart as PNG."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(_whole(spec, marks), vl_version=VEGA_LITE, scale=SHARPNESS)
    return drawn


def _whole(spec: Spec, marks: pd.DataFrame) -> Spec:
    """Return the specification with its rows, its own width, and a light paper for any theme."""
    held = marks.astype(object).where(marks.notna(), None)
    return {
        **spec,
        **PAPER,
        "config": {**spec.get("config", {}), **PAPER["config"]},
        "width": WIDTH,
        "data": {"values": held.to_dict("records")},
    }
