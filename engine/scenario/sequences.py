"""The warning that long user histories are simulated as pooled bags, not as sequences."""

from collections.abc import Sequence
from itertools import compress

from ..core import figures
from ..core.arithmetic import total
from .scenario import Scenario, per_table

LONGEST_BAG = 1000  # lookups a sample in one table
REMEDY = "Sequences are not simulated yet; lower model.pooling to the lookups that are pooled."


def sequence_note(lengths: Sequence[float]) -> str:
    """Return the warning about tables whose histories are too long to be pooled.

    `lengths` are the mean lookups per sample of each table. Return "" if no table has such histories.
    """
    if max(lengths) <= LONGEST_BAG:
        return ""
    too_long = [length > LONGEST_BAG for length in lengths]
    return (
        f"{_tables(too_long)} {_range([*compress(lengths, too_long)])} lookups a sample, pooled here into one vector as a bag. "
        f"A history of more than {figures.count(LONGEST_BAG)} events is a sequence: its vectors cross from memory to the GPU "
        "unpooled and "
        "need attention, so time and memory of a sequence model come out far too low. "
        f"{REMEDY}"
    )


def is_about_sequences(note: str) -> bool:
    """Return whether a note is the warning about sequences, for any lengths."""
    return note.endswith(REMEDY)


def _tables(too_long: Sequence[bool]) -> str:
    """Return the names of the tables that are too long for a bag, with their verb."""
    count, first_table = total(too_long), too_long.index(True) + 1
    if count == 1:
        return "The only table has" if len(too_long) == 1 else f"Table {first_table} of {figures.count(len(too_long))} has"
    if count == len(too_long):
        return f"All {figures.count(count, 'table')} have"
    return f"{figures.count(count)} of {figures.count(len(too_long), 'table')}, of which table {first_table} is the first, have"


def _range(lengths: Sequence[float]) -> str:
    """Return the smallest and the largest length as text.

    A mean just above the limit is written above it.
    """
    shortest, longest = (max(round(end, 1), LONGEST_BAG + 0.1) if end % 1 else end for end in (min(lengths), max(lengths)))
    return figures.exact(longest) if shortest == longest else f"{figures.exact(shortest)} to {figures.exact(longest)}"


def sequence_notes(s: Scenario, lengths: Sequence[float] = ()) -> tuple[str, ...]:
    """Return the warning about a scenario's sequences: a tuple of one note or none.

    `lengths` are the mean lookups per sample of each table in the scenario's data file; without them the model's are taken.
    """
    note = sequence_note(lengths or per_table(s.model, "pooling"))
    return (note,) if note else ()


def sequence_note_of_points(scenarios: Sequence[Scenario], times: Sequence[int] = ()) -> str:
    """Return the warning about the design points with sequences; "" if there are none.

    The warning has the number of such points, and the longest history. `times` is the number of points that each scenario stands
    for; () means 1 for each.
    """
    counts = times or (1,) * len(scenarios)
    long_models = [(s.model, count) for s, count in zip(scenarios, counts, strict=True) if max(s.model.pooling) > LONGEST_BAG]
    if not long_models:
        return ""
    longest = max((model for model, _ in long_models), key=lambda model: max(model.pooling))
    note = sequence_note(per_table(longest, "pooling"))
    pooled_points, all_points = total(count for _, count in long_models), total(counts)
    return (
        note
        if pooled_points == all_points
        else f"{figures.count(pooled_points)} of {figures.count(all_points, 'point')} pool sequences, "
        f"the longest of them this: {note}"
    )
