"""The formats of data files: recognised by name and first bytes, or named by a mapping beside the file; one reader each."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ...errors import BadFile, nearest
from . import arrays, foreign, mapping, recognition
from .blocks import GZIP, Blocks, opened, shown, unchanged
from .layouts import TEXTS, YAMBDA, Layout
from .recording import Recording
from .samples import Watch, unwatched
from .traces import kinds

PARQUET, ZIP, NPY = b"PAR1", b"PK\x03\x04", b"\x93NUMPY"
BY_NAME: Mapping[str, Layout] = {one.name: one for one in (*TEXTS, YAMBDA)}
NAMES = ("criteo", "torchrec", "mlperf", "dlrm", *BY_NAME)


def read(path: Path | str, watch: Watch = unwatched, labels: bool = True) -> Recording:
    """Read a data file from disk; raises BadFile with the file's name and, where there is one, the line.

    `watch` is told how far the reading is, from 0 to 1, and of what. A file without `labels` is refused if they are needed.
    """
    path = Path(path)
    if kinds.is_trace(path):
        raise BadFile(kinds.untrainable(path, watch))
    given, (head, packed) = mapping.content(path), first_bytes(path)
    name, wanted = shown(path.name), str(given.get("format", ""))
    if wanted and wanted not in NAMES:
        raise BadFile(f"{mapping.name_of(path)}: format={wanted[:40]!r} is not known; {nearest(wanted[:40], NAMES)}")
    foreign.check(path, name, head, packed)
    if packed and head.startswith((NPY, ZIP, PARQUET)):
        raise BadFile(f"{name} is a gzipped file of arrays or Parquet; unpack it with gunzip, so that it can be mapped.")
    if head.startswith((NPY, ZIP)) or wanted in ("torchrec", "mlperf"):
        foreign.check_zip(path, name)
        if arrays.PARTS.fullmatch(path.name) or wanted in ("torchrec", "mlperf") or head.startswith(NPY):
            mapping.refuse_idle(path, given, "arrays, whose names say what they are", mapping.KEYS[1:])
            return _unchanged(path, lambda: _arrays(path, wanted, watch))
        from . import array_table  # late, as below

        mapping.refuse_idle(path, given, "an archive, which names its arrays itself", mapping.TEXT_ALONE)

        def by_arrays(own: Layout | None) -> Layout | None:
            if wanted and wanted not in BY_NAME and not (wanted == "dlrm" and own):
                raise _other(path, wanted, "an archive of arrays")
            base = BY_NAME.get(wanted) or (own if wanted == "dlrm" or not given else None)
            return _labelled(path, mapping.layout(path, given, base) if given else base, labels) if given or base else None

        return _unchanged(path, lambda: array_table.read(path, name, by_arrays, watch))
    if head.startswith(PARQUET):
        from . import parquet  # late, as below

        mapping.refuse_idle(path, given, "Parquet, which names and parts its columns itself", mapping.TEXT_ALONE)

        def by_columns(names: tuple[str, ...]) -> Layout:
            return _labelled(path, parquet_layout(path, given, names), labels)

        return _unchanged(path, lambda: parquet.read(path, name, by_columns, watch))
    layout = _labelled(path, text_layout(path, given, head, packed), labels)
    return _unchanged(path, lambda: _text(path, name, layout, watch))


def _arrays(path: Path, wanted: str, watch: Watch) -> Recording:
    """Read arrays whose names say what they are; raises BadFile, also where a mapping says that they are something else."""
    found = arrays.read(path, shown(path.name), watch)
    if wanted not in ("", found.format):
        raise _other(path, wanted, f"of {found.format}")
    return found


def _other(path: Path, wanted: str, what: str) -> BadFile:
    """Return the refusal of a mapping that names a format which the file is not."""
    return BadFile(f"{mapping.name_of(path)}: format={wanted!r}, but {shown(path.name)} is {what}; take that line away.")


def text_layout(path: Path, given: dict[str, Any], head: bytes, packed: bool) -> Layout:
    """Return the layout of a text that begins with `head`, by what its mapping says; raises BadFile."""
    wanted = str(given.get("format", ""))
    base = BY_NAME.get(wanted)
    foreign.check_line_ends(shown(path.name), head, packed)
    if wanted and not base and wanted != "criteo":
        raise _other(path, wanted, "a text")
    if not base and (not given or wanted == "criteo"):
        base = recognition.text_layout(shown(path.name), head, packed, wanted == "criteo")
    return mapping.layout(path, given, base) if given or base is None else base


def parquet_layout(path: Path, given: dict[str, Any], names: tuple[str, ...]) -> Layout:
    """Return the layout of a Parquet file with columns of these names, by what its mapping says; raises BadFile."""
    wanted = str(given.get("format", ""))
    base = BY_NAME.get(wanted)
    if wanted == YAMBDA.name or not given:
        base = recognition.parquet_layout(path, shown(path.name), names)
    elif wanted and not base:
        raise _other(path, wanted, "Parquet")
    return mapping.layout(path, given, base) if given or base is None else base


def _labelled(path: Path, layout: Layout | None, labels: bool) -> Layout:
    """Return the layout; raises BadFile for one without a label where one is asked for."""
    assert layout is not None
    if labels and not layout.label:
        raise BadFile(
            f"{mapping.name_of(path)} names no label, without which a file can only be fitted and counted; write "
            'label = "COLUMN" to train on it.'
        )
    return layout


def files_of(path: Path) -> tuple[Path, ...]:
    """Return all files that belong to a data file: those beside it, and its mapping."""
    foreign.check_pointer(path)
    own = arrays.files(path) if path.suffix == ".npy" or arrays.PARTS.fullmatch(path.name) else (path,)
    there = mapping.place(path)
    return (*own, there) if there else own


def digest_of(path: Path) -> str:
    """Return the SHA-256 by which links name a data file: of its bytes, or of the digests of all files that belong to it."""
    try:
        digests = []
        for one in files_of(path):
            with opened(one) as file:
                digests.append(file_digest(file, "sha256").hexdigest())  # type: ignore[arg-type]
    except OSError as error:
        raise BadFile(f"{shown(path)} cannot be read: {error.strerror or error}; give a readable file.") from error
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def first_bytes(path: Path) -> tuple[bytes, bool]:
    """Return a file's first bytes, unpacked if it is gzipped, and whether it is; raises BadFile."""
    with opened(path) as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        head = b""
        for piece in Blocks(shown(path.name), file).pieces():
            head += piece
            if len(head) >= recognition.HEAD:
                break
        return head, packed


def _unchanged(path: Path, decode: Callable[[], Recording]) -> Recording:
    """Read files that nobody may write to meanwhile; raises BadFile."""
    before = [os.stat(one) for one in files_of(path)]
    try:
        found = decode()
        return found if found.digest else replace(found, digest=digest_of(path))
    finally:
        for one, then in zip(files_of(path), before, strict=True):
            unchanged(then, os.stat(one), shown(one.name))


def _text(path: Path, name: str, layout: Layout, watch: Watch) -> Recording:
    """Read a text block by block; without a mapping its digest is of the bytes that were read."""
    from . import text_table  # late: Arrow takes a third of a second

    with opened(path) as file:
        blocks = Blocks(name, file, os.fstat(file.fileno()).st_size, watch=watch)
        found = text_table.decode(blocks, layout)
    return found if mapping.place(path) else replace(found, digest=blocks.digest())
