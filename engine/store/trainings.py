"""The table of trainings by functional class, which all workers share."""

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
    """The table of trainings as a mapping from the name of a functional class.

    Errors of the store are ignored, so that no run fails because of them.
    """

    def __init__(self, store: sqlite3.Connection) -> None:
        self.store = store

    def get(self, name: str) -> Training | None:
        """Return the training of a functional class, or None.

        A damaged training is deleted, so that the class is trained again.
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
    """Return the training of this code for a functional class, or None.

    A damaged training is deleted.
    """
    row = store.execute("SELECT record, checksum FROM trainings WHERE class = ? AND code = ?", (name, version.CODE)).fetchone()
    return training_from_text(row[0]) if row and is_whole(store, "trainings", name, *row) else None


def training_text(training: Training) -> str:
    """Return a training as one line of JSON; numbers have all their digits."""
    return json.dumps(asdict(training), separators=(",", ":"), allow_nan=False)


def training_from_text(record: str) -> Training:
    """Return the training that `training_text` has written as JSON."""
    content: dict[str, Any] = json.loads(record)
    aucs = {int(batches): tuple(auc_values) for batches, auc_values in content["aucs"].items()}
    return Training(**{**content, "losses": tuple(content["losses"]), "aucs": aucs, "scores": Scores(**content["scores"])})
