"""Where the numbers come from: every constant of the devices in use, and whether one of them was calibrated."""

import pandas as pd
import streamlit as st

from engine.core.constants import Constant
from engine.scenario.scenario import Scenario
from engine.systems.system import constants, powered
from pages.ui import downloads
from pages.ui.page_link import script
from pages.ui.plain import plain

CALIBRATED = "calibrated"


def note(*scenarios: Scenario) -> None:
    """Say to what the constants in use were calibrated, where any were, and lead to the evidence."""
    if to := calibrated_to(*scenarios):
        words, link = st.columns((5, 1), vertical_alignment="center")
        words.caption(plain(f"Some constants here are calibrated ({to});"))
        link.page_link(script("evidence"), label="see Evidence")


def draw(scenario: Scenario) -> None:
    """Draw the table of constants."""
    st.caption(
        "Device constants of this training system; knobs are not repeated here. "
        "Constant is the name by which Assumptions, under Machine, gives it another value."
    )
    found = table(scenario)
    downloads.show(found)
    downloads.rows(found, "emberpool-constants", "Download the constants as CSV")


def table(scenario: Scenario) -> pd.DataFrame:
    """Return one row a constant: device, name, value, unit, ends of its range, how sure, source, note."""
    columns = ["Device", "Constant", "Value", "Unit", "Low", "High", "Confidence", "Source", "Note"]
    titles = {name: device.title for name, device in powered(scenario.system, scenario.machine).items()}
    rows = [
        (titles[name.partition(".")[0]], name, one.value, one.unit, one.low, one.high, one.confidence, one.source, _note(one))
        for name, one in constants(scenario).items()
    ]
    return pd.DataFrame(rows, columns=columns)


def _note(one: Constant) -> str:
    return "; ".join(filter(None, (one.note, f"others differ: machine.{one.switch}" if one.switch else "")))


def calibrated_to(*scenarios: Scenario) -> str:
    """Return what the calibrated constants in use were fitted to, or "" where there are none."""
    used = (one for scenario in scenarios for one in constants(scenario).values() if one.confidence == CALIBRATED)
    return "; ".join(dict.fromkeys(one.source for one in used))
