"""The tiles: the five numbers that answer "how good is it", with the change against the baseline."""

from collections.abc import Mapping

import streamlit as st

from engine.result import COUNTED, Result
from pages.parts.estimates import BASELINE
from pages.parts.numbers import better, change, readable

COLOUR = {"lower": "inverse", "higher": "normal", "neither": "off"}
# Each result, and the share of the row that its name needs.
OF_AN_ESTIMATE = {
    "Step time [ms]": 9,
    "Throughput [samples/s]": 11,
    "Energy per batch [J]": 10,
    "Capital cost [USD]": 10,
    "Effective training time ratio": 12,
}
OF_A_RUN = {"Elapsed [s]": 9, "AUC": 9, "Loss": 9, "Energy [J]": 9, "Effective training time ratio": 12}


def draw(result: Result, others: Mapping[str, Result], shown: Mapping[str, int] = OF_AN_ESTIMATE) -> None:
    """Draw one tile a result, compared with the baseline system on the same machine."""
    baseline = others[BASELINE].results if BASELINE in others and result.scenario.system != BASELINE else {}
    for column, name in zip(st.columns(list(shown.values())), shown, strict=True):
        value = result.results.get(name)
        delta = change(value, baseline.get(name))
        column.metric(
            name,
            readable(value),
            delta or None,
            delta_color="off" if delta == "same" else COLOUR[better(name)],
            delta_arrow="off" if delta == "same" else "auto",
            border=True,
        )
    against = f"Changes are against {BASELINE} with the same knobs. " if baseline else ""
    st.caption(against + COUNTED[result.energy_level])
