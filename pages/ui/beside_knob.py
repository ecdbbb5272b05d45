"""The constants in use of a knob's device, shown below the knob.

Each has its unit, range, confidence and source.
"""

from collections import Counter
from functools import cache

import streamlit as st

from engine.core.constants import Constant
from engine.core.figures import exact
from engine.registry import all_variants
from engine.scenario.scenario import KNOBS, Scenario
from engine.systems.system import constants
from pages.ui.plain import escape_markdown

# Confidences that a reader must not overlook, with their colours.
DOUBTFUL = {"unsourced": "orange", "calibrated": "violet"}


def draw(path: str, scenario: Scenario) -> None:
    """Draw a popover with the constants of each device whose first knob this is."""
    groups = constants_by_device(path, scenario)
    for device, (title, device_constants) in groups.items():
        device_prefix = f"{title}: " if len(groups) > 1 else ""
        with st.popover(device_prefix + label(device_constants), type="tertiary", key=f"constants {device}"):
            st.markdown(text(title, device_constants))


def constants_by_device(path: str, scenario: Scenario) -> dict[str, tuple[str, list[Constant]]]:
    """Return title and constants in use of each device whose first knob this is, by the device's name."""
    in_use = constants(scenario).items()
    by_device = {
        name: [constant for key, constant in in_use if key.startswith(f"{name}.")] for name in _devices_by_first_knob()[path]
    }
    return {name: (all_variants("devices")[name].title, group) for name, group in by_device.items() if group}


@cache
def _devices_by_first_knob() -> dict[str, tuple[str, ...]]:
    """Return devices by their first knob in the sidebar's order, main knobs first."""
    order = sorted(KNOBS, key=lambda path: not KNOBS[path].main)
    first_knobs = {name: min(kind.knobs, key=order.index) for name, kind in all_variants("devices").items() if kind.knobs}
    return {path: tuple(name for name in first_knobs if first_knobs[name] == path) for path in KNOBS}


def label(device_constants: list[Constant]) -> str:
    """Return a text with the number of constants, and of doubtful ones, in their colours."""
    counts: Counter[str] = Counter(constant.confidence for constant in device_constants)
    doubts = [f":{colour}[{counts[word]} {word}]" for word, colour in DOUBTFUL.items() if counts[word]]
    return ", ".join([f"{len(device_constants)} constant{'s' if len(device_constants) > 1 else ''}", *doubts])


def text(title: str, device_constants: list[Constant]) -> str:
    """Return the constants as Markdown, one paragraph each."""
    return "\n\n".join([f"**{title}: constants in use**", *map(_constant_line, device_constants)])


def _constant_line(constant: Constant) -> str:
    colour = DOUBTFUL.get(constant.confidence)
    sure = f":{colour}-badge[{constant.confidence}]" if colour else constant.confidence
    source = f"{constant.source}; {constant.note}" if constant.note else constant.source
    extent = f"{exact(constant.low)} to {exact(constant.high)}" if constant.low < constant.high else "no range"
    value = escape_markdown(exact(constant.value, constant.unit))
    return f"{escape_markdown(constant.name)} **{value}** ({extent})  \n{sure}: {escape_markdown(source)}"
