"""The form of Decide: requirement, allowed loss by a failure, objective, and allowed parts."""

from collections.abc import Callable, Mapping

import streamlit as st

from engine.analysis.verdict.allowed import ON_SALE, AllowedParts
from engine.analysis.verdict.report.asked import COST
from engine.analysis.verdict.space import KNOBS as SPACE
from engine.analysis.verdict.space import RESET_KNOBS
from engine.scenario.scenario import KNOBS
from engine.sweep.links import OpenedLink
from engine.sweep.questions import LinkQuestions
from pages.ui import knob_widgets, palette, session
from pages.ui.page_link import LinkPart, PageLink

REQUIREMENT, REQUIRED_VALUE, BUDGET, LOSS, LOSS_LIMIT = (
    "decide must",
    "decide value",
    "decide budget",
    "decide lose",
    "decide most",
)
OBJECTIVE, PARTS, GPU = "decide least", "decide parts", "decide gpu"
DEFAULTS: Mapping[str, str] = {
    REQUIREMENT: "",
    REQUIRED_VALUE: "",
    BUDGET: "",
    LOSS: "",
    LOSS_LIMIT: "",
    OBJECTIVE: COST,
    PARTS: ON_SALE,
    GPU: "",
}
REQUIREMENTS: Mapping[str, str] = {
    "": "any speed",
    "throughput": "samples/s, at least",
    "step-ms": "ms a batch, at most",
    "as": "as fast as",
    "days": "days for samples",
}
EXAMPLES = {"throughput": "such as 1e6", "step-ms": "such as 5", "days": "such as 7:1e12"}
LOSSES: Mapping[str, str] = {"": "anything", "nothing": "nothing", "batches": "N batches", "minutes": "N minutes"}
NUMBERED = ("batches", "minutes")
OBJECTIVES: Mapping[str, str] = {
    "cost": "running cost",
    "capital": "capital cost",
    "energy": "energy",
    "time": "time",
}
STATES: Mapping[str, str] = {
    ON_SALE: "on sale",
    "on-sale,announced": "on sale or announced",
    "all": "also discontinued",
}
POPULARITY = "data.popularity"
MORE_KNOBS = (
    "faults.rates",
    "faults.power_loss_mtbf_hours",
    "machine.prices",
    "machine.training_hours_a_month",
    "machine.owned_parts",
)
ANY_GPU = "any"
SHOWN_KNOBS = (POPULARITY, *MORE_KNOBS)
SEARCHED = {*RESET_KNOBS, *SPACE, "system", "policy.protection"}  # knobs that the page searches itself, whatever they are


def form_questions() -> LinkQuestions:
    """Return the form's questions, as links write them."""
    return questions_of({_kept_key(key): st.session_state.get(_kept_key(key), default) for key, default in DEFAULTS.items()})


def questions_of(state: Mapping[str, object]) -> LinkQuestions:
    """Return the questions of a form whose session state is `state`."""
    form_values = {key: str(state[_kept_key(key)]) for key in DEFAULTS}
    requirement, lose = form_values[REQUIREMENT] if form_values[REQUIRED_VALUE].strip() else "", form_values[LOSS]
    lose = "" if lose in NUMBERED and not form_values[LOSS_LIMIT].strip() else lose  # without a number the loss is not limited
    require = [f"{requirement}={form_values[REQUIRED_VALUE].strip()}"] * bool(requirement) + [
        f"budget={form_values[BUDGET].strip()}"
    ] * bool(form_values[BUDGET].strip())
    parts = ",".join(filter(None, (form_values[PARTS], form_values[GPU] and f"gpu={form_values[GPU]}")))
    return LinkQuestions(
        require=tuple(require),
        lose=lose if lose in ("", "nothing") else f"{lose}={form_values[LOSS_LIMIT].strip()}",
        objective="" if form_values[OBJECTIVE] == COST else form_values[OBJECTIVE],
        parts="" if parts == ON_SALE else parts,
    )


def to_link() -> LinkPart:
    """Return the page's part of a link: its present questions."""
    return LinkPart(questions=form_questions())


def from_link(link: OpenedLink) -> None:
    """Set the form to the questions of a link; call before the form is drawn."""
    questions, form_values = link.questions, dict(DEFAULTS)
    for text in questions.require:
        name, _, amount = text.partition("=")
        form_values |= {BUDGET: amount} if name == "budget" else {REQUIREMENT: name, REQUIRED_VALUE: amount}
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
    }
    for key, form_value in form_values.items():
        st.session_state.pop(key, None)
        st.session_state[_kept_key(key)] = form_value


LINK = PageLink(to_link, from_link)


def missing_value_note() -> str:
    """Return a note on the number that a question still needs; "" if it needs none."""
    form_values = {key: str(st.session_state.get(_kept_key(key), default)).strip() for key, default in DEFAULTS.items()}
    if form_values[LOSS] in NUMBERED and not form_values[LOSS_LIMIT]:
        return f"Write N, the number of {form_values[LOSS]} that a failure may lose; until then the loss has no limit."
    return (
        "Write the value that the machine must reach; until then there is no requirement."
        if form_values[REQUIREMENT] and not form_values[REQUIRED_VALUE]
        else ""
    )


def draw(refused: Mapping[str, str], draw_model: Callable[[], None], draw_chips: Callable[[], None]) -> None:
    """Draw the form.

    refused: sentences by knob path. draw_model, draw_chips: draw the choice of the model, and the changed knobs.
    Each value is also stored outside its widget, since Streamlit forgets the values of widgets that are not drawn.
    """
    with st.container(key="decide-form"):
        columns = st.columns((8, 5, 6, 4, 4, 5, 3, 5, 5), vertical_alignment="bottom")
        (
            model_column,
            popularity_column,
            must_column,
            value_column,
            budget_column,
            lose_column,
            most_column,
            least_column,
            parts_column,
        ) = columns
        with model_column:
            draw_model()
        with popularity_column:
            knob_widgets.draw_alone(KNOBS[POPULARITY])
        with must_column:
            _draw_choice(REQUIREMENT, "Must reach", REQUIREMENTS)
        requirement = str(st.session_state[REQUIREMENT])
        with value_column:
            _draw_value(requirement)
        with budget_column:
            _draw_field(BUDGET, "Budget [USD]", "none")
        with lose_column:
            _draw_choice(LOSS, "A failure may lose", LOSSES)
        with most_column:
            _draw_field(LOSS_LIMIT, "N", "-", disabled=st.session_state[LOSS] not in NUMBERED)
        with least_column:
            _draw_choice(OBJECTIVE, "Minimise", OBJECTIVES)
        with parts_column:
            _draw_choice(PARTS, "Parts", _state_choices())
        with st.container(horizontal=True, vertical_alignment="center", key="decide-more"):
            with st.popover("GPU, failures, prices", type="tertiary"):
                names = AllowedParts(str(st.session_state[_kept_key(PARTS)])).parts_of_knob("gpu")
                _draw_choice(GPU, "GPU", {"": ANY_GPU, **{name: name for name in names}})
                for path in MORE_KNOBS:
                    knob_widgets.draw(KNOBS[path], refused.get(path, ""))
            draw_chips()
        if hint := missing_value_note():
            st.caption(f":red[{hint}]")


def _kept_key(key: str) -> str:
    return f"kept {key}"


def _state_choices() -> Mapping[str, str]:
    """Return the choices of parts, with a link's own choice."""
    states = str(st.session_state.get(_kept_key(PARTS), ON_SALE))
    return STATES if states in STATES else {**STATES, states: states}


def _draw_value(requirement: str) -> None:
    if requirement == "as":
        _draw_choice(REQUIRED_VALUE, "System", {name: name for name in palette.systems()})
    else:
        _draw_field(REQUIRED_VALUE, "Value", EXAMPLES.get(requirement, "none"), disabled=not requirement)


def _draw_choice(key: str, label: str, options: Mapping[str, str]) -> None:
    choice = str(st.session_state.get(_kept_key(key), DEFAULTS[key]))
    names = list(options)
    st.session_state[key] = choice if choice in names else names[0]
    st.selectbox(
        label,
        names,
        session.option_index(names, key),
        key=key,
        format_func=lambda name: options.get(name, name),
        on_change=_keep_choice,
        args=(key,),
    )
    st.session_state[_kept_key(key)] = st.session_state[key]


def _draw_field(key: str, label: str, example: str, disabled: bool = False) -> None:
    st.session_state[key] = str(st.session_state.get(_kept_key(key), ""))
    st.text_input(
        label, st.session_state[key], key=key, placeholder=example, disabled=disabled, on_change=_keep_choice, args=(key,)
    )


def _keep_choice(key: str) -> None:
    st.session_state[_kept_key(key)] = st.session_state[key]
