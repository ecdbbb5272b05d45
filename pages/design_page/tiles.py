"""The tiles: the five numbers that answer "how good is it, and what does it cost", with the change against the baseline."""

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


def of_estimate(result: Result, others: Mapping[str, Result], sure: Future[Mapping[str, Sure]]) -> None:
    """Draw the tiles of an estimate; how sure each one is follows once that is found."""
    shown = OF_AN_ESTIMATE if result.scenario.machine.target_throughput is None else OF_NODES
    known = None if not sure.done() else questions.NOTHING if sure.exception() else sure.result()
    draw(result, others, shown, sure=known)


def draw(
    result: Result,
    others: Mapping[str, Result],
    shown: Sequence[str] = OF_AN_ESTIMATE,
    sure: Mapping[str, Sure] | None = questions.NOTHING,
) -> None:
    """Draw one tile a result, compared with the baseline system on the same machine, and how sure it is where known."""
    against = question.baseline_system(result.scenario)
    before = figures(others[against]) if against in others and result.scenario.system != against else {}
    own, money = figures(result), units(result.scenario)
    with st.container(key=f"tiles-{'estimate' if BILLION in shown else 'run'}"):
        columns = st.columns(len(shown))
    for column, name in zip(columns, shown, strict=True):
        value = own.get(name)
        delta = change(value, before.get(name))
        column.metric(
            HELD_OUT.get(name, label(name)),
            readable(value, money.get(name, unit(name)), error_of(name, own)),
            delta or None,
            delta_color="off" if delta == "same" else COLOUR["lower" if name in RUNNING else better(name)],
            delta_arrow="off" if delta == "same" else "auto",
        )
        if sure is None and name not in RUNNING:
            column.caption(WAITING)
        elif sure and name in sure:
            column.caption(plain(sure[name].band), help="\n\n".join(map(plain, sure[name].story)))
    if BILLION in shown:
        with st.container(key="summary"):  # a phone has it for the tiles
            told = (
                f"{label(name)} {readable(own[name], money.get(name, unit(name)))}" for name in shown if own.get(name) is not None
            )
            st.caption(plain(", ".join(told)))
    notes = [f"Against {system_title(against)} with its own link and policies."] if before else []
    notes += ["Under a number: its range in 9 of 10 draws of all constants."] if sure else []
    notes += [STRUCK] if RATIO in shown else []
    more = [COUNTED[result.scenario.machine.energy_level], *([assumptions(result.scenario)] if BILLION in shown else [])]
    st.caption(" ".join(notes), help=" ".join(more))


def units(scenario: Scenario) -> Mapping[str, str]:
    """Return the units of amounts of money, with their year."""
    return {COST: dollars(scenario), MONTH: electricity_dollars(scenario), BILLION: running_dollars(scenario)}


def figures(result: Result) -> Mapping[str, float | None]:
    """Return a result's numbers, and what its machine costs to run."""
    costs = running_costs(result)
    return {**result.results, MONTH: costs.electricity_month, BILLION: costs.billion} if costs else result.results
