"""Where the numbers come from: every constant of the devices in use, and whether one of them was calibrated."""

from collections.abc import Iterator
from functools import cache

import pandas as pd
import streamlit as st

from engine.constants import Constant
from engine.device import Device
from engine.errors import EmberpoolError
from engine.fit import fit
from engine.presets import preset, preset_names
from engine.published import claims
from engine.run import machinery
from engine.scenario import Scenario
from pages.parts import downloads
from pages.parts.plain import plain

CALIBRATED = "calibrated"


def note(scenario: Scenario) -> None:
    """Say which models the constants in use were calibrated on, where any were, and lead to the evidence."""
    if any(constant.confidence == CALIBRATED for _, constant in constants(scenario)):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(plain(f"Some constants here are calibrated on {' and '.join(calibrated_on())};"), width="content")
            st.page_link("pages/reproduce.py", label="see Reproduce", width="content")


def draw(scenario: Scenario) -> None:
    """Draw the table of constants."""
    st.caption("Device constants of this training system; the knobs in the sidebar are not repeated here.")
    downloads.show(table(scenario))


def constants(scenario: Scenario) -> Iterator[tuple[Device, Constant]]:
    """Yield each constant with its device; none where the scenario has no machinery, which its outcome explains."""
    try:
        devices = machinery(fit(scenario).scenario).devices
    except EmberpoolError:
        return
    yield from ((device, constant) for device in devices.values() for constant in device.constants)


def table(scenario: Scenario) -> pd.DataFrame:
    """Return one row a constant: device, name, value, unit, range, how sure, source."""
    columns = ["Device", "Constant", "Value", "Unit", "Range", "Confidence", "Source"]
    rows = [
        (
            device.title,
            one.name,
            one.value,
            one.unit,
            f"{one.low:g} to {one.high:g}",
            one.confidence,
            "; ".join(filter(None, (one.source, one.note, f"others differ: machine.{one.switch}" if one.switch else ""))),
        )
        for device, one in constants(scenario)
    ]
    return pd.DataFrame(rows, columns=columns)


@cache
def calibrated_on() -> tuple[str, ...]:
    """Return the models whose published numbers some preset was calibrated to, as their papers write them."""
    found = (preset(name).scenario.model.name for name in preset_names() if any(c.kind == CALIBRATED for c in claims(name)))
    return tuple(dict.fromkeys(name.upper() for name in found))
