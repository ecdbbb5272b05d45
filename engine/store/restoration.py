"""Restoration of a damaged store: begin a new store with its readable rows.

The damaged file is renamed. Its rows with a correct checksum come first, then those of the copy next to it. Everything else is
computed again when it is needed.
"""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..core import figures
from ..errors import BadFile
from .database import OPEN, Damaged, check_store, connect, open_store, transaction
from .files import SQLITE_ENDINGS, damaged_path, is_readable, old_backups, real_path, remove_database, side_copy, sync
from .owner import own_store
from .side_copy import COPIED, carry_rows, put_in_place

NUMBERS = 100_000  # more than the requests since the copy; numbers continue behind so many, so that none is used twice
CARRIED = dict.fromkeys(COPIED, "true")
LIST_LOST = "The list of its points was lost when the store was damaged. Open it and run it again."
LISTED = "(SELECT count(*) FROM points WHERE request = id) = total"
ADJUSTMENTS = (
    f"DELETE FROM points WHERE request IN (SELECT id FROM requests WHERE state = 'arriving' OR NOT {LISTED})",
    "DELETE FROM requests WHERE state = 'arriving'",
    f"""UPDATE requests SET state = 'cancelled', ended = created, note = '{LIST_LOST}'
        WHERE state IN ('queued', 'running') AND NOT {LISTED}""",
    f"UPDATE requests SET digest = '' WHERE NOT {LISTED}",  # not found again by points that it no longer has
    "DELETE FROM sqlite_sequence WHERE name = 'requests'",
    f"INSERT INTO sqlite_sequence SELECT 'requests', (coalesce(max(id), 0) / {NUMBERS} + 1) * {NUMBERS} FROM requests",
)


@dataclass(frozen=True)
class StoreRestoration:
    """The outcome of restoring a store.

    was_sound: True if the store was not damaged, so that nothing was changed.
    text: sentences for the store's owner.
    """

    was_sound: bool
    text: str


def restore(path: Path) -> StoreRestoration:
    """Rename a damaged store, and begin a new store with its readable rows.

    A store without damage is not changed. After a power cut during a restoration, the next restoration continues it. Raises
    BadFile.
    """
    path = real_path(path)
    with own_store(path):
        backups, fresh_path = [backup for backup in old_backups(path) if backup.exists()], Path(f"{path}.fresh")
        _check_files(Path(f"{file}{ending}") for file in (path, fresh_path) for ending in SQLITE_ENDINGS if ending)
        if _is_sound(path):
            return StoreRestoration(True, f"{path} is sound; nothing was changed.")
        _check_files((fresh_path, side_copy(path), *backups))  # before anything is renamed
        try:
            damaged_file = _set_aside(path)
            sources = [file for file in (damaged_file, side_copy(path)) if file and file.exists()]
            _begin_anew(path, sources if side_copy(path).exists() else [*sources, *backups])
        except (OSError, sqlite3.Error) as error:
            raise BadFile(f"{path} cannot be restored: {error}; free some space, and try again.") from error
        return StoreRestoration(False, _outcome_text(path, damaged_file, backups))


def _is_sound(path: Path) -> bool:
    try:
        with open_store(path) as store:
            check_store(store)
    except Damaged:
        return False
    except BadFile:
        if is_readable(path):
            raise
        return False
    return True


def _check_files(files: Iterable[Path]) -> None:
    """Raise BadFile for a file that a restoration reads or removes, and cannot."""
    for file in files:
        if file.exists() and not (file.is_file() and os.access(file, os.R_OK)):
            reason = "you may not read it" if file.is_file() else "it is not a regular file"
            raise BadFile(f"{file} is in the way of restoring, as {reason}; make it readable or move it, and try again.")


def _outcome_text(path: Path, damaged_file: Path | None, backups: Sequence[Path]) -> str:
    queries = (
        "SELECT count(*) FROM results",
        "SELECT count(*) FROM requests",
        f"SELECT count(*) FROM points JOIN requests ON id = request WHERE points.state = {OPEN} AND requests.state = 'done'",
        f"SELECT count(*) FROM requests WHERE digest = '' AND NOT {LISTED}",
    )
    with open_store(path) as store:
        results, requests, points, lists = (int(store.execute(query).fetchone()[0]) for query in queries)
    held_text = f"{figures.count(results, 'result')} and {figures.count(requests, 'request')}"
    missing = [f"the results of {figures.count(points, 'finished point')}"] * bool(points)
    missing += [f"the lists of points of {figures.count(lists, 'request')}"] * bool(lists)
    sentences = [
        f"{path} was damaged"
        + (f", and is kept whole as {damaged_file}: delete it when nothing is missed." * bool(damaged_file)),
        f"The new store has {held_text} that could still be read there or in {side_copy(path)}.",
        f"It lacks {' and '.join(missing)}." if missing else "",
        "Whatever is missing is computed again when it is asked for.",
        f"Backups by an earlier version are no longer needed; delete {', '.join(map(str, backups))}." if backups else "",
    ]
    return " ".join(filter(None, sentences))


def _set_aside(path: Path) -> Path | None:
    """Rename the damaged file with its log; return its new path, or that of an interrupted restoring.

    The old names go when both new names are there, as a file without its log lacks its last commits.
    """
    number = next(n for n in count(1) if not (name := damaged_path(path, n)).exists() or (path.exists() and name.samefile(path)))
    if not path.exists() or not path.stat().st_size:
        number -= 1
    else:
        for ending in ("", "-wal", "-journal"):
            new_name = Path(f"{damaged_path(path, number)}{ending}")
            if Path(f"{path}{ending}").exists() and not new_name.exists():
                os.link(f"{path}{ending}", new_name)
        sync(path.parent)
    remove_database(path)
    sync(path.parent)
    return damaged_path(path, number) if number else None


def _begin_anew(path: Path, sources: Sequence[Path]) -> None:
    new_path = Path(f"{path}.fresh")
    remove_database(new_path)
    with closing(connect(new_path)) as store:
        carry_rows(store, sources, CARRIED, "true")
        with transaction(store):
            for statement in ADJUSTMENTS:
                store.execute(statement)
    put_in_place(new_path, path)
