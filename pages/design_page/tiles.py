"""Tiles with five numbers on speed and cost, each compared with the baseline."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Literal

import streamlit as st

from engine.insight.quantities import BILLION_SAMPLES, CAPITAL, ELECTRICITY, OUTAGE_ENERGY, OUTAGES, TRAINED, TRAINING_ENERGY
from engine.insight.running_costs import assumptions
from engine.results.result import ENERGY_NOTES, Result
from pages.answers import question
from pages.answers.headline import system_title
from pages.design_page import questions
from pages.design_page.questions import ResultBand
from pages.ui.numbers import better_direction, change, label, quantity, quantity_text
from pages.ui.plain import escape_markdown

WAITING = "range follows …"
COLOUR: dict[str, Literal["inverse", "normal", "off"]] = {"lower": "inverse", "higher": "normal", "neither": "off"}
ESTIMATE_TILES = ("Step time [ms]", "Energy per batch [J]", CAPITAL, ELECTRICITY, BILLION_SAMPLES)
RUNNING_COSTS = (ELECTRICITY, BILLION_SAMPLES)
# Where a throughput is asked for, the number of nodes is the answer.
NODES_TILES = ("Nodes", "Step time [ms]", "Energy per batch [J]", CAPITAL, BILLION_SAMPLES)
RATIO = "Effective training time ratio"
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
    is_long = (quantity(TRAINED, result) or 0.0) >= LEAST_SECONDS
    names = [name for name in RUN_TILES if quantity(name, result) is not None and (name != RATIO or is_long)]
    if names:
        draw(result, {}, names)


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
    baseline = results_by_system.get(baseline_system) if result.scenario.system != baseline_system else None
    with st.container(key=f"tiles-{'estimate' if BILLION_SAMPLES in tile_names else 'run'}"):
        columns = st.columns(len(tile_names))
    for column, name in zip(columns, tile_names, strict=True):
        delta = change(quantity(name, result), quantity(name, baseline) if baseline else None)
        column.metric(
            HELD_OUT.get(name, label(name)),
            quantity_text(name, result),
            delta or None,
            delta_color="off" if delta == "same" else COLOUR["lower" if name in RUNNING_COSTS else better_direction(name)],
            delta_arrow="off" if delta == "same" else "auto",
        )
        if sure is None and name not in RUNNING_COSTS:
            column.caption(WAITING)
        elif sure and name in sure:
            column.caption(escape_markdown(sure[name].band), help="\n\n".join(map(escape_markdown, sure[name].sentences)))
    if BILLION_SAMPLES in tile_names:
        with st.container(key="summary"):  # a phone shows this line instead of the tiles
            summary_parts = (
                f"{label(name)} {quantity_text(name, result)}" for name in tile_names if quantity(name, result) is not None
            )
            st.caption(escape_markdown(", ".join(summary_parts)))
    notes = [f"Changes are against {system_title(baseline_system)} with its own link and policies."] if baseline else []
    notes += ["Under each number: its range in 9 of 10 draws of all constants."] if sure else []
    notes += [RATIO_NOTE] if RATIO in tile_names else []
    help_sentences = [
        ENERGY_NOTES[result.scenario.machine.energy_level],
        *([assumptions(result.scenario)] if BILLION_SAMPLES in tile_names else []),
    ]
    # Without notes the sentences of the help stand in their place.
    st.caption(" ".join(notes or help_sentences), help=" ".join(help_sentences) if notes else None)
