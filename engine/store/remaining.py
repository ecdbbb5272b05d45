"""How long a request of full runs still takes: points that train and points that share a training differ a hundredfold."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from ..run.progress import Progress
from .database import OPEN

LOOKED_AT = 256  # newest claims, of all requests
RECENT = 16  # points whose pace goes on
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

    Of each point that runs `now`: for how many seconds, and how far it is. Trainings are judged by how long they take,
    the others by how fast they end, since they are over before anyone looks.
    """
    unfinished, finished = left(store, request), _finished(store, request)
    trained = [ended - begun for begun, ended, alone in finished if alone]
    trained += [took / told.share for took, told in now if told and told.share >= FORESEEABLE] if unfinished.training else []
    others = unfinished.all - unfinished.training
    quick = [(begun, ended) for begun, ended, alone in finished if not alone][:RECENT]
    if (unfinished.training and not trained) or (others and not quick):
        return None
    pace = (max(ended for _, ended in quick) - min(begun for begun, _ in quick)) / len(quick) if quick else 0.0
    work = unfinished.training * mean(trained or [0.0]) - sum(took for took, _ in now)
    return max(work, 0.0) / max(len(now), 1) + others * pace


def _finished(store: sqlite3.Connection, request: int) -> list[tuple[float, float, bool]]:
    """Return when the newest finished points began and ended, newest first, and whether each trained by itself."""
    rows = store.execute(
        """SELECT c.started, r.created, t.created IS NULL OR t.created > c.started
        FROM claims c JOIN results r ON r.key = c.key JOIN points p ON p.key = c.key LEFT JOIN trainings t ON t.class = p.class
        WHERE c.id > (SELECT max(id) FROM claims) - ? AND c.ending = 'kept' AND p.request = ? ORDER BY r.created DESC""",
        (LOOKED_AT, request),
    )
    return [(begun, ended, bool(alone)) for begun, ended, alone in rows]
