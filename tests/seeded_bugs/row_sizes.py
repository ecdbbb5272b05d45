"""Bugs of rows of unlike sizes: one is logged, read, written or vouched for as if it had the size of another."""

import numpy as np

from engine.persistence import checksums, protocol, recovery
from engine.persistence.layout import ROW_ID, MediumLayout
from engine.persistence.media import WORD, flat_bytes
from tests.seeded_bugs import bug

log_rows, logged, words = protocol.log_rows, recovery.logged_rows, checksums._words
places, log_bytes = MediumLayout.places, MediumLayout.log_bytes


def sizes(layout, rows):
    """Return the bytes of the values of each row."""
    slices = (layout.value_slice(row) for row in rows.tolist())
    return [place.stop - place.start for place in slices]


def cut(values, lengths, target_lengths):
    """Return values cut into rows of these lengths, each shortened, or filled up with zeros, to what is wanted of it."""
    ends = np.cumsum(lengths)
    rows = [flat_bytes(values)[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return np.concatenate(
        [np.pad(row[:nbytes], (0, nbytes - row[:nbytes].size)) for row, nbytes in zip(rows, target_lengths, strict=True)]
    )


@bug("protocol.log_rows", on="undo-mixed", evidence="I2")
def of_each_row_as_much_is_logged_as_the_first_one_has(media, layout, kind, batch, rows, values):
    lengths = sizes(layout, rows)
    cut_values = cut(
        cut(values, lengths, [min(nbytes, lengths[0]) for nbytes in lengths]), [min(n, lengths[0]) for n in lengths], lengths
    )
    return log_rows(media, layout, kind, batch, rows, cut_values)


@bug("recovery.logged_rows", on="redo-mixed", evidence="I2")
def a_log_is_read_with_the_size_of_the_next_row(layout, record):
    rows, values = logged(layout, record)
    lengths = sizes(layout, rows)
    return rows, cut(values, np.roll(lengths, -1), lengths) if lengths else values


@bug("layout.MediumLayout.places", on="undo-mixed", evidence="I2")
def rows_are_written_home_at_the_stride_of_the_first_ones(layout, rows):
    span = layout.spans[0]
    return span.base + rows * span.stride, places(layout, rows)[1]


@bug("layout.MediumLayout.places", on="undo-mixed", evidence="I2")
def wide_rows_are_flushed_as_if_they_were_the_shortest(layout, rows):
    return places(layout, rows)[0], min(span.stored_bytes for span in layout.spans)


@bug("layout.MediumLayout.log_bytes", on="redo-near-checked-mixed", evidence="I1")
def log_slots_hold_as_many_rows_of_the_mean_size(layout, rows):
    all_rows = np.arange(layout.num_rows)
    return (log_bytes(layout, all_rows) - ROW_ID * all_rows.size) // all_rows.size * rows.size


@bug("checksums._words", on="redo-mixed", evidence="I5")
def the_last_bytes_of_a_row_that_fill_no_word_are_not_covered(values):
    covered_values = values.copy()
    covered_values[:, values.shape[1] // WORD * WORD :] = 0
    return words(covered_values)
