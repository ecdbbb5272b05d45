"""The Python code of each page's question, which Share shows beside the link."""

from engine.api import python_code
from engine.campaign.fault_stream import hazards_of
from engine.campaign.formulas.useful_time import check_exponential
from engine.errors import BadInput
from engine.scenario.scenario import Scenario
from pages.failures_page import campaigns
from pages.ui.page_link import LinkPart


def code(place: str, scenario: Scenario, base: str, part: LinkPart) -> str:
    """Return the code of a page's question, "" for a page whose question no function of scripts answers.

    base: the preset from which the scenario was made. part: the page's part of its link.
    """
    if place == "design":
        return python_code.estimate_code(scenario, base)
    if place == "decide":
        return python_code.decision_code(scenario, base, part.questions)
    if place == "search":
        return python_code.sweep_code(scenario, base, part.axes, part.questions)
    if place == "failures":
        struck = campaigns.with_example_fault(scenario)
        return python_code.failures_code(struck, base) if _has_closed_form(struck) else python_code.run_code(struck, base)
    return ""


def _has_closed_form(scenario: Scenario) -> bool:
    """Return whether the losses of a scenario's faults have a closed form; other faults are run."""
    try:
        check_exponential(hazards_of(scenario))
    except BadInput:
        return False
    return True
