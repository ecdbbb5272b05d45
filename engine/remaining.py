"""How long a request of full runs still takes: points that train and points that share a training differ a hundredfold."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from engine.progress import Progress
from engine.store import OPEN

LOOKED_AT = 256  # newest claims, of all requests
FORESEEABLE = 0.03  # the share from which on a running point's end is more than a guess


@dataclass(frozen=True)
class Left:
    """Unfinished points: `all` of them, and those of them that will train, one for each functional class not yet trained."""

    all: int
    training: int


def left(store: sqlite3.Connection, request: int) -> Left:
    """Count a request's unfinished points; one without a class trains by itself, or not at all: it shares nothing."""
    row = store.execute(
        f"""SELECT count(*), count(*) - count(class), count(DISTINCT class) - count(DISTINCT t)
        FROM (SELECT p.class, (SELECT t.class FROM trainings t WHERE t.class = p.class) AS t FROM points p
            WHERE p.request = ? AND p.state = {OPEN})""",
        (request,),
    ).fetchone()
    return Left(row[0], row[1] + row[2])


def seconds_left(store: sqlite3.Connection, request: int, now: Sequence[tuple[float, Progress | None]]) -> float | None:
    """Return the seconds until all is done with as many workers as run now, or None while nothing tells.

    Of each point that runs `now`: for how many seconds, and how far it is.
    """
    if not now:
        return None
    unfinished, finished = left(store, request), _finished(store, request)
    trained = [took for took, alone in finished if alone]
    trained += [took / told.share for took, told in now if told and told.share >= FORESEEABLE] if unfinished.training else []
    others = unfinished.all - unfinished.training
    quick = [took for took, alone in finished if not alone]
    if (unfinished.training and not trained) or (others and not quick):
        return None
    work = unfinished.training * mean(trained or [0.0]) + others * mean(quick or [0.0])
    return max(work - sum(took for took, _ in now), 0.0) / len(now)


def _finished(store: sqlite3.Connection, request: int) -> list[tuple[float, bool]]:
    """Return how long the newest finished points took, and whether each trained by itself: its training is not older than it."""
    rows = store.execute(
        """SELECT r.created - c.started, t.created IS NULL OR t.created > c.started
        FROM claims c JOIN results r ON r.key = c.key JOIN points p ON p.key = c.key LEFT JOIN trainings t ON t.class = p.class
        WHERE c.id > (SELECT max(id) FROM claims) - ? AND c.ending = 'kept' AND p.request = ?""",
        (LOOKED_AT, request),
    )
    return [(took, bool(alone)) for took, alone in rows]
