"""The warning that long user histories are stated as bags, not as sequences."""

from collections.abc import Sequence
from itertools import compress

from ..core import figures
from ..core.arithmetic import total
from .groups import Model
from .scenario import Scenario, per_table

LONGEST_BAG = 1000  # lookups a sample in one table
REMEDY = (
    "State it as one with model.feature_kind=sequence and model.interaction=hstu, or lower model.pooling to the lookups that are "
    "pooled."
)


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
    note = sequence_note(_bag_lengths(s.model, lengths))
    return (note,) if note else ()


def _bag_lengths(model: Model, lengths: Sequence[float] = ()) -> tuple[float, ...]:
    """Return the lookups per sample of each table, 0 for a table that is stated as a sequence, (T,).

    `lengths` are the lookups in a data file; by default the model's.
    """
    kinds = per_table(model, "feature_kind")
    pairs = zip(lengths or per_table(model, "pooling"), kinds, strict=True)
    return tuple(0 if kind == "sequence" else length for length, kind in pairs)


def sequence_note_of_points(scenarios: Sequence[Scenario], times: Sequence[int] = ()) -> str:
    """Return the warning about the design points with sequences; "" if there are none.

    The warning has the number of such points, and the longest history. `times` is the number of points that each scenario stands
    for; () means 1 for each.
    """
    counts = times or (1,) * len(scenarios)
    bags = [(_bag_lengths(s.model), count) for s, count in zip(scenarios, counts, strict=True)]
    long_bags = [(lengths, count) for lengths, count in bags if max(lengths) > LONGEST_BAG]
    if not long_bags:
        return ""
    note = sequence_note(max((lengths for lengths, _ in long_bags), key=max))
    pooled_points, all_points = total(count for _, count in long_bags), total(counts)
    return (
        note
        if pooled_points == all_points
        else f"{figures.count(pooled_points)} of {figures.count(all_points, 'point')} pool sequences, "
        f"the longest of them this: {note}"
    )
