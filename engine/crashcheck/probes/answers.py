"""Answers of the log protocol that the checker cannot use, whatever they mean.

A broken protocol may return them. They are refused where they come out of it, so that no error of the checker hides the finding.
"""

from numbers import Integral

import numpy as np

from ...persistence.layout import MediumLayout
from ...persistence.media import LINE
from ...persistence.recovery import RestoredState
from ..budget import MalformedAnswer

GROWTH = 4  # a medium of more than so many times the stated bytes is not explored: each crash point has a copy of it


def checked_layout(layout: MediumLayout, stated_bytes: int) -> MediumLayout:
    """Return the layout of a medium.

    `stated_bytes` is the size of the medium as docs/persistence.md states it. Raises MalformedAnswer for slots outside the medium
    or a medium of a senseless size.
    """
    if not isinstance(layout, MediumLayout):
        raise MalformedAnswer(f"the layout is no layout but {type(layout).__name__}")
    nbytes = layout.nbytes
    if not isinstance(nbytes, Integral) or not 0 < nbytes <= GROWTH * stated_bytes:
        raise MalformedAnswer(f"the layout has {nbytes} bytes, and {stated_bytes} are stated")
    for slot in layout.slots:
        if not isinstance(slot.header, Integral) or not 0 <= slot.header <= nbytes - LINE:
            raise MalformedAnswer(f"the layout has a slot at byte {slot.header} of {nbytes}")
    return layout


def checked_state(state: RestoredState) -> RestoredState:
    """Return a recovered state.

    Raises MalformedAnswer if one of its fields is of another type.
    """
    if not isinstance(state, RestoredState):
        raise MalformedAnswer(f"recovery has returned no state but {type(state).__name__}")
    numbers = (state.embedding_batch, state.mlp_batch, state.reader_position, state.dirty, state.damaged)
    is_sound = all(isinstance(number, Integral | np.bool_) for number in numbers) and isinstance(state.seed, tuple)
    if not is_sound or not all(isinstance(content, np.ndarray) for content in (state.table, state.mlp)):
        raise MalformedAnswer("recovery has returned a state whose batches are no numbers, or whose content is no array")
    return state
