"""Reads binary arrays of Criteo's days: TorchRec's .npy files and MLPerf's .npz files.

A day has three files, which are mapped from the disk. The ids are in `day_0_sparse.npy`, `day_0_sparse_contig_freq.npy` or, with
several ids per bag, `day_0_sparse_multi_hot.npz`. In the same folder are `day_0_dense.npy` and `day_0_labels.npy`. Ids are row
numbers, modulo the rows of the model's tables.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ...core.arithmetic import total
from ...core.figures import count
from ...errors import BadFile
from ...paths import open_regular
from . import conversions, mapping, zipped
from .foreign import check_pointer
from .mapped import count_touched
from .recording import Recording, check_samples, file_beside
from .samples import Watch, unwatched
from .zipped import Header

PARTS = re.compile(r"(?P<day>.*?)_?(?P<part>sparse_multi_hot\.npz|sparse\w*\.npy|dense\.npy|labels\.npy)")
MOST_FIELDS, MOST_LOOKUPS = 10_000, 1_000_000
BLOCK_SAMPLES = 1 << 20  # samples


def day_files(path: Path) -> tuple[Path, Path, Path]:
    """Return the paths of a day's dense features, ids and labels.

    `path` is one of them. Raises BadFile for a missing file.
    """
    match = PARTS.fullmatch(path.name)
    if match is None:
        raise _unnamed(path)
    day = f"{match['day']}_" if match["day"] else ""
    sparse = path
    if not match["part"].startswith("sparse"):
        sparse_files = [
            file
            for file in sorted(path.parent.glob("*.np[yz]"))
            if PARTS.fullmatch(file.name) and file.name.startswith(f"{day}sparse")
        ]
        if len(sparse_files) != 1:
            names = ", ".join(file.name for file in sparse_files[:4]) or "none is there"
            raise BadFile(
                f"{path.name} needs one file of ids beside it, such as {day}sparse.npy ({names}); give that file itself."
            )
        sparse = sparse_files[0]
    return file_beside(path, f"{day}dense.npy"), sparse, file_beside(path, f"{day}labels.npy")


def _unnamed(path: Path) -> BadFile:
    """Return the refusal of a file whose name is not that of a day's part."""
    names = "day_0_dense.npy, day_0_sparse.npy, day_0_labels.npy"
    with open_regular(path) as file:
        if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
            claim = f"{mapping.mapping_name(path)} says a format of arrays that are named {names}"
            return BadFile(
                f"{path.name} is not such an array file, but {claim}; remove `format` from the mapping, or rename the files."
            )
        file.seek(0)
        try:
            zipped.read_header(file, path.name)
        except zipped.HoldsObjects:
            conversion = conversions.OBJECTS
            return BadFile(
                f"{path.name} holds Python objects, which are never opened; {conversion.words}",
                remedy=conversion.remedy(path.name),
            )
    conversion = conversions.ARCHIVE
    return BadFile(
        f"{path.name} is an array file of unknown use; name it as TorchRec does: {names}; or {conversion.words}",
        remedy=conversion.remedy(path.name),
    )


def read_arrays(path: Path, name: str, watch: Watch = unwatched) -> Recording:
    """Return the recording of a day, with its three files mapped.

    Raises BadFile if the files are damaged or do not belong together.
    """
    dense_file, sparse, labels_file = day_files(path)
    dense, labels = _mapped(dense_file, "f"), _mapped(labels_file, "fiub")
    multi_hot = sparse.name.endswith(".npz")
    ids = _members(sparse, watch) if multi_hot else [_mapped(sparse, "iu")]
    if dense.ndim != 2 or any(field_ids.ndim != 2 for field_ids in ids):
        raise BadFile(
            f"{name} has arrays with one axis or more than two; dense features and ids need the shape (samples, features)."
        )
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    counts = {len(dense), len(labels), *map(len, ids)}
    if labels.ndim != 1 or len(counts) > 1:
        raise BadFile(
            f"{name} and the files beside it have different numbers of samples, {sorted(counts)}; give complete files of the "
            "same day."
        )
    _check_values(dense_file.name, dense, np.isfinite, "a feature that is not finite; write log(x + 3) of counts")
    _check_values(labels_file.name, labels, _is_label, "a label other than 0 and 1; write only those")
    values = np.asarray(labels, np.float32)
    check_samples(name, values)
    fields = ids if multi_hot else [ids[0][:, column : column + 1] for column in range(ids[0].shape[1])]
    pooling = tuple(int(field.shape[1]) for field in fields)
    if len(fields) > MOST_FIELDS or total(pooling) > MOST_LOOKUPS:
        raise BadFile(
            f"{name} has samples of {count(len(fields), 'field')} with {count(total(pooling), 'id')}; give arrays of at most "
            f"{count(MOST_FIELDS)} fields with {count(MOST_LOOKUPS)} ids."
        )
    kind = "mlperf" if multi_hot else "torchrec"
    return Recording(name, dense, tuple(fields), values, pooling, False, kind)


def _is_label(values: Any) -> Any:
    return (values == 0) | (values == 1)


def _check_values(name: str, array: Any, is_valid: Callable[[Any], Any], fault: str) -> None:
    """Raise BadFile naming the first sample with a value that is not valid."""
    for start in range(0, len(array), BLOCK_SAMPLES):
        part = array[start : start + BLOCK_SAMPLES]
        are_valid = is_valid(part)
        count_touched(part.nbytes)
        if not are_valid.all():
            row = start + int(np.argmin(are_valid.reshape(len(part), -1).all(axis=1)))
            raise BadFile(f"{name}: sample {count(row)} has {fault}.")


def _mapped(path: Path, kinds: str) -> Any:
    """Map one .npy file."""
    check_pointer(path)
    try:
        with open_regular(path) as file:
            header = zipped.read_header(file, path.name)
            _check_kind(path.name, header, kinds)
            data_nbytes = path.stat().st_size - header.nbytes
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror or error}; give a readable file.") from error
    if header.size > data_nbytes:
        raise BadFile(
            f"{path.name} declares {header.shape} of {header.kind}, but its {count(data_nbytes, 'byte')} do not match; copy it "
            "again."
        )
    return zipped.map_member(path, header, header.nbytes)


def _members(path: Path, watch: Watch) -> list[Any]:
    """Map the arrays 0.npy, 1.npy, ... of an .npz."""
    check_pointer(path)
    headers = zipped.archive_headers(path)
    names = [str(field) for field in range(len(headers))]
    if not headers or set(names) != set(headers):
        raise BadFile(
            f"{path.name} has members other than 0.npy, 1.npy, ...; MLPerf's multi-hot files have one member per field."
        )
    for name in names:
        _check_kind(f"{path.name}/{name}.npy", headers[name], "iu")
    return [zipped.archive_array(path, name, watch) for name in names]


def _check_kind(name: str, header: Header, kinds: str) -> None:
    """Raise BadFile for an array of another type, byte order or order of axes than is read."""
    if header.kind.byteorder == ">":
        raise BadFile(
            f"{name} has numbers in the byte order of other computers ({header.kind}); save it again with astype('<i4')."
        )
    if header.kind.kind not in kinds:
        expected_kind = "floats" if kinds == "f" else "whole numbers"
        raise BadFile(f"{name} holds {header.kind}, but {expected_kind} are expected; save it with that type.")
    if header.by_column:
        raise BadFile(f"{name} is stored column by column; save it again with numpy.ascontiguousarray.")
    if not header.size:
        raise BadFile(f"{name} declares {header.shape} of {header.kind}, which has no elements; copy it again.")
