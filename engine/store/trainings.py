"""The table of trainings by functional class, for all workers."""

import json
import sqlite3
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from .. import version
from ..run.shared_training import Training
from ..training.loop import Scores
from .database import checksum, transaction
from .result_rows import is_whole


class StoreShelf:
    """The store's table of trainings as a shelf.

    Errors of the store are ignored, so that no run is lost.
    """

    def __init__(self, store: sqlite3.Connection) -> None:
        self.store = store

    def get(self, name: str) -> Training | None:
        """Return the training of a class, or None.

        A damaged one is deleted, to be trained again.
        """
        with suppress(sqlite3.Error):
            return load_training(self.store, name)
        return None

    def __setitem__(self, name: str, training: Training) -> None:
        """Store the training of a class; an older one of this code stays."""
        record = training_text(training)
        row = (name, record, checksum(name, record), version.MODEL, time.time(), version.CODE)
        columns = "class, record, checksum, model_version, created, code"
        with suppress(sqlite3.Error), transaction(self.store):
            self.store.execute("DELETE FROM trainings WHERE class = ? AND code != ?", (name, version.CODE))
            self.store.execute(f"INSERT OR IGNORE INTO trainings ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)


def load_training(store: sqlite3.Connection, name: str) -> Training | None:
    """Return this code's training under a class's name, or None; a damaged one is deleted."""
    row = store.execute("SELECT record, checksum FROM trainings WHERE class = ? AND code = ?", (name, version.CODE)).fetchone()
    return training_from_text(row[0]) if row and is_whole(store, "trainings", name, *row) else None


def training_text(training: Training) -> str:
    """Return a training as one line of JSON, with all numbers in full precision."""
    return json.dumps(asdict(training), separators=(",", ":"), allow_nan=False)


def training_from_text(record: str) -> Training:
    """Return the training that `text` has written."""
    content: dict[str, Any] = json.loads(record)
    aucs = {int(batches): tuple(auc_values) for batches, auc_values in content["aucs"].items()}
    return Training(**{**content, "losses": tuple(content["losses"]), "aucs": aucs, "scores": Scores(**content["scores"])})
