"""Beside a knob: the constants of its device that are in use, each with unit, range, how sure it is, and its source."""

from collections import Counter
from functools import cache

import streamlit as st

from engine.core.constants import Constant
from engine.core.figures import exact
from engine.registry import every
from engine.scenario.scenario import KNOBS, Scenario
from engine.systems.system import constants
from pages.ui.plain import plain

# What a reader must not overlook, with the colour that marks it.
DOUBTFUL = {"unsourced": "orange", "calibrated": "violet"}


def draw(path: str, scenario: Scenario, brief: bool = False) -> None:
    """Draw, under the first knob of each device in use, the way to the device's constants; `brief` where there is little room."""
    devices = _introduces()[path]
    for device in devices:
        title = every("devices")[device].title
        found = [one for name, one in constants(scenario).items() if name.startswith(f"{device}.")]
        if found:
            whose = f"{title}: " if len(devices) > 1 else ""
            with st.popover(
                f"{len(found)} constants" if brief else whose + label(found), type="tertiary", key=f"constants {device}"
            ):
                st.markdown(text(title, found))


@cache
def _introduces() -> dict[str, tuple[str, ...]]:
    """Return the devices whose first knob each knob is, in the sidebar's order: the main knobs come first."""
    order = sorted(KNOBS, key=lambda path: not KNOBS[path].main)
    first = {name: min(kind.knobs, key=order.index) for name, kind in every("devices").items() if kind.knobs}
    return {path: tuple(name for name in first if first[name] == path) for path in KNOBS}


def label(found: list[Constant]) -> str:
    """Return how many constants there are, and how many of them to doubt, in their colours."""
    counts: Counter[str] = Counter(one.confidence for one in found)
    doubts = [f":{colour}[{counts[word]} {word}]" for word, colour in DOUBTFUL.items() if counts[word]]
    return ", ".join([f"{len(found)} constant{'s' if len(found) > 1 else ''}", *doubts])


def text(title: str, found: list[Constant]) -> str:
    """Return the constants as Markdown, one paragraph each."""
    return "\n\n".join([f"**{title}: constants in use**", *map(_line, found)])


def _line(one: Constant) -> str:
    colour = DOUBTFUL.get(one.confidence)
    sure = f":{colour}-badge[{one.confidence}]" if colour else one.confidence
    source = f"{one.source}; {one.note}" if one.note else one.source
    extent = f"{exact(one.low)} to {exact(one.high)}" if one.low < one.high else "no range"
    return f"{plain(one.name)} **{plain(exact(one.value, one.unit))}** ({extent})  \n{sure}: {plain(source)}"
