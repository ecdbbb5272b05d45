"""A model as a picture with a bar for each table.

A bar's length is the logarithm of the table's rows, and its shade shows the lookups of a sample.
"""

from base64 import b64encode
from functools import cache
from html import escape

import numpy as np

from engine.core.figures import count, figure
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario
from engine.systems.traffic import table_bytes

WIDTH, HEIGHT, MAX_TABLES = 220, 64, 40
COLOUR = "#d9622b"


@cache
def of_preset(name: str) -> str:
    """Return the picture of a preset's model."""
    return svg(preset(name).scenario)


@cache
def picture_html(name: str) -> str:
    """Return the picture of a preset's model as an HTML element with alternative text."""
    encoded = b64encode(of_preset(name).encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{encoded}" alt="{escape(size_words(preset(name).scenario))}" width="100%">'


def svg(scenario: Scenario) -> str:
    """Return the picture as SVG; with many tables, bars are quantiles of the tables by rows."""
    rows = _by_table(scenario.model.num_embeddings, scenario.model.num_tables)
    lookups = _by_table(scenario.model.pooling, scenario.model.num_tables)
    order = np.argsort(-rows, kind="stable")
    tables_drawn = order[np.linspace(0, len(order) - 1, min(len(order), MAX_TABLES)).astype(int)]
    step = WIDTH / len(tables_drawn)
    tall = np.maximum(np.log10(rows[tables_drawn]) / 10.0, 0.04) * HEIGHT
    shade = 0.35 + 0.65 * np.minimum(np.log10(lookups[tables_drawn] + 1.0) / 2.0, 1.0)
    bars = "".join(
        f'<rect x="{place * step:.1f}" y="{HEIGHT - high:.1f}" width="{max(step - 1, 1):.1f}" height="{high:.1f}" '
        f'fill="{COLOUR}" fill-opacity="{dark:.2f}"/>'
        for place, (high, dark) in enumerate(zip(np.minimum(tall, HEIGHT), shade, strict=True))
    )
    title = f"<title>{escape(size_words(scenario))}</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">{title}{bars}</svg>'


def size_words(scenario: Scenario) -> str:
    """Return a model's size as text: "26 tables, 2.16 GB, 26 lookups a sample"."""
    tables = scenario.model.num_tables
    lookups = _by_table(scenario.model.pooling, tables).sum()
    return f"{count(tables, 'table')}, {figure(table_bytes(scenario), 'B')}, {count(lookups, 'lookup')} a sample"


def _by_table(table_values: tuple[int, ...], tables: int) -> np.ndarray:
    return np.resize(np.array(table_values, dtype=float), tables)
