"""Tiles with five numbers on speed and cost, each compared with the baseline."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Literal

import streamlit as st

from engine.insight.running_costs import assumptions, electricity_unit, price_unit, running_cost_unit, running_costs
from engine.results.ledger import JOULES, OUTAGE, SECONDS, TRAINING, ledger_sum
from engine.results.metrics import error_of
from engine.results.result import ENERGY_NOTES, Result
from engine.scenario.scenario import Scenario
from pages.answers import question
from pages.answers.headline import system_title
from pages.design_page import questions
from pages.design_page.questions import ResultBand
from pages.ui.numbers import better_direction, change, label, result_text, unit
from pages.ui.plain import escape_markdown

WAITING = "range follows …"
COLOUR: dict[str, Literal["inverse", "normal", "off"]] = {"lower": "inverse", "higher": "normal", "neither": "off"}
COST, MONTH, BILLION = "Capital cost [USD]", "Electricity a month [USD]", "Per billion samples [USD]"
ESTIMATE_TILES = ("Step time [ms]", "Energy per batch [J]", COST, MONTH, BILLION)
RUNNING_COSTS = (MONTH, BILLION)
# Where a throughput is asked for, the number of nodes is the answer.
NODES_TILES = ("Nodes", "Step time [ms]", "Energy per batch [J]", COST, BILLION)
RATIO = "Effective training time ratio"
TRAINED, OUTAGES = "Trained in [s]", "Outages [s]"
TRAINING_ENERGY, OUTAGE_ENERGY = "Energy of training [J]", "Energy of outages [J]"
RUN_TILES = (TRAINED, OUTAGES, "AUC", "Loss", TRAINING_ENERGY, OUTAGE_ENERGY, RATIO)
LEAST_SECONDS = 60.0  # of training: in a shorter run one outage makes the ratio say nothing of training
HELD_OUT = {"AUC": "Held-out AUC", "Loss": "Held-out loss"}  # beside curves of the training loss
RATIO_NOTE = f"{RATIO} counts this run alone, with its outages, under the system's own log."


def draw_estimate(result: Result, results_by_system: Mapping[str, Result], sure: Future[Mapping[str, ResultBand]]) -> None:
    """Draw the tiles of an estimate.

    The band of each number follows once it is computed.
    """
    tile_names = ESTIMATE_TILES if result.scenario.machine.target_throughput is None else NODES_TILES
    bands = None if not sure.done() else questions.NO_RESULT_BANDS if sure.exception() else sure.result()
    draw(result, results_by_system, tile_names, sure=bands)


def draw_run(result: Result) -> None:
    """Draw the tiles of a finished run: training apart from its outages."""
    amounts = run_amounts(result)
    numbers = replace(result, results={**result.results, **amounts})
    is_long = amounts.get(TRAINED, 0.0) >= LEAST_SECONDS
    names = [name for name in RUN_TILES if numbers.results.get(name) is not None and (name != RATIO or is_long)]
    if names:
        draw(numbers, {}, names)


def run_amounts(result: Result) -> Mapping[str, float]:
    """Return the seconds and joules of a run's training, and of its outages if it had any."""
    if not result.ledger:
        return {}
    seconds, joules = (
        {accounts: ledger_sum(result.ledger, column, accounts) for accounts in (TRAINING, OUTAGE)} for column in (SECONDS, JOULES)
    )
    outages = {OUTAGES: seconds[OUTAGE], OUTAGE_ENERGY: joules[OUTAGE]} if seconds[OUTAGE] else {}
    return {TRAINED: seconds[TRAINING], TRAINING_ENERGY: joules[TRAINING], **outages}


def draw(
    result: Result,
    results_by_system: Mapping[str, Result],
    tile_names: Sequence[str] = ESTIMATE_TILES,
    sure: Mapping[str, ResultBand] | None = questions.NO_RESULT_BANDS,
) -> None:
    """Draw a tile for each number, with its band if known.

    Numbers are compared with those of the baseline system on the same machine.
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
            result_text(number, money.get(name, unit(name)), error_of(name, scenario_figures)),
            delta or None,
            delta_color="off" if delta == "same" else COLOUR["lower" if name in RUNNING_COSTS else better_direction(name)],
            delta_arrow="off" if delta == "same" else "auto",
        )
        if sure is None and name not in RUNNING_COSTS:
            column.caption(WAITING)
        elif sure and name in sure:
            column.caption(escape_markdown(sure[name].band), help="\n\n".join(map(escape_markdown, sure[name].sentences)))
    if BILLION in tile_names:
        with st.container(key="summary"):  # a phone shows this line instead of the tiles
            summary_parts = (
                f"{label(name)} {result_text(scenario_figures[name], money.get(name, unit(name)))}"
                for name in tile_names
                if scenario_figures.get(name) is not None
            )
            st.caption(escape_markdown(", ".join(summary_parts)))
    notes = [f"Changes are against {system_title(baseline_system)} with its own link and policies."] if baseline_figures else []
    notes += ["Under each number: its range in 9 of 10 draws of all constants."] if sure else []
    notes += [RATIO_NOTE] if RATIO in tile_names else []
    help_sentences = [
        ENERGY_NOTES[result.scenario.machine.energy_level],
        *([assumptions(result.scenario)] if BILLION in tile_names else []),
    ]
    # Without notes the sentences of the help stand in their place.
    st.caption(" ".join(notes or help_sentences), help=" ".join(help_sentences) if notes else None)


def units(scenario: Scenario) -> Mapping[str, str]:
    """Return the units of prices and costs, with the year of the dollars."""
    return {COST: price_unit(scenario), MONTH: electricity_unit(scenario), BILLION: running_cost_unit(scenario)}


def figures(result: Result) -> Mapping[str, float | None]:
    """Return a result's numbers, and the running costs of its machine."""
    costs = running_costs(result)
    return {**result.results, MONTH: costs.electricity_month, BILLION: costs.per_billion_samples} if costs else result.results
