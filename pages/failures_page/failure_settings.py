"""The settings of the page Failures: a row of fields that reads as a sentence.

The fields set failures, machine, checkpoints and power losses.
"""

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
from engine.hardware.devices.chassis import MOST_PLACES
from engine.registry import load_variant, variant_names
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.units import HOUR, MINUTE
from pages.failures_page.campaigns import CURVE_PROTECTION, POWER_LOSS, own_log_name, with_example_fault
from pages.ui import session
from pages.ui.plain import escape_markdown

FAILURES, PERIOD, NODES, GPUS = "row failures", "row period", "row nodes", "row gpus"
MINUTES, PROTECTION, POWER = "row minutes", "row protection", "row power"
ROW = (FAILURES, PERIOD, NODES, GPUS)
REFUSED, ROW_TIME = "row refused", "row between"
A_NODE = ", each node"
TIME_OPTIONS = (*PERIODS, *(f"{name}{A_NODE}" for name in PERIODS))
MAX_FAILURES = 1e9
NO_POWER_LOSS = "never"
POWERS: Mapping[str, float | None] = MappingProxyType(
    {NO_POWER_LOSS: None, **{f"every {name}": PERIODS[name] for name in PERIODS}}
)
PLACES = MappingProxyType({
    "periodic-ssd": "SSD",
    "periodic-full": "remote storage",
    "periodic-overlapped": "host memory, then remote storage",
    "check-n-run": "remote storage, changed rows (Check-N-Run)",
    "cpr": "remote storage, partial recovery (CPR)",
    "none": "nothing",
})  # fmt: skip
USUAL_RATES: Mapping[str, Mapping[str, Any]] = {
    "Use Llama 3's failure rates, 2,048 machines": {"faults.rates": "llama3", "faults.machines": 2048, POWER_LOSS: None},
    "Use Llama 3's failure rates, this machine": {"faults.rates": "llama3", "faults.machines": 1, POWER_LOSS: None},
}
SCOPE_NOTE = (
    "Failures, machine and power losses also act in full runs; checkpoints act on this page only. Nodes, GPUs and prices are "
    "the same on all pages."
)


def draw(scenario: Scenario, shown_scenario: Scenario) -> None:
    """Draw the row of fields with their refusal and notes.

    scenario: the session's scenario. shown_scenario: the same, with an example fault if no fault can strike.
    """
    row = knob_row(shown_scenario)
    refused = _refused(shown_scenario)
    _fill(row, shown_scenario, refused)
    with st.container(horizontal=True, vertical_alignment="center", gap="xxsmall", key="failure-row"):
        _field(FAILURES, "Failures", 52, _failures_changed)
        _words("failures a")
        _choice(PERIOD, "Unit of time of the failures, for all nodes or for each node", TIME_OPTIONS, 92, _failures_changed)
        _words("on")
        _field(NODES, "Nodes", 60, _failures_changed)
        _words("nodes of")
        _field(GPUS, "GPUs of a node", 46, _failures_changed)
        _words("GPUs; checkpoint every")
        periodic = load_variant("protections", shown_scenario.policy.protection).periodic
        _field(MINUTES, "Checkpoint period [min]", 56, _minutes_changed, "best" if periodic else "—")
        _words("min to")
        _choice(PROTECTION, "Checkpoint to", variant_names("protections"), 172, _protection_changed, place_name)
        _words("; power lost")
        _choice(POWER, "Power lost", _powers(shown_scenario), 122, _power_changed)
    if refused and not written_refusal(shown_scenario):
        st.caption(f":red[{escape_markdown(refused[1])}]")
    for sentence in notes(scenario, shown_scenario, row):
        st.caption(escape_markdown(sentence))
    _offers(shown_scenario, refused)


def written_refusal(shown_scenario: Scenario) -> str:
    """Return the sentence that refuses the written failures or machine, "" if they are accepted."""
    refused = _refused(shown_scenario)
    return refused[1] if refused and refused[0].keys() & {*ROW} else ""


def draw_presses(
    shown_scenario: Scenario, best_period: losses.ProtectionLoss | None, best_protection: losses.ProtectionLoss | None
) -> None:
    """Draw buttons that set several knobs at once.

    The buttons set the best period, the best protection, the system's own log, and usual failure rates.
    """
    with st.container(horizontal=True, key="failure-presses"):
        if best_period and best_period.period:
            minutes = float(f"{best_period.period / MINUTE:.3g}")
            label = f"Use the best period, {figure(best_period.period, 's')}"
            st.button(label, on_click=_set, args=({MINUTES_KNOB: minutes},), key="take period")
        if best_protection:
            press, label = {PROTECTION_KNOB: best_protection.name}, f"Use {losses.title_in_sentence(best_protection.title)}"
            st.button(label, on_click=_set, args=(press,), key="take protection")
        log = {PROTECTION_KNOB: own_log_name(shown_scenario)}
        st.button(
            "Use the system's own log", on_click=_set, args=(log,), help="Estimates and full runs use this log.", key="own log"
        )
        for name, pressed in USUAL_RATES.items():
            st.button(name, on_click=_set, args=(pressed,), key=f"rates {pressed['faults.machines']}")


def knob_row(shown_scenario: Scenario) -> FailureRow:
    """Return the row's values, as the knobs say them.

    Failures are per the unit of time that was chosen last, or else the unit with the shortest number.
    """
    time_text = str(st.session_state.get(ROW_TIME, ""))
    return failure_row.row_of(shown_scenario, time_text.removesuffix(A_NODE), time_text.endswith(A_NODE))


def place_name(protection: str) -> str:
    """Return the row's words for the place where a protection keeps the state."""
    return PLACES.get(protection) or losses.title_in_sentence(load_variant("protections", protection).title)


def notes(scenario: Scenario, shown_scenario: Scenario, row: FailureRow) -> list[str]:
    """Return the notes below the row.

    They name the example fault, replicas, other kinds of failures, and the pages on which the row's knobs act.
    """
    sentences = []
    if scenario is not shown_scenario:
        sentences.append(
            "The knobs have no fault that can strike. As an example, power is lost once a day; failures written here replace it."
        )
    if shown_scenario.faults.machines > 1:
        title = load_variant("systems", shown_scenario.system).title
        sentences.append(
            f"{count(shown_scenario.faults.machines, 'replica')} of {title}'s machine train together; "
            "a failure in one replica stops all replicas."
        )
    if not failure_row.only_crashes(shown_scenario):
        mix = sorted(failure_row.node_hazards(hazards_of(shown_scenario)).items(), key=lambda pair: pair[1].mtbf or 0.0)
        rates_text = ", ".join(
            f"{load_variant('faults', name).name} every {figure(hazard.mtbf, 's')}" for name, hazard in mix if hazard.mtbf
        )
        sentences.append(f"Failures are {rates_text}; a number written here makes all failures node crashes.")
    listed_faults = sum(len(hazard.listed_seconds) for hazard in hazards_of(shown_scenario).values())
    if listed_faults:
        sentences.append(f"In addition, the knobs list {count(listed_faults, 'fault')} at fixed times.")
    if not load_variant("protections", shown_scenario.policy.protection).periodic:
        place = place_name(_periodic(scenario))
        title = load_variant("protections", shown_scenario.policy.protection).title
        sentences.append(f"{title} has no checkpoint period; minutes written here set checkpoints to {place}.")
    return [" ".join([*sentences, SCOPE_NOTE])]


def _words(text: str) -> None:
    st.caption(text, width="content")


def _field(key: str, label: str, width: int, on_change: Callable[[], None], placeholder: str = "") -> None:
    st.text_input(label, key=key, width=width, on_change=on_change, label_visibility="collapsed", placeholder=placeholder)


def _choice(
    key: str,
    label: str,
    options: tuple[str, ...],
    width: int,
    on_change: Callable[[], None],
    format_option: Callable[[str], str] = str,
) -> None:
    st.selectbox(
        label,
        options,
        session.option_index(options, key),
        key=key,
        width=width,
        on_change=on_change,
        label_visibility="collapsed",
        format_func=format_option,
    )


def _fill(row: FailureRow, shown_scenario: Scenario, refused: tuple[Mapping[str, str], str, Scenario] | None) -> None:
    """Set the fields to the knobs' values.

    Fields of a refused change keep the written text.
    """
    minutes = shown_scenario.policy.checkpoint_minutes
    time_text = row.period + A_NODE * row.each_node
    st.session_state.update({
        FAILURES: exact(row.failures).replace(",", ""),
        PERIOD: time_text,
        NODES: str(row.nodes),
        GPUS: str(row.gpus),
        MINUTES: "" if minutes is None else exact(minutes),
        PROTECTION: shown_scenario.policy.protection,
        POWER: power_name(shown_scenario.faults.power_loss_mtbf_hours),
        **(refused[0] if refused else {}),
    })  # fmt: skip


def power_name(hours: float | None) -> str:
    """Return the row's words for the frequency of power losses."""
    names_by_hours = {seconds and seconds / HOUR: name for name, seconds in POWERS.items()}
    return names_by_hours.get(hours) or f"every {figure((hours or 0.0) * HOUR, 's')}"


def _powers(shown_scenario: Scenario) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*POWERS, power_name(shown_scenario.faults.power_loss_mtbf_hours))))


def _refused(shown_scenario: Scenario) -> tuple[Mapping[str, str], str, Scenario] | None:
    """Return a refused change: written fields, sentence, scenario; None once the scenario has changed."""
    refused_change: tuple[Mapping[str, str], str, Scenario] | None = st.session_state.get(REFUSED)
    if refused_change and refused_change[2] != shown_scenario:
        del st.session_state[REFUSED]
        return None
    return refused_change


def _change(base: Scenario, fields: tuple[str, ...], apply_change: Callable[[Scenario], Scenario]) -> None:
    """Apply a change to the session's scenario.

    A refused change stays written, with the sentence that refuses it.
    Refused texts of other fields stay written and refused.
    """
    earlier_refusal: tuple[Mapping[str, str], str, Scenario] | None = st.session_state.pop(REFUSED, None)
    try:
        session.hold_scenario(apply_change(base))
    except EmberpoolError as error:
        field_texts = {key: str(st.session_state[key]) for key in fields}
        st.session_state[REFUSED] = field_texts, str(error), with_example_fault(session.scenario())
    else:
        if earlier_refusal and earlier_refusal[0] and not earlier_refusal[0].keys() & {*fields}:
            st.session_state[REFUSED] = earlier_refusal[0], earlier_refusal[1], with_example_fault(session.scenario())


def _failures_changed() -> None:
    scenario = session.scenario()
    # The example's power loss goes, its protection stays.
    protection_knob = {PROTECTION_KNOB: with_example_fault(scenario).policy.protection}

    def with_written_row(base: Scenario) -> Scenario:
        row = _written_row()
        written_rates, knob_rates = replace(row, nodes=1, gpus=1), replace(knob_row(base), nodes=1, gpus=1)
        if written_rates == knob_rates and not failure_row.only_crashes(base):
            return failure_row.with_machine(base, row)  # published rates are per GPU and per node, so they stay
        return failure_row.with_row(base, row)

    _change(with_values(scenario, protection_knob), ROW, with_written_row)
    st.session_state[ROW_TIME] = st.session_state[PERIOD]


def _written_row() -> FailureRow:
    time_text = str(st.session_state[PERIOD])
    return FailureRow(
        failures=_number(FAILURES, "Failures", 0, MAX_FAILURES),
        period=time_text.removesuffix(A_NODE),
        each_node=time_text.endswith(A_NODE),
        nodes=_whole_number(NODES, "Nodes", KNOBS["faults.machines"].high or 1),
        gpus=_whole_number(GPUS, "GPUs of a node", KNOBS["machine.gpus_per_node"].high or 1),
    )


def _number(key: str, name: str, low: float, high: float) -> float:
    text = str(st.session_state[key]).strip().replace(",", "")
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not low <= number <= high:
        raise BadKnob(f"{name}: {text[:40]!r} is not a number from {exact(low)} to {exact(high)}; write a number such as 2.")
    return number


def _whole_number(key: str, name: str, high: float) -> int:
    text = str(st.session_state[key]).strip().replace(",", "")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= high):
        raise BadKnob(f"{name}: {text[:40]!r} is not a whole number from 1 to {exact(high)}; write a number such as 8.")
    return int(text)


def _minutes_changed() -> None:
    scenario, text = session.scenario(), str(st.session_state[MINUTES]).strip()

    def with_written_minutes(base: Scenario) -> Scenario:
        knob = KNOBS[MINUTES_KNOB]
        minutes = (
            _number(MINUTES, "Checkpoint period", knob.low or 0, knob.high or MAX_FAILURES)
            if text not in ("", "best", "auto")
            else None
        )
        return with_values(base, {MINUTES_KNOB: minutes, PROTECTION_KNOB: _periodic(scenario)})

    _change(with_example_fault(scenario), (MINUTES,), with_written_minutes)


def _periodic(scenario: Scenario) -> str:
    """Return the protection that minutes apply to.

    This is the chosen protection, or full checkpoints if that has no period.
    """
    for name in (with_example_fault(scenario).policy.protection, scenario.policy.protection):
        if load_variant("protections", name).periodic:
            return name
    return CURVE_PROTECTION


def _protection_changed() -> None:
    _set({PROTECTION_KNOB: st.session_state[PROTECTION]})


def _power_changed() -> None:
    name = st.session_state[POWER]
    if name in POWERS:
        seconds = POWERS[name]
        _set({POWER_KNOB: seconds and seconds / HOUR})


def _set(pressed: Mapping[str, Any]) -> None:
    base = with_example_fault(session.scenario())  # an example that was only shown becomes the choice
    _change(base, (), lambda scenario: with_values(scenario, pressed))


def _offers(shown_scenario: Scenario, refused: tuple[Mapping[str, str], str, Scenario] | None) -> None:
    """Draw a button for each system that can have the machine that this system was refused."""
    if not refused or NODES not in refused[0] or load_variant("systems", shown_scenario.system).can_use_many_nodes:
        return
    try:
        row = _written_row()
    except BadKnob:
        return
    title, shape = load_variant("systems", shown_scenario.system).title, f"{count(row.nodes, 'node')} of {count(row.gpus, 'GPU')}"
    with st.container(horizontal=True, key="failure-offers"):
        for offer in failure_row.system_offers(shown_scenario, row):
            protection = _possible(with_values(shown_scenario, offer.knobs))
            place_text = "" if protection == shown_scenario.policy.protection else f", checkpoint to {place_name(protection)}"
            label = f"Use {offer.title} instead of {title}: {shape}{place_text}"
            pressed = {**offer.knobs, PROTECTION_KNOB: protection}
            st.button(label, on_click=_take, args=(pressed, row), key=f"offer {offer.system}")
        largest_row = FailureRow(row.failures, row.period, row.each_node, row.nodes, MOST_PLACES)
        st.button(
            f"Keep {title}: {count(row.nodes, 'node')} of {count(MOST_PLACES, 'GPU')}, as replicas",
            on_click=_take,
            args=({}, largest_row),
            key="offer replicas",
        )


def _possible(offered_scenario: Scenario) -> str:
    """Return the chosen protection, or full checkpoints if the offered system refuses that."""
    protection = offered_scenario.policy.protection
    return CURVE_PROTECTION if losses.loss_by_formula(offered_scenario, protection, {}).refusal else protection


def _take(pressed: Mapping[str, Any], row: FailureRow) -> None:
    scenario = session.scenario()
    protection_knob = {PROTECTION_KNOB: with_example_fault(scenario).policy.protection}
    _change(with_values(scenario, protection_knob), ROW, lambda base: failure_row.with_row(with_values(base, pressed), row))
