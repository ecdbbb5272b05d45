"""The table of all constants of the devices in use.

A note on the page says if some are calibrated.
"""

import pandas as pd
import streamlit as st

from engine.core.constants import Constant
from engine.scenario.scenario import Scenario
from engine.systems.system import constants, powered_devices
from pages.ui import downloads
from pages.ui.page_link import script
from pages.ui.plain import escape_markdown

CALIBRATED = "calibrated"


def draw_calibration_note(*scenarios: Scenario) -> None:
    """Draw a note on calibrated constants, with a link to Evidence.

    Nothing is drawn without such constants.
    """
    if calibration := calibration_sources(*scenarios):
        words, link = st.columns((5, 1), vertical_alignment="center")
        words.caption(escape_markdown(f"Some constants here are calibrated ({calibration});"))
        link.page_link(script("evidence"), label="see Evidence")


def draw(scenario: Scenario) -> None:
    """Draw the table of constants."""
    st.caption(
        "The table has the device constants of this training system, without its knobs. "
        "To change a constant, write its name and another value in the knob Assumptions of the group Machine."
    )
    constants_table = table(scenario)
    downloads.show(constants_table)
    downloads.rows(constants_table, "emberpool-constants", "Download the constants as CSV")


def table(scenario: Scenario) -> pd.DataFrame:
    """Return a row for each constant: device, name, value, unit, range, confidence, source, note."""
    columns = ["Device", "Constant", "Value", "Unit", "Low", "High", "Confidence", "Source", "Note"]
    titles = {name: device.title for name, device in powered_devices(scenario.system, scenario.machine).items()}
    rows = [
        (
            titles[name.partition(".")[0]],
            name,
            constant.value,
            constant.unit,
            constant.low,
            constant.high,
            constant.confidence,
            constant.source,
            _note(constant),
        )
        for name, constant in constants(scenario).items()
    ]
    return pd.DataFrame(rows, columns=columns)


def _note(constant: Constant) -> str:
    return "; ".join(filter(None, (constant.note, f"others differ: machine.{constant.switch}" if constant.switch else "")))


def calibration_sources(*scenarios: Scenario) -> str:
    """Return the sources that calibrated constants were fitted to, "" without such constants."""
    calibrated_constants = (
        constant for scenario in scenarios for constant in constants(scenario).values() if constant.confidence == CALIBRATED
    )
    return "; ".join(dict.fromkeys(constant.source for constant in calibrated_constants))
