"""Bugs of places and shapes: homes that overlap, an index beyond the medium, arrays and states of another shape."""

from engine.persistence import layout, protocol
from engine.persistence.recovery import recover
from tests.seeded_bugs import bug

slots, homes, parts = layout._slots, protocol._homes, layout.MediumLayout.parts


@bug("layout._round", on="undo-misuse", evidence="exception")
def homes_overlap_by_the_last_word_of_a_row(nbytes, unit):
    return nbytes // unit * unit


@bug("protocol._homes", on="undo-mixed", evidence="I2")
def homes_of_a_span_overlap_the_last_row_before(place, region):
    moved_place = layout.replace(place)
    strides = (0, *(span.stride for span in place.spans[:-1]))
    spans = zip(place.spans, strides, strict=True)
    moved_place.__dict__["spans"] = tuple(span._replace(base=span.base - stride) for span, stride in spans)
    return [(span, rows) for span, (_, rows) in zip(place.spans, homes(moved_place, region), strict=True)]


@bug("layout._slots", on="redo", evidence="exception")
def the_last_slots_lie_beyond_the_medium(start, capacity, count):
    return slots(start, capacity, count)[::-1]


@bug("layout.MediumLayout.parts", on="undo-misuse", evidence="exception")
def rows_and_columns_change_places(place, values):
    return [rows.T for rows in parts(place, values)]


@bug("engine.crashcheck.judge.recover", on="redo-mixed", evidence="exception")
def recovery_repairs_the_medium_and_returns_nothing(*arguments):
    recover(*arguments)
