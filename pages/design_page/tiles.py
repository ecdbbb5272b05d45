"""Tiles with five numbers on speed and cost, each with its change against the baseline."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Literal

import streamlit as st

from engine.insight.running_costs import assumptions, dollars, electricity_dollars, running_costs, running_dollars
from engine.results.metrics import error_of
from engine.results.result import COUNTED, Result
from engine.scenario.scenario import Scenario
from pages.answers import question
from pages.answers.headline import system_title
from pages.design_page import questions
from pages.design_page.questions import Sure
from pages.ui.numbers import better, change, label, readable, unit
from pages.ui.plain import plain

WAITING = "how sure? …"
COLOUR: dict[str, Literal["inverse", "normal", "off"]] = {"lower": "inverse", "higher": "normal", "neither": "off"}
COST, MONTH, BILLION = "Capital cost [USD]", "Electricity a month [USD]", "Per billion samples [USD]"
OF_AN_ESTIMATE = ("Step time [ms]", "Energy per batch [J]", COST, MONTH, BILLION)
RUNNING = (MONTH, BILLION)
# Where a throughput is asked for, the number of nodes is the answer.
OF_NODES = ("Nodes", "Step time [ms]", "Energy per batch [J]", COST, BILLION)
OF_A_RUN = ("Elapsed [s]", "AUC", "Loss", "Energy [J]", "Effective training time ratio")
RATIO = "Effective training time ratio"
HELD_OUT = {"AUC": "Held-out AUC", "Loss": "Held-out loss"}  # beside curves of the training loss
STRUCK = f"{RATIO}: of this run alone, its outages included, under the system's own log."


def of_estimate(result: Result, results_by_system: Mapping[str, Result], sure: Future[Mapping[str, Sure]]) -> None:
    """Draw the tiles of an estimate.

    The band of each number follows once it is computed.
    """
    tile_names = OF_AN_ESTIMATE if result.scenario.machine.target_throughput is None else OF_NODES
    bands = None if not sure.done() else questions.NOTHING if sure.exception() else sure.result()
    draw(result, results_by_system, tile_names, sure=bands)


def draw(
    result: Result,
    results_by_system: Mapping[str, Result],
    tile_names: Sequence[str] = OF_AN_ESTIMATE,
    sure: Mapping[str, Sure] | None = questions.NOTHING,
) -> None:
    """Draw one tile a number, with its band if known.

    Numbers are compared with the baseline system on the same machine.
    """
    baseline_system = question.baseline_system(result.scenario)
    baseline_figures = (
        figures(results_by_system[baseline_system])
        if baseline_system in results_by_system and result.scenario.system != baseline_system
        else {}
    )
    scenario_figures, money = figures(result), units(result.scenario)
    with st.container(key=f"tiles-{'estimate' if BILLION in tile_names else 'run'}"):
        columns = st.columns(len(tile_names))
    for column, name in zip(columns, tile_names, strict=True):
        number = scenario_figures.get(name)
        delta = change(number, baseline_figures.get(name))
        column.metric(
            HELD_OUT.get(name, label(name)),
            readable(number, money.get(name, unit(name)), error_of(name, scenario_figures)),
            delta or None,
            delta_color="off" if delta == "same" else COLOUR["lower" if name in RUNNING else better(name)],
            delta_arrow="off" if delta == "same" else "auto",
        )
        if sure is None and name not in RUNNING:
            column.caption(WAITING)
        elif sure and name in sure:
            column.caption(plain(sure[name].band), help="\n\n".join(map(plain, sure[name].story)))
    if BILLION in tile_names:
        with st.container(key="summary"):  # a phone shows this line instead of the tiles
            summary_parts = (
                f"{label(name)} {readable(scenario_figures[name], money.get(name, unit(name)))}"
                for name in tile_names
                if scenario_figures.get(name) is not None
            )
            st.caption(plain(", ".join(summary_parts)))
    notes = [f"Against {system_title(baseline_system)} with its own link and policies."] if baseline_figures else []
    notes += ["Under a number: its range in 9 of 10 draws of all constants."] if sure else []
    notes += [STRUCK] if RATIO in tile_names else []
    help_sentences = [
        COUNTED[result.scenario.machine.energy_level],
        *([assumptions(result.scenario)] if BILLION in tile_names else []),
    ]
    st.caption(" ".join(notes), help=" ".join(help_sentences))


def units(scenario: Scenario) -> Mapping[str, str]:
    """Return the units of amounts of money, with their year."""
    return {COST: dollars(scenario), MONTH: electricity_dollars(scenario), BILLION: running_dollars(scenario)}


def figures(result: Result) -> Mapping[str, float | None]:
    """Return a result's numbers, and what its machine costs to run."""
    costs = running_costs(result)
    return {**result.results, MONTH: costs.electricity_month, BILLION: costs.billion} if costs else result.results
