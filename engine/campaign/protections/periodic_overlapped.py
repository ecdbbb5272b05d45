"""Periodic overlapped: a copy in host memory is sent to storage beside training."""

from functools import partial

from ..protection import STORE, STORE_PRICE, Protection
from .periodic_full import COPY_ELSEWHERE, plan, stored_copies

PROTECTION = Protection(
    "Periodic checkpoint, overlapped",
    "All tables and the MLP are copied in host memory, then written to remote storage beside training.",
    COPY_ELSEWHERE,
    partial(plan, overlapped=True),
    periodic=True,
    constants=(STORE, STORE_PRICE),
    cites=("Daly, FGCS 22(3), 2006",),
    storage_needs=stored_copies,
)
