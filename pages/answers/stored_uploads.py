"""Uploads on the server's disk: found by their digest, each with its owners.

An upload is a folder `<digest of the data>.<digest of names and content>`, which has the uploaded files unchanged.
"""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic

from engine.errors import BadFile
from engine.store import database, quota
from engine.units import HOUR

STORE = database.DEFAULT
RECORD = ".upload.json"  # no uploaded file is hidden
TIDY_SECONDS = HOUR  # between looks for old uploads
CHANGES = Lock()  # held while an upload is stored, or its owners change
_next_tidy = 0.0


@dataclass(frozen=True)
class Upload:
    """An upload on disk.

    folder: its folder. main: the name of the data file. owners: the visitors who have uploaded it.
    """

    folder: Path
    main: str
    owners: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The path of the data file."""
        return self.folder / self.main

    @property
    def digest(self) -> str:
        """The digest of the data, as links name it."""
        return self.folder.name.partition(".")[0]


def folder() -> Path:
    """Return the folder of all uploads."""
    return quota.uploads_folder(STORE)


def stored_uploads(digest: str = "") -> Iterator[Upload]:
    """Yield the uploads of a digest, or all; unfinished and damaged ones are left out."""
    for upload_folder in quota.uploads(STORE):
        if upload_folder.name.startswith(f"{digest}." if digest else "") and (upload := read_upload(upload_folder)):
            yield upload


def read_upload(upload_folder: Path) -> Upload | None:
    """Return the upload in a folder; None if it is unfinished, damaged or deleted."""
    try:
        record = json.loads((upload_folder / RECORD).read_bytes())
        upload = Upload(upload_folder, record["main"], tuple(record["owners"]))
        return None if upload_folder.name.startswith(quota.UNFINISHED) or not upload.path.is_file() else upload
    except (OSError, ValueError, LookupError, TypeError):
        return None


def is_owner(visitor: str, upload_folder: Path) -> bool:
    """Return whether a visitor has uploaded the files in a folder."""
    upload = read_upload(upload_folder)
    return bool(visitor) and upload is not None and visitor in upload.owners


def uploads_of(visitor: str) -> list[Upload]:
    """Return the uploads of a visitor."""
    return [upload for upload in stored_uploads() if visitor in upload.owners]


def write_record(upload_folder: Path, main: str, owners: Sequence[str]) -> None:
    """Write the record of an upload, whole or not at all; raises OSError."""
    record, part = upload_folder / RECORD, upload_folder / f"{RECORD}.part"
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"main": main, "owners": sorted(owners)}, file)
    part.replace(record)


def delete_own(visitor: str) -> tuple[int, int]:
    """Delete a visitor's uploads; return the numbers of deleted ones, and of those that stay.

    Those that a waiting, running or pinned run needs stay. Uploads that other visitors have uploaded too stay theirs. Raises
    BadFile.
    """
    with CHANGES:
        own_uploads = uploads_of(visitor)
        sole_names = frozenset(upload.folder.name for upload in own_uploads if upload.owners == (visitor,))
        num_left = len(sole_names - quota.delete_uploads(STORE, sole_names))
        try:
            for upload in own_uploads:
                if upload.folder.name not in sole_names:
                    write_record(upload.folder, upload.main, [owner for owner in upload.owners if owner != visitor])
        except OSError as error:
            raise BadFile(f"The server cannot delete the uploads ({error.strerror}); try again later.") from error
    return len(own_uploads) - num_left, num_left


def delete_old() -> None:
    """Delete old uploads that no run needs, at most once in an hour; raises BadFile."""
    global _next_tidy
    if monotonic() >= _next_tidy:
        _next_tidy = monotonic() + TIDY_SECONDS
        with CHANGES:
            quota.delete_uploads(STORE)
