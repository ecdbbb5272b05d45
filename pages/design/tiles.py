"""The tiles: the five numbers that answer "how good is it", with the change against the baseline."""

from collections.abc import Mapping

import streamlit as st

from engine.results.result import COUNTED, Result
from pages.bar import question
from pages.common import address
from pages.common.numbers import better, change, readable
from pages.common.plain import plain
from pages.design import sureness
from pages.design.sureness import Sure

STILL_SECONDS = 0.5
WAITING = "how sure? …"
COLOUR = {"lower": "inverse", "higher": "normal", "neither": "off"}
# Each result, and the share of the row that its name needs.
OF_AN_ESTIMATE = {
    "Step time [ms]": 9,
    "Throughput [samples/s]": 11,
    "Energy per batch [J]": 10,
    "Capital cost [USD]": 10,
    "Effective training time ratio": 12,
}
# Where a throughput is asked for, the number of nodes is the answer.
OF_NODES = {"Nodes": 8, **{name: width for name, width in OF_AN_ESTIMATE.items() if "ratio" not in name}}
OF_A_RUN = {"Elapsed [s]": 9, "AUC": 9, "Loss": 9, "Energy [J]": 9, "Effective training time ratio": 12}


def of_estimate(result: Result, others: Mapping[str, Result]) -> None:
    """Draw the tiles of an estimate; how sure each one is follows once the scenario has stood still for a moment."""
    waiting = sureness.known(result.scenario) is None
    turns: list[None] = []
    shown = OF_AN_ESTIMATE if result.scenario.machine.target_throughput is None else OF_NODES

    def look() -> None:
        if waiting and turns:  # a turn of the timer, not of the page
            sureness.found(result.scenario)
            address.redraw()
        turns.append(None)
        draw(result, others, shown, sure=sureness.known(result.scenario))

    st.fragment(look, run_every=STILL_SECONDS if waiting else None)()


def draw(
    result: Result,
    others: Mapping[str, Result],
    shown: Mapping[str, int] = OF_AN_ESTIMATE,
    sure: Mapping[str, Sure] | None = sureness.NOTHING,
) -> None:
    """Draw one tile a result, compared with the baseline system on the same machine, and how sure it is where known."""
    against = question.against(result.scenario)
    before = others[against].results if against in others and result.scenario.system != against else {}
    for column, name in zip(st.columns(list(shown.values())), shown, strict=True):
        value = result.results.get(name)
        delta = change(value, before.get(name))
        column.metric(
            name,
            readable(value),
            delta or None,
            delta_color="off" if delta == "same" else COLOUR[better(name)],
            delta_arrow="off" if delta == "same" else "auto",
            border=True,
        )
        if sure is None:
            column.caption(WAITING)
        elif name in sure:
            column.caption(plain(sure[name].band), help="\n\n".join(map(plain, sure[name].story)))
    notes = [f"Changes are against {against} with the same knobs."] if before else []
    notes.append(COUNTED[result.scenario.machine.energy_level])
    if sure:
        notes.append("Under each tile: its range in 9 of 10 draws of all constants.")
    st.caption(" ".join(notes))
