"""The tiles: the five numbers that answer "how good is it", with the change against the baseline."""

from collections.abc import Mapping, Sequence

import streamlit as st

from engine.results.result import COUNTED, Result
from pages.bar import question
from pages.common import address
from pages.common.numbers import better, change, label, readable, unit
from pages.common.plain import plain
from pages.design import sureness
from pages.design.sureness import Sure

STILL_SECONDS = 0.5
WAITING = "how sure? …"
COLOUR = {"lower": "inverse", "higher": "normal", "neither": "off"}
OF_AN_ESTIMATE = ("Step time [ms]", "Energy per batch [J]", "Capital cost [USD]", "Effective training time ratio")
# Where a throughput is asked for, the number of nodes is the answer.
OF_NODES = ("Nodes", "Step time [ms]", "Throughput [samples/s]", "Energy per batch [J]", "Capital cost [USD]")
OF_A_RUN = ("Elapsed [s]", "AUC", "Loss", "Energy [J]", "Effective training time ratio")
RATIO = "Effective training time ratio"
CALM = f"{RATIO}: under the system's own log, without faults; Failures tells it over weeks, for each protection."
STRUCK = f"{RATIO}: of this run alone, its outages included, under the system's own log."


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
        draw(result, others, shown, sure=sureness.known(result.scenario), ratio=CALM)

    st.fragment(look, run_every=STILL_SECONDS if waiting else None)()


def draw(
    result: Result,
    others: Mapping[str, Result],
    shown: Sequence[str] = OF_AN_ESTIMATE,
    sure: Mapping[str, Sure] | None = sureness.NOTHING,
    ratio: str = STRUCK,
) -> None:
    """Draw one tile a result, compared with the baseline system on the same machine, and how sure it is where known."""
    against = question.against(result.scenario)
    before = others[against].results if against in others and result.scenario.system != against else {}
    for column, name in zip(st.columns(len(shown)), shown, strict=True):
        value = result.results.get(name)
        delta = change(value, before.get(name))
        column.metric(
            label(name),
            readable(value, unit(name)),
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
    notes += [ratio] if RATIO in shown else []
    if sure:
        notes.append("Under each tile: its range in 9 of 10 draws of all constants.")
    st.caption(" ".join(notes))
