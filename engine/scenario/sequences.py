"""The caution about sequences: histories too long for a bag, which are pooled here all the same."""

from collections.abc import Sequence
from itertools import compress

from ..core import figures
from .scenario import Scenario, per_table

LONGEST_BAG = 1000  # lookups a sample in one table
REMEDY = "Sequences are not simulated yet: lower model.pooling to the lookups that are pooled."


def sequence_note(lengths: Sequence[float]) -> str:
    """Return the sentence about tables with more lookups a sample than a bag; "" without any.

    `lengths` are the mean lookups a sample of each table.
    """
    if max(lengths) <= LONGEST_BAG:
        return ""
    long = [length > LONGEST_BAG for length in lengths]
    return (
        f"{_tables(long)} {_range([*compress(lengths, long)])} lookups a sample, pooled here into one vector as a bag. "
        f"A history of more than {figures.count(LONGEST_BAG)} events is a sequence: its vectors cross from memory to the GPU "
        "unpooled and "
        "need attention, so time and memory of a sequence model come out far too low. "
        f"{REMEDY}"
    )


def is_about_sequences(note: str) -> bool:
    """Return whether a note is the sentence about sequences, of whatever lengths."""
    return note.endswith(REMEDY)


def _tables(long: Sequence[bool]) -> str:
    """Name the tables that are too long for a bag, with their verb."""
    count, first = sum(long), long.index(True) + 1
    if count == 1:
        return "The only table has" if len(long) == 1 else f"Table {first} of {figures.count(len(long))} has"
    if count == len(long):
        return f"All {figures.count(count, 'table')} have"
    return f"{figures.count(count)} of {figures.count(len(long), 'table')}, of which table {first} is the first, have"


def _range(lengths: Sequence[float]) -> str:
    """Write the least and the most of some lengths; a mean just above the border is written above it."""
    least, most = (max(round(end, 1), LONGEST_BAG + 0.1) if end % 1 else end for end in (min(lengths), max(lengths)))
    return figures.exact(most) if least == most else f"{figures.exact(least)} to {figures.exact(most)}"


def sequence_notes(s: Scenario, lengths: Sequence[float] = ()) -> tuple[str, ...]:
    """Return the sentence about a scenario's sequences as a result's notes; `lengths` are those of its data file."""
    note = sequence_note(lengths or per_table(s.model, "pooling"))
    return (note,) if note else ()


def sequence_note_of_points(scenarios: Sequence[Scenario], times: Sequence[int] = ()) -> str:
    """Return the sentence about the points that pool sequences: how many, and the longest; "" without any.

    `times` says how many points are alike each scenario: 1 where it is ().
    """
    counts = times or (1,) * len(scenarios)
    above = [(s.model, count) for s, count in zip(scenarios, counts, strict=True) if max(s.model.pooling) > LONGEST_BAG]
    if not above:
        return ""
    longest = max((model for model, _ in above), key=lambda model: max(model.pooling))
    note = sequence_note(per_table(longest, "pooling"))
    some, every = sum(count for _, count in above), sum(counts)
    return (
        note
        if some == every
        else f"{figures.count(some)} of {figures.count(every, 'point')} pool sequences, the longest of them this: {note}"
    )
