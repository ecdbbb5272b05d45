"""Fields for the software that a machine may use, on Start and on Decide; both pages share their values."""

from collections.abc import Mapping

import streamlit as st

from engine.analysis.verdict.stacks import ANY, EXISTS, LAYERS, OWN_LOOP
from engine.hardware.software import LAYERS as PRECISIONS
from engine.scenario.scenario import KNOBS, Scenario, values
from engine.sweep.questions import LinkQuestions
from pages.decide_page.stored_fields import draw_choice, draw_text, stored_value

SOFTWARE, LOOP_MS, PRECISION = "decide software", "decide loop", "decide precision"
DEFAULTS: Mapping[str, str] = {SOFTWARE: EXISTS, LOOP_MS: "", PRECISION: ""}
# A word of links each: of a framework where several programs have its loop.
CHOICES: Mapping[str, str] = {
    EXISTS: "any that exists",
    "torchrec": "TorchRec",
    "hugectr": "HugeCTR",
    "tensorflow": "TensorFlow",
    "pytorch-graph": "PyTorch in CUDA graphs",
    OWN_LOOP: "mine: N ms a step",
    ANY: "any, even if unwritten",
}
HELP = (
    "What trains decides the time of a step as much as the machine does. The answer names only machines for which software "
    "exists. Machines whose software would have to be written stand beside it, with dashed bars; the last choice allows them too."
)


def draw_software() -> None:
    """Draw the choice of software, with a link's own choice."""
    choice = stored_value(SOFTWARE, EXISTS)
    draw_choice(SOFTWARE, "Software", CHOICES if choice in CHOICES else {**CHOICES, choice: choice}, EXISTS, HELP)


def draw_loop() -> None:
    """Draw the field for the ms a step of one's own software."""
    draw_text(LOOP_MS, "N [ms]", "-", disabled=not is_own())


def draw_precision(scenario: Scenario | None = None) -> None:
    """Draw the choice of the layers' precision; without a scenario, before a model is chosen."""
    precision = str(values(scenario)[LAYERS]) if scenario else KNOBS[LAYERS].default
    usual = "as published runs" if precision == KNOBS[LAYERS].default else f"{precision}, as set"
    draw_choice(PRECISION, "Layers in", {"": usual, **{name: name for name in PRECISIONS}})


def is_own() -> bool:
    """Return whether one's own software is chosen, whose ms a step the visitor knows."""
    return stored_value(SOFTWARE) == OWN_LOOP


def needs_number() -> bool:
    """Return whether one's own software is chosen without its ms a step."""
    return is_own() and not stored_value(LOOP_MS).strip()


def draw_hint() -> None:
    """Draw a note that the ms a step are missing; nothing if they are there."""
    if needs_number():
        st.caption(f":red[{NO_NUMBER}]")


NO_NUMBER = "Write N, the ms that your software takes for a step; until then any software that exists may be used."


def link_words(form_values: Mapping[str, str]) -> tuple[str, str]:
    """Return software and precision as links write them, "" for the defaults."""
    software, milliseconds = form_values[SOFTWARE], form_values[LOOP_MS].strip()
    if software == OWN_LOOP:
        software = f"{OWN_LOOP}={milliseconds}" if milliseconds else EXISTS
    return "" if software == EXISTS else software, form_values[PRECISION]


def form_values_of(questions: LinkQuestions) -> Mapping[str, str]:
    """Return the fields' values for a link's questions."""
    name, equals, milliseconds = questions.software.partition("=")
    own = bool(equals) and name == OWN_LOOP
    return {
        SOFTWARE: OWN_LOOP if own else questions.software or EXISTS,
        LOOP_MS: milliseconds if own else "",
        PRECISION: questions.precision,
    }
