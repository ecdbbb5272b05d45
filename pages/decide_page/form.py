"""The form of Decide: what is required, what a failure may lose, what is to be least, and which parts may be used."""

from collections.abc import Callable, Mapping

import streamlit as st

from engine.analysis.verdict.allowed import ON_SALE, AllowedParts
from engine.analysis.verdict.report.asked import COST
from engine.analysis.verdict.space import KNOBS as SPACE
from engine.analysis.verdict.space import RESET
from engine.scenario.scenario import KNOBS
from engine.sweep.links import Opened
from engine.sweep.questions import Questions
from pages.ui import knob_widgets, palette, session
from pages.ui.page_link import LinkPart, PageLink

MUST, VALUE, BUDGET, LOSE, MOST = "decide must", "decide value", "decide budget", "decide lose", "decide most"
LEAST, PARTS, GPU = "decide least", "decide parts", "decide gpu"
FIRST: Mapping[str, str] = {MUST: "", VALUE: "", BUDGET: "", LOSE: "", MOST: "", LEAST: COST, PARTS: ON_SALE, GPU: ""}
REQUIREMENTS: Mapping[str, str] = {
    "": "no speed",
    "throughput": "samples/s, at least",
    "step-ms": "ms a batch, at most",
    "as": "as fast as",
    "days": "days for samples",
}
EXAMPLES = {"throughput": "such as 1e6", "step-ms": "such as 5", "days": "such as 7:1e12"}
LOSSES: Mapping[str, str] = {"": "anything", "nothing": "nothing", "batches": "N batches", "minutes": "N minutes"}
NUMBERED = ("batches", "minutes")
OBJECTIVES: Mapping[str, str] = {
    "cost": "cost",
    "capital": "price",
    "energy": "energy",
    "time": "time",
}
STATES: Mapping[str, str] = {
    ON_SALE: "on sale",
    "on-sale,announced": "on sale, announced",
    "all": "also discontinued",
}
POPULARITY = "data.popularity"
MORE = ("faults.rates", "faults.power_loss_mtbf_hours", "machine.prices", "machine.training_hours_a_month", "machine.owned_parts")
ANY = "any"
SHOWN = (POPULARITY, *MORE)
SEARCHED = {*RESET, *SPACE, "system", "policy.protection"}  # knobs that the page searches itself, whatever they are


def asked() -> Questions:
    """Return what the form asks, as links write it."""
    return asked_of({_kept(key): st.session_state.get(_kept(key), first) for key, first in FIRST.items()})


def asked_of(state: Mapping[str, object]) -> Questions:
    """Return what a form of such a session asks."""
    held = {key: str(state[_kept(key)]) for key in FIRST}
    must, lose = held[MUST] if held[VALUE].strip() else "", held[LOSE]
    lose = "" if lose in NUMBERED and not held[MOST].strip() else lose  # nothing is asked until its number is written
    require = [f"{must}={held[VALUE].strip()}"] * bool(must) + [f"budget={held[BUDGET].strip()}"] * bool(held[BUDGET].strip())
    parts = ",".join(filter(None, (held[PARTS], held[GPU] and f"gpu={held[GPU]}")))
    return Questions(
        require=tuple(require),
        lose=lose if lose in ("", "nothing") else f"{lose}={held[MOST].strip()}",
        objective="" if held[LEAST] == COST else held[LEAST],
        parts="" if parts == ON_SALE else parts,
    )


def to_link() -> LinkPart:
    """Return what the page is asked now."""
    return LinkPart(questions=asked())


def from_link(link: Opened) -> None:
    """Set the form to what a link asks; only before it is drawn."""
    asked, held = link.questions, dict(FIRST)
    for text in asked.require:
        name, _, value = text.partition("=")
        held |= {BUDGET: value} if name == "budget" else {MUST: name, VALUE: value}
    name, _, value = asked.lose.partition("=")
    words = [word for word in (asked.parts or ON_SALE).split(",") if word]
    gpus = [word.partition("=")[2] for word in words if word.startswith("gpu=")]
    states = ",".join(word for word in words if not word.startswith("gpu=")) or ON_SALE
    held |= {LOSE: name, MOST: value, LEAST: asked.objective or COST, PARTS: states, GPU: gpus[-1] if gpus else ""}
    for key, one in held.items():
        st.session_state.pop(key, None)
        st.session_state[_kept(key)] = one


LINK = PageLink(to_link, from_link)


def unasked() -> str:
    """Return which number is still to be written before anything is asked of it; "" for none."""
    held = {key: str(st.session_state.get(_kept(key), first)).strip() for key, first in FIRST.items()}
    if held[LOSE] in NUMBERED and not held[MOST]:
        return f"Write N, the {held[LOSE]} that a failure may lose: until then it may lose anything."
    return "Write the value that must be reached: until then none is." if held[MUST] and not held[VALUE] else ""


def draw(refused: Mapping[str, str], draw_model: Callable[[], None], draw_chips: Callable[[], None]) -> None:
    """Draw the form; each widget's value is kept beside it, since Streamlit forgets it with the widget."""
    with st.container(key="decide-form"):
        columns = st.columns((8, 5, 6, 4, 4, 5, 3, 5, 5), vertical_alignment="bottom")
        model, popularity, must, value, budget, lose, most, least, parts = columns
        with model:
            draw_model()
        with popularity:
            knob_widgets.draw_alone(KNOBS[POPULARITY])
        with must:
            _choose(MUST, "Must reach", REQUIREMENTS)
        chosen = str(st.session_state[MUST])
        with value:
            _value(chosen)
        with budget:
            _write(BUDGET, "Budget [USD]", "none")
        with lose:
            _choose(LOSE, "Failure may lose", LOSSES)
        with most:
            _write(MOST, "N", "-", disabled=st.session_state[LOSE] not in NUMBERED)
        with least:
            _choose(LEAST, "Minimise", OBJECTIVES)
        with parts:
            _choose(PARTS, "Parts", _states())
        with st.container(horizontal=True, vertical_alignment="center", key="decide-more"):
            with st.popover("GPU, failures, prices", type="tertiary"):
                names = AllowedParts(str(st.session_state[_kept(PARTS)])).of("gpu")
                _choose(GPU, "GPU", {"": ANY, **{name: name for name in names}})
                for path in MORE:
                    knob_widgets.draw(KNOBS[path], refused.get(path, ""))
            draw_chips()
        if said := unasked():
            st.caption(f":red[{said}]")


def _kept(key: str) -> str:
    return f"kept {key}"


def _states() -> Mapping[str, str]:
    """Return the choices of parts, with what a link names otherwise."""
    held = str(st.session_state.get(_kept(PARTS), ON_SALE))
    return STATES if held in STATES else {**STATES, held: held}


def _value(must: str) -> None:
    if must == "as":
        _choose(VALUE, "System", {name: name for name in palette.systems()})
    else:
        _write(VALUE, "Value", EXAMPLES.get(must, "none"), disabled=not must)


def _choose(key: str, label: str, options: Mapping[str, str]) -> None:
    held = str(st.session_state.get(_kept(key), FIRST[key]))
    names = list(options)
    st.session_state[key] = held if held in names else names[0]
    st.selectbox(
        label,
        names,
        session.place(names, key),
        key=key,
        format_func=lambda name: options.get(name, name),
        on_change=_keep,
        args=(key,),
    )
    st.session_state[_kept(key)] = st.session_state[key]


def _write(key: str, label: str, example: str, disabled: bool = False) -> None:
    st.session_state[key] = str(st.session_state.get(_kept(key), ""))
    st.text_input(label, st.session_state[key], key=key, placeholder=example, disabled=disabled, on_change=_keep, args=(key,))


def _keep(key: str) -> None:
    st.session_state[_kept(key)] = st.session_state[key]
