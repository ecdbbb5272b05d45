"""Uploaded files, stored unchanged in a private folder named by their digest, within limits.

An uploaded file that no reader would use is refused.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from engine.core.arithmetic import total
from engine.core.figures import count, figure
from engine.errors import BadFile
from engine.store import quota
from engine.store.database import open_store
from engine.units import MiB
from engine.workload.readers.formats import digest_of, parts_of_file
from pages.answers import data_file, stored_uploads
from pages.answers.data_file import DataFile
from pages.answers.stored_uploads import Upload, read_upload
from pages.data_page.data_folder import MAPPING, files_by_main
from pages.gate import access

FORBIDDEN_CHARACTERS, MOST_NAME = re.compile(r"[^A-Za-z0-9._-]"), 240  # characters of a name at most, with room for a suffix
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
VISITOR_BYTES, VISITOR_UPLOADS = 512 * MiB, 32
SPARE_BYTES = 256 * MiB  # bytes of the disk that uploads leave free
KEPT_SENTENCE = (
    f"The server keeps an upload for {quota.UPLOAD_DAYS} days after its last use, and longer if a waiting, running or pinned run "
    "needs it. Then it is deleted."
)
GONE = "is no longer on this server; remove it from the field of uploads, and upload it again."
DELETE_HINT = "press Delete my uploads, or ask for the file to be named with make run DATA=FILE"


def keep_upload(files: Iterable[tuple[str, bytes]]) -> DataFile:
    """Store files that this visitor has uploaded together; return the main one.

    An upload never overwrites another, whatever its name. Raises BadFile where a file would not be used, or cannot be stored.
    """
    contents, visitor = contents_by_name(files), access.visitor()
    digest = sha256(repr([(name, sha256(contents[name]).hexdigest()) for name in sorted(contents)]).encode()).hexdigest()
    try:
        with stored_uploads.CHANGES:
            upload = _stored_upload(digest, contents)
            if upload is None or visitor not in upload.owners:
                _check_limits(visitor, sum(map(len, contents.values())), is_new=upload is None)
            if upload is None:
                upload = _write(digest, contents, visitor)
            elif visitor not in upload.owners:
                stored_uploads.write_record(upload.folder, upload.main, [*upload.owners, visitor])
            os.utime(upload.folder)
    except OSError as error:
        raise BadFile(f"The server cannot store the file ({error.strerror}); try again later.") from error
    return data_file.uploaded_file(upload)


def uploaded_files(file: DataFile) -> list[tuple[str, bytes]]:
    """Return the names and contents of all files of an upload; raises BadFile if it was deleted."""
    try:
        return [(path.name, path.read_bytes()) for path in file.path.parent.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise BadFile(f"{file.path.name} {GONE}") from error


def _check_limits(visitor: str, nbytes: int, is_new: bool) -> None:
    """Raise BadFile if an upload of this size exceeds a limit; old uploads are deleted before.

    is_new: whether the server does not have it from another visitor.
    """
    quota.delete_uploads(stored_uploads.STORE)
    own_uploads = stored_uploads.uploads_of(visitor)
    own_bytes = total(quota.upload_bytes(upload.folder) for upload in own_uploads)
    if len(own_uploads) >= VISITOR_UPLOADS:
        raise BadFile(
            f"You have {count(len(own_uploads), 'upload')} on this server, and at most {count(VISITOR_UPLOADS)} are allowed; "
            f"{DELETE_HINT}."
        )
    if own_bytes + nbytes > VISITOR_BYTES:
        raise BadFile(
            f"With this upload of {_size(nbytes)} your uploads would take {_size(own_bytes + nbytes)}, and at most "
            f"{_size(VISITOR_BYTES)} are allowed; {DELETE_HINT}."
        )
    if not is_new:
        return
    stored_bytes = total(map(quota.upload_bytes, quota.uploads(stored_uploads.STORE)))
    with open_store(stored_uploads.STORE) as store:
        most_bytes = int(quota.UPLOADS_SHARE * quota.quota_bytes(store))
    if stored_bytes + nbytes > most_bytes:
        raise BadFile(
            f"With this upload of {_size(nbytes)} all uploads would take {_size(stored_bytes + nbytes)}, and at most "
            f"{_size(most_bytes)} are allowed; {DELETE_HINT}."
        )
    if (free_bytes := shutil.disk_usage(stored_uploads.STORE.parent).free) < nbytes + SPARE_BYTES:
        raise BadFile(
            f"This upload takes {_size(nbytes)}, and the server's disk has {_size(free_bytes)} free, of which "
            f"{_size(SPARE_BYTES)} stay free; free some space there, or upload a smaller file."
        )


def _size(nbytes: int) -> str:
    return figure(nbytes / MiB, "MiB")


def contents_by_name(files: Iterable[tuple[str, bytes]]) -> Mapping[str, bytes]:
    """Return the files' contents by their names on the server.

    A mapping file gets the name under which readers search it: `clicks.toml` for `clicks.csv` becomes `clicks.csv.toml`.
    Raises BadFile where two files would get the same name, or a mapping has no data file.
    """
    cleaned = [(cleaned_name(name), content) for name, content in files]
    data_names = sorted({name for name, _ in cleaned if not name.endswith(MAPPING)})
    if not data_names:
        raise BadFile("These files are mappings without data; upload the data file together with its mapping.")
    content_by_name: dict[str, bytes] = {}
    for name, content in cleaned:
        name = _mapping_name(name, data_names) if name.endswith(MAPPING) else name
        twin = next((other_name for other_name in content_by_name if other_name.casefold() == name.casefold()), name)
        if content_by_name.get(twin, content) != content:
            raise BadFile(f"Two of these files would get the name {name} on the server; rename one with other letters or digits.")
        content_by_name[twin] = content
    return content_by_name


def cleaned_name(name: str) -> str:
    """Return a name with only letters, digits and `._-`, which is no path and not hidden.

    Raises BadFile for a name that is too long.
    """
    cleaned = FORBIDDEN_CHARACTERS.sub("_", name).lstrip(".") or "file"
    stem = cleaned[: -len(MAPPING)] if cleaned.lower().endswith(MAPPING) else ""
    if len(stem or cleaned) > MOST_NAME:
        raise BadFile(
            f"{name[:40]}... is a name of {count(len(name), 'character')}, and at most {MOST_NAME} are allowed; rename the file."
        )
    return f"{stem}{MAPPING}" if stem else cleaned


def _mapping_name(name: str, data_names: Iterable[str]) -> str:
    """Return a mapping's name: its data file's name with .toml behind.

    The data file is called as the mapping's stem, or as the stem with an ending.
    """
    stem = name.removesuffix(MAPPING)
    candidates = [data_name for data_name in data_names if data_name == stem] or [
        data_name for data_name in data_names if data_name.startswith(f"{stem}.")
    ]
    if len(candidates) != 1:
        count_word = "several" if candidates else "none"
        raise BadFile(
            f"{name} could be the mapping of {count_word} of these files; the mapping of FILE must have the name FILE{MAPPING}."
        )
    return f"{candidates[0]}{MAPPING}"


def _stored_upload(digest: str, contents: Mapping[str, bytes]) -> Upload | None:
    """Return the upload with this content; None if there is none, or a crash has left only a part of it."""
    for folder in quota.uploads(stored_uploads.STORE):
        if folder.name.endswith(f".{digest}") and (upload := read_upload(folder)) and _is_whole(folder, contents):
            return upload
    return None


def _is_whole(folder: Path, contents: Mapping[str, bytes]) -> bool:
    """Whether all files are there as uploaded; crashes may leave fewer."""
    files = {path.name: path for path in folder.iterdir()}
    if not all(name in files and files[name].stat().st_size == len(content) for name, content in contents.items()):
        return False
    for path, mode in ((stored_uploads.folder(), PRIVATE_FOLDER), (folder, PRIVATE_FOLDER)):
        path.chmod(mode)
    for name in contents:
        files[name].chmod(PRIVATE_FILE)
    return all(files[name].read_bytes() == content for name, content in contents.items())


def _write(digest: str, contents: Mapping[str, bytes], visitor: str) -> Upload:
    """Write files into a private folder, whole or not at all. Raises OSError, BadFile."""
    folder = stored_uploads.folder()
    folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    folder.chmod(PRIVATE_FOLDER)
    unfinished = folder / f"{quota.UNFINISHED}{uuid4().hex}"
    unfinished.mkdir(PRIVATE_FOLDER)
    try:
        for name, content in contents.items():
            with os.fdopen(os.open(unfinished / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if (unfinished / name).stat().st_size != len(content):
                raise BadFile(f"The server has stored only a part of {name}; upload the file again.")
        main = _main_file(unfinished, contents)
        target = folder / f"{digest_of(main)}.{digest}"
        stored_uploads.write_record(unfinished, main.name, [visitor])
        shutil.rmtree(target, ignore_errors=True)  # a damaged one
        return Upload(unfinished.replace(target), main.name, (visitor,))
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _main_file(folder: Path, contents: Mapping[str, bytes]) -> Path:
    """Return the data file to which all others belong.

    Raises BadFile where one would not be read.
    """
    paths = frozenset(folder / name for name in contents)
    recordings = files_by_main([path for path in paths if not path.name.endswith(MAPPING)])
    if len(recordings) > 1:
        for path in recordings:  # the error of a missing file comes first
            parts_of_file(path)
        first_name, second_name = sorted(path.name for path in recordings)[:2]
        raise BadFile(
            f"These are {len(recordings)} separate data files, such as {first_name} and {second_name}, but a run trains on one: "
            "put their rows into one file, in their order, or upload only one of them with the files that belong to it."
        )
    (main,) = recordings
    unread = sorted(path.name for path in paths - set(parts_of_file(main)))
    if unread:
        raise BadFile(f"{unread[0]} does not belong to {main.name}, so it would be ignored; upload only one of the two.")
    return main
