"""The tiles: the five numbers that answer "how good is it", with the change against the baseline."""

from collections.abc import Mapping

import streamlit as st

from engine.result import Result
from pages.parts.estimates import BASELINE
from pages.parts.numbers import better, change, label, readable, unit

SHOWN = (
    "Step time [ms]",
    "Throughput [samples/s]",
    "Energy per batch [J]",
    "Capital cost [USD]",
    "Effective training time ratio",
)


def draw(result: Result, others: Mapping[str, Result]) -> None:
    """Draw one tile a result, compared with the baseline system on the same machine."""
    baseline = others[BASELINE].results if BASELINE in others else {}
    same = result.scenario.system == BASELINE
    for column, name in zip(st.columns(len(SHOWN)), SHOWN, strict=True):
        delta = "" if same else change(result.results.get(name), baseline.get(name))
        column.metric(
            label(name),
            readable(result.results.get(name), unit(name)),
            f"{delta} vs {BASELINE}" if delta else None,
            delta_color="inverse" if better(name) == "lower" else "normal",
            border=True,
        )
