"""The caution above a page's numbers, and the notes below them."""

from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.scenario.sequences import is_about_sequences, sequence_note_of_points


def sequence_caution(scenario: Scenario) -> str:
    """Return the caution that concerns all numbers of a scenario; "" without one."""
    return sequence_note_of_points([scenario])


def notes_below(result: Result) -> list[str]:
    """Return a result's notes for below its numbers, without the caution above the page."""
    return [note for note in result.notes if not (sequence_caution(result.scenario) and is_about_sequences(note))]
