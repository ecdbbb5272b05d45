"""Periodic overlapped: state is copied within the host, then written during training.

The copy is written to remote storage. Training pauses only while the state is copied within the host, which needs enough free
host memory. Source: Daly, FGCS 22(3), 2006.
"""

from functools import partial

from ..protection import STORE, STORE_PRICE, Protection
from .periodic_full import COPY_ELSEWHERE, plan, stored_copies

PROTECTION = Protection(
    "Periodic checkpoint, overlapped",
    "Training pauses only for a copy of all tables and the MLP in host memory, which then goes to remote storage in the "
    "background.",
    COPY_ELSEWHERE,
    partial(plan, overlapped=True),
    periodic=True,
    constants=(STORE, STORE_PRICE),
    cites=("Daly, FGCS 22(3), 2006",),
    storage_needs=stored_copies,
)
