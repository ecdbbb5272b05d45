"""The formats of data files, with one reader for each format.

A format is recognised by the file's name and first bytes, or named by the file's mapping.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from ...errors import BadFile, nearest_hint
from ...paths import open_regular, short_path
from . import arrays, foreign, mapping, recognition
from .blocks import GZIP, Blocks, check_unchanged
from .layouts import TEXTS, YAMBDA, Layout
from .recording import Recording
from .samples import Watch, unwatched
from .traces import kinds

PARQUET, ZIP, NPY = b"PAR1", b"PK\x03\x04", b"\x93NUMPY"
NO_STATEMENT: Mapping[str, Any] = {}
BY_NAME: Mapping[str, Layout] = {layout.name: layout for layout in (*TEXTS, YAMBDA)}
NAMES = ("criteo", "torchrec", "mlperf", "dlrm", *BY_NAME)


def read_file(
    path: Path | str,
    watch: Watch = unwatched,
    labels: bool = True,
    histories: bool = False,
    statement: Mapping[str, Any] = NO_STATEMENT,
) -> Recording:
    """Return the recording of a data file.

    watch: a function that is called with the share that is read, from 0 to 1, and a text.
    labels: True to refuse a file without labels.
    histories: True to keep the file's order and the fields of histories, if its format or mapping states them.
    statement: keys of a mapping that replace those of the file's own.

    Raises BadFile with the file's name and, if known, the line.
    """
    path = Path(path)
    if kinds.is_trace(path):
        raise BadFile(kinds.untrainable_reason(path, watch))
    mapping_content, (head, packed) = {**mapping.read_mapping(path), **statement}, first_bytes(path)
    as_read = partial(_labelled, path, labels=labels, histories=histories)
    name, format_name = short_path(path.name), str(mapping_content.get("format", ""))
    if format_name and format_name not in NAMES:
        raise BadFile(
            f"{mapping.mapping_name(path)}: format={format_name[:40]!r} is not known; {nearest_hint(format_name[:40], NAMES)}"
        )
    foreign.check_format(path, name, head, packed)
    if packed and head.startswith((NPY, ZIP, PARQUET)):
        raise BadFile(
            f"{name} is a gzipped file of arrays or Parquet; unpack it with gunzip, because a packed file cannot be mapped into "
            "memory."
        )
    if head.startswith((NPY, ZIP)) or format_name in ("torchrec", "mlperf"):
        foreign.check_zip(path, name)
        if arrays.PARTS.fullmatch(path.name) or format_name in ("torchrec", "mlperf") or head.startswith(NPY):
            mapping.refuse_idle(path, mapping_content, "arrays, whose names say what they are", mapping.KEYS[1:])
            return _unchanged(path, lambda: _arrays(path, format_name, watch))
        return _archive(path, mapping_content, as_read, watch)
    if head.startswith(PARQUET):
        from . import parquet  # late, as below

        mapping.refuse_idle(path, mapping_content, "Parquet, which has its own column names and types", mapping.TEXT_ALONE)

        def by_columns(names: tuple[str, ...]) -> Layout:
            return as_read(parquet_layout(path, mapping_content, names))

        return _unchanged(path, lambda: parquet.read_parquet(path, name, by_columns, watch))
    layout = as_read(text_layout(path, mapping_content, head, packed))
    return _unchanged(path, lambda: _text(path, name, layout, watch))


def _archive(path: Path, mapping_content: dict[str, Any], as_read: Callable[[Layout | None], Layout], watch: Watch) -> Recording:
    """Read an archive of arrays; `as_read` completes its layout. Raises BadFile."""
    from . import array_table  # late: Arrow takes a third of a second

    mapping.refuse_idle(path, mapping_content, "an archive, which names its arrays itself", mapping.TEXT_ALONE)
    format_name = str(mapping_content.get("format", ""))

    def by_arrays(dlrm_layout: Layout | None) -> Layout | None:
        if format_name and format_name not in BY_NAME and not (format_name == "dlrm" and dlrm_layout):
            raise _other_format(path, format_name, "an archive of arrays")
        base = BY_NAME.get(format_name) or (dlrm_layout if format_name == "dlrm" or not mapping_content else None)
        if not mapping_content:
            return base and as_read(base)
        return as_read(mapping.layout(path, mapping_content, base))

    return _unchanged(path, lambda: array_table.read_archive(path, short_path(path.name), by_arrays, watch))


def _arrays(path: Path, format_name: str, watch: Watch) -> Recording:
    """Read arrays recognised by their names; raises BadFile, also where a mapping names another format."""
    recording = arrays.read_arrays(path, short_path(path.name), watch)
    if format_name not in ("", recording.format):
        raise _other_format(path, format_name, f"of {recording.format}")
    return recording


def _other_format(path: Path, format_name: str, kind: str) -> BadFile:
    """Return the refusal of a mapping that names a format other than the file's."""
    return BadFile(
        f"{mapping.mapping_name(path)}: format={format_name!r}, but {short_path(path.name)} is {kind}; remove that line."
    )


def text_layout(path: Path, mapping_content: dict[str, Any], head: bytes, packed: bool) -> Layout:
    """Return the layout of a text, by its mapping if there is one; raises BadFile.

    `head` are the first bytes of the text.
    """
    format_name = str(mapping_content.get("format", ""))
    base = BY_NAME.get(format_name)
    foreign.check_line_ends(short_path(path.name), head, packed)
    foreign.check_start(short_path(path.name), head, packed)
    if format_name and not base and format_name != "criteo":
        raise _other_format(path, format_name, "a text")
    if not base and (not mapping_content or format_name == "criteo"):
        base = recognition.text_layout(short_path(path.name), head, packed, format_name == "criteo")
    return mapping.layout(path, mapping_content, base) if mapping_content or base is None else base


def parquet_layout(path: Path, mapping_content: dict[str, Any], names: tuple[str, ...]) -> Layout:
    """Return the layout of a Parquet file, by its mapping if there is one.

    `names` are the names of its columns. Raises BadFile.
    """
    format_name = str(mapping_content.get("format", ""))
    base = BY_NAME.get(format_name)
    if format_name == YAMBDA.name or not mapping_content:
        base = recognition.parquet_layout(path, short_path(path.name), names)
    elif format_name and not base:
        raise _other_format(path, format_name, "Parquet")
    return mapping.layout(path, mapping_content, base) if mapping_content or base is None else base


def _labelled(path: Path, layout: Layout | None, labels: bool, histories: bool) -> Layout:
    """Return the layout, which keeps the file's order for `histories` that it states.

    Raises BadFile for a layout without a label where `labels` are needed.
    """
    assert layout is not None
    if labels and not layout.label:
        raise BadFile(
            f"{mapping.mapping_name(path)} names no label; without one a file can only be fitted and counted: write label = "
            '"COLUMN" to train on it.'
        )
    return replace(layout, keeps_order=histories and bool(layout.history))


def parts_of_file(path: Path) -> tuple[Path, ...]:
    """Return the paths of all files that belong to a data file.

    The files are the parts, which are in the same folder, and the mapping.
    """
    foreign.check_pointer(path)
    data_files = arrays.day_files(path) if path.suffix == ".npy" or arrays.PARTS.fullmatch(path.name) else (path,)
    mapping_file = mapping.place(path)
    return (*data_files, mapping_file) if mapping_file else data_files


def digest_of(path: Path) -> str:
    """Return the SHA-256 digest that identifies a data file in links.

    The digest is that of the file's bytes or, if several files belong to the data file, of their digests.
    """
    try:
        digests = []
        for data_file in parts_of_file(path):
            with open_regular(data_file) as file:
                digests.append(file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise BadFile(f"{short_path(path)} cannot be read: {error.strerror or error}; give a readable file.") from error
    return digests[0] if len(digests) == 1 else sha256("\n".join(digests).encode()).hexdigest()


def first_bytes(path: Path) -> tuple[bytes, bool]:
    """Return (first bytes of a file, whether the file is gzipped).

    The bytes of a gzipped file are unpacked. Raises BadFile.
    """
    with open_regular(path) as file:
        packed = file.read(len(GZIP)) == GZIP
        file.seek(0)
        head = b""
        for piece in Blocks(short_path(path.name), file).pieces():
            head += piece
            if len(head) >= recognition.HEAD:
                break
        return head, packed


def _unchanged(path: Path, decode: Callable[[], Recording]) -> Recording:
    """Return the recording that `decode` reads; raises BadFile where a file changes meanwhile."""
    stats = [os.stat(data_file) for data_file in parts_of_file(path)]
    try:
        recording = decode()
        return recording if recording.digest else replace(recording, digest=digest_of(path))
    finally:
        for data_file, file_stat in zip(parts_of_file(path), stats, strict=True):
            check_unchanged(file_stat, os.stat(data_file), short_path(data_file.name))


def _text(path: Path, name: str, layout: Layout, watch: Watch) -> Recording:
    """Read a text block by block.

    Without a mapping the digest is that of the bytes read.
    """
    from . import text_table  # late: Arrow takes a third of a second

    with open_regular(path) as file:
        blocks = Blocks(name, file, os.fstat(file.fileno()).st_size, watch=watch)
        recording = text_table.text_recording(blocks, layout)
    return recording if mapping.place(path) else replace(recording, digest=blocks.digest())
