"""The form of Decide: requirement, allowed loss by a failure, objective, allowed parts, and software."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from engine.analysis.verdict.allowed import ON_SALE, AllowedParts
from engine.analysis.verdict.report.asked import COST
from engine.analysis.verdict.space import KNOBS as SPACE
from engine.analysis.verdict.space import RESET_KNOBS
from engine.analysis.verdict.stacks import FRAMEWORK
from engine.scenario.scenario import KNOBS
from engine.sweep.links import OpenedLink
from engine.sweep.questions import LinkQuestions
from pages.decide_page import owned_fields, software_fields
from pages.decide_page.stored_fields import draw_choice, draw_text, store, stored_key, stored_value
from pages.ui import knob_widgets, palette, session
from pages.ui.page_link import LinkPart, PageLink

REQUIREMENT, REQUIRED_VALUE, BUDGET, LOSS, LOSS_LIMIT = (
    "decide must",
    "decide value",
    "decide budget",
    "decide lose",
    "decide most",
)
OBJECTIVE, PARTS, GPU, WEEKS = "decide least", "decide parts", "decide gpu", "decide weeks"
DEFAULTS: Mapping[str, str] = {
    REQUIREMENT: "",
    REQUIRED_VALUE: "",
    BUDGET: "",
    LOSS: "",
    LOSS_LIMIT: "",
    OBJECTIVE: COST,
    PARTS: ON_SALE,
    GPU: "",
    WEEKS: "",
    **software_fields.DEFAULTS,
}
REQUIREMENTS: Mapping[str, str] = {
    "": "any speed",
    "throughput": "samples/s, at least",
    "step-ms": "ms a batch, at most",
    "as": "as fast as",
    "days": "days for samples",
}
FIELD_BY_LIMIT: Mapping[str, str] = {"budget": BUDGET, "weeks": WEEKS}  # limits with a field of their own
EXAMPLES = {"throughput": "such as 1e6", "step-ms": "such as 5", "days": "such as 7:1e12"}
LOSSES: Mapping[str, str] = {"": "anything", "nothing": "nothing", "batches": "N batches", "minutes": "N minutes"}
NUMBERED = ("batches", "minutes")
OBJECTIVES: Mapping[str, str] = {
    "cost": "running cost",
    "month": "cost a month",
    "capital": "capital cost",
    "energy": "energy",
    "time": "time",
}
STATES: Mapping[str, str] = {
    ON_SALE: "on sale",
    "on-sale,announced": "on sale or announced",
    "all": "also discontinued",
}
POPULARITY, ROWS = "data.popularity", "model.row_precision"
MORE_KNOBS = (
    "faults.rates",
    "faults.power_loss_mtbf_hours",
    "machine.prices",
    "machine.training_hours_a_month",
)
ANY_GPU = "any"
SHOWN_KNOBS = (POPULARITY, ROWS, *MORE_KNOBS, owned_fields.OWNED_PARTS)
# Knobs that the page searches itself, whatever they are.
SEARCHED = {*RESET_KNOBS, *SPACE, FRAMEWORK, "system", "policy.protection"}


def form_questions() -> LinkQuestions:
    """Return the form's questions, as links write them."""
    return questions_of({stored_key(key): stored_value(key, default) for key, default in DEFAULTS.items()})


def questions_of(state: Mapping[str, object]) -> LinkQuestions:
    """Return the questions of a form whose session state is `state`."""
    form_values = {key: str(state[stored_key(key)]) for key in DEFAULTS}
    requirement, lose = form_values[REQUIREMENT] if form_values[REQUIRED_VALUE].strip() else "", form_values[LOSS]
    lose = "" if lose in NUMBERED and not form_values[LOSS_LIMIT].strip() else lose  # without a number the loss is not limited
    require = [f"{requirement}={form_values[REQUIRED_VALUE].strip()}"] * bool(requirement)
    require += [f"{name}={form_values[key].strip()}" for name, key in FIELD_BY_LIMIT.items() if form_values[key].strip()]
    parts = ",".join(filter(None, (form_values[PARTS], form_values[GPU] and f"gpu={form_values[GPU]}")))
    software, precision = software_fields.link_words(form_values)
    return LinkQuestions(
        require=tuple(require),
        lose=lose if lose in ("", "nothing") else f"{lose}={form_values[LOSS_LIMIT].strip()}",
        objective="" if form_values[OBJECTIVE] == COST else form_values[OBJECTIVE],
        parts="" if parts == ON_SALE else parts,
        software=software,
        precision=precision,
    )


def to_link() -> LinkPart:
    """Return the page's part of a link: its present questions."""
    return LinkPart(questions=form_questions())


def from_link(link: OpenedLink) -> None:
    """Set the form to the questions of a link; call before the form is drawn."""
    set_form(link.questions)


def set_form(questions: LinkQuestions) -> None:
    """Set the form to questions; call before the form is drawn, or in a callback."""
    form_values = dict(DEFAULTS)
    for text in questions.require:
        name, _, amount = text.partition("=")
        form_values |= {FIELD_BY_LIMIT[name]: amount} if name in FIELD_BY_LIMIT else {REQUIREMENT: name, REQUIRED_VALUE: amount}
    name, _, amount = questions.lose.partition("=")
    words = [word for word in (questions.parts or ON_SALE).split(",") if word]
    gpus = [word.partition("=")[2] for word in words if word.startswith("gpu=")]
    states = ",".join(word for word in words if not word.startswith("gpu=")) or ON_SALE
    form_values |= {
        LOSS: name,
        LOSS_LIMIT: amount,
        OBJECTIVE: questions.objective or COST,
        PARTS: states,
        GPU: gpus[-1] if gpus else "",
        **software_fields.form_values_of(questions),
    }
    store(form_values)


LINK = PageLink(to_link, from_link)


def missing_value_note() -> str:
    """Return a note on the number that a question still needs; "" if it needs none."""
    form_values = {key: stored_value(key, default).strip() for key, default in DEFAULTS.items()}
    if form_values[LOSS] in NUMBERED and not form_values[LOSS_LIMIT]:
        return f"Write N, the number of {form_values[LOSS]} that a failure may lose; until then the loss has no limit."
    if software_fields.needs_number():
        return software_fields.NO_NUMBER
    return (
        "Write the value that the machine must reach; until then there is no requirement."
        if form_values[REQUIREMENT] and not form_values[REQUIRED_VALUE]
        else ""
    )


def draw(refused: Mapping[str, str], draw_model: Callable[[], None], draw_chips: Callable[[], None]) -> None:
    """Draw the form.

    refused: sentences by knob path. draw_model, draw_chips: draw the choice of the model, and the changed knobs.
    """
    with st.container(key="decide-form"):
        _draw_row((8, 5, 6, 4, 4, 5, 3), (draw_model, _draw_popularity, *DEMANDS))
        _draw_row((4, 4, 6, 2, 4, 4, 4), (*MEANS, partial(_draw_more, refused)))
        with st.container(horizontal=True, vertical_alignment="center", key="decide-more"):
            draw_chips()
        if hint := missing_value_note():
            st.caption(f":red[{hint}]")


def _draw_more(refused: Mapping[str, str]) -> None:
    with st.popover("GPU, failures, prices", type="tertiary", key="decide-popover"):
        names = AllowedParts(stored_value(PARTS, ON_SALE)).parts_of_knob("gpu")
        draw_choice(GPU, "GPU", {"": ANY_GPU, **{name: name for name in names}})
        draw_text(WEEKS, "Needed in [weeks]", "any time")
        owned_fields.draw("decide", refused.get(owned_fields.OWNED_PARTS, ""))
        for path in MORE_KNOBS:
            knob_widgets.draw(KNOBS[path], refused.get(path, ""))


def _state_choices() -> Mapping[str, str]:
    """Return the choices of parts, with a link's own choice."""
    states = stored_value(PARTS, ON_SALE)
    return STATES if states in STATES else {**STATES, states: states}


def _draw_row(widths: Sequence[int], fields: Sequence[Callable[[], None]]) -> None:
    for column, draw_field in zip(st.columns(widths, vertical_alignment="bottom"), fields, strict=True):
        with column:
            draw_field()


def _draw_popularity() -> None:
    knob_widgets.draw_alone(KNOBS[POPULARITY])


def _draw_value() -> None:
    requirement = stored_value(REQUIREMENT)
    if requirement == "as":
        draw_choice(REQUIRED_VALUE, "System", {name: name for name in palette.systems()})
    else:
        draw_text(REQUIRED_VALUE, "Value", EXAMPLES.get(requirement, "none"), disabled=not requirement)


DEMANDS: tuple[Callable[[], None], ...] = (
    lambda: draw_choice(REQUIREMENT, "Must reach", REQUIREMENTS),
    _draw_value,
    lambda: draw_text(BUDGET, "Budget [USD]", "none"),
    lambda: draw_choice(LOSS, "A failure may lose", LOSSES),
    lambda: draw_text(LOSS_LIMIT, "N", "-", disabled=stored_value(LOSS) not in NUMBERED),
)
MEANS: tuple[Callable[[], None], ...] = (
    lambda: draw_choice(OBJECTIVE, "Minimise", OBJECTIVES, COST),
    lambda: draw_choice(PARTS, "Parts", _state_choices(), ON_SALE),
    software_fields.draw_software,
    software_fields.draw_loop,
    lambda: software_fields.draw_precision(session.scenario()),
    lambda: knob_widgets.draw_alone(KNOBS[ROWS]),
)
