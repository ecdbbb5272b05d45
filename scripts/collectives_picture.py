"""Draw docs/collectives.png, the three charts of exchanges between GPUs: python scripts/collectives_picture.py."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import vl_convert  # noqa: E402
from pictures import stamped  # noqa: E402

from engine.insight.network import collectives  # noqa: E402
from pages.evidence_page import collectives_panel  # noqa: E402
from pages.graphics import chart, pictures  # noqa: E402

SHARPNESS, GAP = 1.5, 24


def main() -> None:
    """Draw the charts below each other and write the picture."""
    inner, width, height = "", 0.0, 0.0
    for number, comparison in enumerate(collectives.collectives()):
        title, name = collectives_panel.finding(comparison), comparison.name
        bare = collectives_panel.spec(*collectives_panel.spec_arguments(comparison))
        spec = chart.add_titles(bare, title, collectives_panel.SUBTITLES[name], collectives_panel.SOURCES[name])
        drawn = pictures.svg(spec, collectives_panel.rows(comparison), f"chart{number}")
        size = pictures.SIZE.search(drawn)
        assert size is not None, "an SVG without a size"
        inner += drawn.replace("<svg ", f'<svg y="{height:g}" ', 1)
        width, height = max(width, float(size["width"])), height + float(size["height"]) + GAP
    whole = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:g}" '
        f'height="{height:g}"><rect width="{width:g}" height="{height:g}" fill="white"/>{inner}</svg>'
    )
    (ROOT / "docs" / "collectives.png").write_bytes(stamped(vl_convert.svg_to_png(whole, scale=SHARPNESS)))


if __name__ == "__main__":
    main()
