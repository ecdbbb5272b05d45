"""The row of the page Failures: failures, machine, checkpoints and power losses in a sentence whose fields set the knobs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import streamlit as st

from engine.campaign.fault_stream import hazards_of
from engine.campaign.monthly import failure_row, losses
from engine.campaign.monthly.failure_row import MINUTES_KNOB, PERIODS, POWER_KNOB, PROTECTION_KNOB, FailureRow
from engine.core.figures import count, exact, figure
from engine.errors import BadKnob, EmberpoolError
from engine.registry import load, names
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.units import HOUR, MINUTE
from pages.failures_page.campaigns import CURVE, POWER_LOSS, own, supposed
from pages.ui import session
from pages.ui.plain import plain

FAILURES, PERIOD, NODES, GPUS = "row failures", "row period", "row nodes", "row gpus"
MINUTES, PROTECTION, POWER = "row minutes", "row protection", "row power"
ROW = (FAILURES, PERIOD, NODES, GPUS)
REFUSED, BETWEEN = "row refused", "row between"
A_NODE = ", each node"
BETWEENS = (*PERIODS, *(f"{name}{A_NODE}" for name in PERIODS))
MOST = 1e9
NEVER = "never"
POWERS: Mapping[str, float | None] = MappingProxyType({NEVER: None, **{f"every {name}": PERIODS[name] for name in PERIODS}})
PLACES = MappingProxyType({
    "periodic-ssd": "SSD",
    "periodic-full": "remote storage",
    "periodic-overlapped": "host memory, then remote storage",
    "check-n-run": "remote storage, changed rows (Check-N-Run)",
    "cpr": "remote storage, partial recovery (CPR)",
    "none": "nothing",
})  # fmt: skip
RATES: Mapping[str, Mapping[str, Any]] = {
    "Llama 3's rates, 2,048 machines": {"faults.rates": "llama3", "faults.machines": 2048, POWER_LOSS: None},
    "Llama 3's rates, this machine": {"faults.rates": "llama3", "faults.machines": 1, POWER_LOSS: None},
}
ACTS = (
    "Failures, machine and power losses act in full runs too; checkpoints act on this page alone. Nodes, GPUs and prices are "
    "those of all pages."
)


def draw(asked: Scenario, shown: Scenario) -> None:
    """Draw the row with what the knobs of the shown scenario hold, what was refused of it, and the usual settings."""
    row = held(shown)
    refused = _refused(shown)
    _fill(row, shown, refused)
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall", key="failure-row"):
        _field(FAILURES, "Failures", 52, _failures_changed)
        _words("failures a")
        _choice(PERIOD, "Time of the failures, of all nodes or of each", BETWEENS, 92, _failures_changed)
        _words("on")
        _field(NODES, "Nodes", 60, _failures_changed)
        _words("nodes of")
        _field(GPUS, "GPUs of a node", 46, _failures_changed)
        _words("GPUs; checkpoint every")
        periodic = load("protections", shown.policy.protection).periodic
        _field(MINUTES, "Checkpoint period [min]", 56, _minutes_changed, "best" if periodic else "—")
        _words("min to")
        _choice(PROTECTION, "Checkpoint to", names("protections"), 172, _protection_changed, place_name)
        _words("; power lost")
        _choice(POWER, "Power lost", _powers(shown), 122, _power_changed)
    if refused and not refusal(shown):
        st.caption(f":red[{plain(refused[1])}]")
    for sentence in notes(asked, shown, row):
        st.caption(plain(sentence))
    _offers(shown, refused)


def refusal(shown: Scenario) -> str:
    """Return why the failures or the machine that are written are not computed, "" where they are."""
    refused = _refused(shown)
    return refused[1] if refused and refused[0].keys() & {*ROW} else ""


def draw_presses(shown: Scenario, best: losses.ProtectionLoss | None, least: losses.ProtectionLoss | None) -> None:
    """Draw the buttons: the best period, the protection that loses least, the system's own log, and usual rates."""
    with st.container(horizontal=True, key="failure-presses"):
        if best and best.period:
            minutes = float(f"{best.period / MINUTE:.3g}")
            told = f"Take the best period, {figure(best.period, 's')}"
            st.button(told, on_click=_set, args=({MINUTES_KNOB: minutes},), key="take period")
        if least:
            press = {PROTECTION_KNOB: least.name, MINUTES_KNOB: None}
            st.button(f"Take {losses.inside(least.title)}", on_click=_set, args=(press,), key="take protection")
        log = {PROTECTION_KNOB: own(shown)}
        st.button("The system's own log", on_click=_set, args=(log,), help="As estimates and full runs have it.", key="own log")
        for name, pressed in RATES.items():
            st.button(name, on_click=_set, args=(pressed,))


def held(shown: Scenario) -> FailureRow:
    """Return the row that the knobs hold, in the time that was chosen last, or else in the one that reads best."""
    between = str(st.session_state.get(BETWEEN, ""))
    return failure_row.row_of(shown, between.removesuffix(A_NODE), between.endswith(A_NODE))


def place_name(protection: str) -> str:
    """Return where a protection keeps the state, as the row says it."""
    return PLACES.get(protection) or losses.inside(load("protections", protection).title)


def notes(asked: Scenario, shown: Scenario, row: FailureRow) -> list[str]:
    """Return what the row cannot say by itself: an example, replicas, other classes of failures, and where its knobs act."""
    found = []
    if asked is not shown:
        found.append(
            "No fault that can strike is asked for: as an example, power is lost once a day; failures written here replace it."
        )
    if shown.faults.machines > 1:
        title = load("systems", shown.system).title
        found.append(
            f"{count(shown.faults.machines, 'replica')} of {title}'s machine train together; a failure of one stops all of them."
        )
    if not failure_row.as_row_says(shown):
        mix = sorted(failure_row.failing(hazards_of(shown)).items(), key=lambda one: one[1].mtbf or 0.0)
        told = ", ".join(f"{load('faults', name).name} every {figure(one.mtbf, 's')}" for name, one in mix if one.mtbf)
        found.append(f"Failures are {told}; a number written here makes all of them node crashes.")
    listed = sum(len(hazard.at) for hazard in hazards_of(shown).values())
    if listed:
        found.append(f"Besides, {count(listed, 'fault')} at listed instants.")
    if not load("protections", shown.policy.protection).periodic:
        to = place_name(_periodic(asked))
        title = load("protections", shown.policy.protection).title
        found.append(f"{title} has no period; minutes written here checkpoint to {to}.")
    return [" ".join([*found, ACTS])]


def _words(text: str) -> None:
    st.caption(text, width="content")


def _field(key: str, label: str, width: int, changed: Callable[[], None], placeholder: str = "") -> None:
    st.text_input(label, key=key, width=width, on_change=changed, label_visibility="collapsed", placeholder=placeholder)


def _choice(
    key: str, label: str, options: tuple[str, ...], width: int, changed: Callable[[], None], shown: Callable[[str], str] = str
) -> None:
    st.selectbox(
        label,
        options,
        session.place(options, key),
        key=key,
        width=width,
        on_change=changed,
        label_visibility="collapsed",
        format_func=shown,
    )


def _fill(row: FailureRow, shown: Scenario, refused: tuple[Mapping[str, str], str, Scenario] | None) -> None:
    """Set the fields to what the knobs hold, those of a refused change to what was written."""
    minutes = shown.policy.checkpoint_minutes
    between = row.period + A_NODE * row.each_node
    st.session_state.update({
        FAILURES: exact(row.failures).replace(",", ""),
        PERIOD: between,
        NODES: str(row.nodes),
        GPUS: str(row.gpus),
        MINUTES: "" if minutes is None else exact(minutes),
        PROTECTION: shown.policy.protection,
        POWER: power_name(shown.faults.power_loss_mtbf_hours),
        **(refused[0] if refused else {}),
    })  # fmt: skip


def power_name(hours: float | None) -> str:
    """Return how often power is lost, as the row says it."""
    known = {seconds and seconds / HOUR: name for name, seconds in POWERS.items()}
    return known.get(hours) or f"every {figure((hours or 0.0) * HOUR, 's')}"


def _powers(shown: Scenario) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*POWERS, power_name(shown.faults.power_loss_mtbf_hours))))


def _refused(shown: Scenario) -> tuple[Mapping[str, str], str, Scenario] | None:
    """Return what was written and refused, with its sentence, while the scenario is still the one it was refused for."""
    found: tuple[Mapping[str, str], str, Scenario] | None = st.session_state.get(REFUSED)
    if found and found[2] != shown:
        del st.session_state[REFUSED]
        return None
    return found


def _change(base: Scenario, fields: tuple[str, ...], changed: Callable[[Scenario], Scenario]) -> None:
    """Take a change over into the scenario, or keep what was written beside the sentence that refuses it.

    What was refused of other fields stays written and refused.
    """
    before: tuple[Mapping[str, str], str, Scenario] | None = st.session_state.pop(REFUSED, None)
    try:
        session.show(changed(base))
    except EmberpoolError as error:
        written = {key: str(st.session_state[key]) for key in fields}
        st.session_state[REFUSED] = written, str(error), supposed(session.scenario())
    else:
        if before and before[0] and not before[0].keys() & {*fields}:
            st.session_state[REFUSED] = before[0], before[1], supposed(session.scenario())


def _failures_changed() -> None:
    asked = session.scenario()
    kept = {PROTECTION_KNOB: supposed(asked).policy.protection}  # an example's power loss goes, its protection stays

    def changed(base: Scenario) -> Scenario:
        row = _written_row()
        told, before = replace(row, nodes=1, gpus=1), replace(held(base), nodes=1, gpus=1)
        if told == before and not failure_row.as_row_says(base):
            return failure_row.with_machine(base, row)  # published rates are those of a GPU and a node: they stay
        return failure_row.with_row(base, row)

    _change(with_values(asked, kept), ROW, changed)
    st.session_state[BETWEEN] = st.session_state[PERIOD]


def _written_row() -> FailureRow:
    between = str(st.session_state[PERIOD])
    return FailureRow(
        failures=_number(FAILURES, "Failures", 0, MOST),
        period=between.removesuffix(A_NODE),
        each_node=between.endswith(A_NODE),
        nodes=_whole(NODES, "Nodes", KNOBS["faults.machines"].high or 1),
        gpus=_whole(GPUS, "GPUs of a node", KNOBS["machine.gpus_per_node"].high or 1),
    )


def _number(key: str, name: str, low: float, high: float) -> float:
    text = str(st.session_state[key]).strip().replace(",", "")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not low <= value <= high:
        raise BadKnob(f"{name}: {text[:40]!r} is no number from {exact(low)} to {exact(high)}; write one such as 2.")
    return value


def _whole(key: str, name: str, high: float) -> int:
    text = str(st.session_state[key]).strip().replace(",", "")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= high):
        raise BadKnob(f"{name}: {text[:40]!r} is no whole number from 1 to {exact(high)}; write one such as 8.")
    return int(text)


def _minutes_changed() -> None:
    asked, text = session.scenario(), str(st.session_state[MINUTES]).strip()

    def changed(base: Scenario) -> Scenario:
        knob = KNOBS[MINUTES_KNOB]
        minutes = (
            _number(MINUTES, "Checkpoint period", knob.low or 0, knob.high or MOST) if text not in ("", "best", "auto") else None
        )
        return with_values(base, {MINUTES_KNOB: minutes, PROTECTION_KNOB: _periodic(asked)})

    _change(supposed(asked), (MINUTES,), changed)


def _periodic(asked: Scenario) -> str:
    """Return the protection that minutes are for: the chosen one, or full checkpoints where that has none."""
    for name in (supposed(asked).policy.protection, asked.policy.protection):
        if load("protections", name).periodic:
            return name
    return CURVE


def _protection_changed() -> None:
    _set({PROTECTION_KNOB: st.session_state[PROTECTION]})


def _power_changed() -> None:
    name = st.session_state[POWER]
    if name in POWERS:
        seconds = POWERS[name]
        _set({POWER_KNOB: seconds and seconds / HOUR})


def _set(pressed: Mapping[str, Any]) -> None:
    base = supposed(session.scenario())  # what was shown by itself is chosen from now on
    _change(base, (), lambda scenario: with_values(scenario, pressed))


def _offers(shown: Scenario, refused: tuple[Mapping[str, str], str, Scenario] | None) -> None:
    """Draw the systems that can have a machine that was refused for the system's sake, one press each."""
    if not refused or NODES not in refused[0] or load("systems", shown.system).scales:
        return
    try:
        row = _written_row()
    except BadKnob:
        return
    title, shape = load("systems", shown.system).title, f"{count(row.nodes, 'node')} of {count(row.gpus, 'GPU')}"
    with st.container(horizontal=True, key="failure-offers"):
        for offer in failure_row.offers(shown, row):
            protection = _possible(with_values(shown, offer.knobs))
            to = "" if protection == shown.policy.protection else f", checkpoint to {place_name(protection)}"
            told = f"Take {offer.title} instead of {title}: {shape}{to}"
            pressed = {**offer.knobs, PROTECTION_KNOB: protection}
            st.button(told, on_click=_take, args=(pressed, row), key=f"offer {offer.system}")
        alone = FailureRow(row.failures, row.period, row.each_node, row.nodes, 1)
        st.button(
            f"Keep {title}: {count(row.nodes, 'node')} of 1 GPU, replicas", on_click=_take, args=({}, alone), key="offer replicas"
        )


def _possible(other: Scenario) -> str:
    """Return the chosen protection, or full checkpoints where another system cannot have it."""
    chosen = other.policy.protection
    return CURVE if losses.loss_by_formula(other, chosen, {}).refused else chosen


def _take(pressed: Mapping[str, Any], row: FailureRow) -> None:
    asked = session.scenario()
    kept = {PROTECTION_KNOB: supposed(asked).policy.protection}
    _change(with_values(asked, kept), ROW, lambda base: failure_row.with_row(with_values(base, pressed), row))
