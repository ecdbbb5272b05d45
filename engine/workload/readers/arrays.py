"""Reads binary formats of arrays: TorchRec's three .npy files of a day, and MLPerf's .npz of multi-hot ids, mapped from the disk.

Beside `day_0_sparse.npy`, `day_0_sparse_contig_freq.npy` or `day_0_sparse_multi_hot.npz` lie `day_0_dense.npy` and
`day_0_labels.npy`. Ids are rows' numbers, modulo the rows of the model's tables.
"""

import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from ...errors import BadFile
from .mapped import mapped, touched
from .recording import Recording, beside, check_samples

PARTS = re.compile(r"(?P<day>.*?)_?(?P<part>sparse_multi_hot\.npz|sparse\w*\.npy|dense\.npy|labels\.npy)")
MOST_FIELDS, MOST_LOOKUPS = 10_000, 1_000_000
AT_ONCE = 1 << 20  # samples
LOCAL_HEADER = struct.Struct("<4s22xHH")  # zip: signature, then lengths of name and extra field at its end


def files(path: Path) -> tuple[Path, Path, Path]:
    """Return the files of dense features, ids and labels that belong together; raises BadFile for one that is missing."""
    match = PARTS.fullmatch(path.name)
    if match is None:
        raise BadFile(
            f"{path.name} is an array file of unknown use; name it as TorchRec does: day_0_dense.npy, day_0_sparse.npy, "
            "day_0_labels.npy."
        )
    day = f"{match['day']}_" if match["day"] else ""
    sparse = path
    if not match["part"].startswith("sparse"):
        found = [
            one
            for one in sorted(path.parent.glob("*.np[yz]"))
            if PARTS.fullmatch(one.name) and one.name.startswith(f"{day}sparse")
        ]
        if len(found) != 1:
            names = ", ".join(one.name for one in found[:4]) or "none is there"
            raise BadFile(
                f"{path.name} needs one file of ids beside it, such as {day}sparse.npy ({names}); give that file itself."
            )
        sparse = found[0]
    return beside(path, f"{day}dense.npy"), sparse, beside(path, f"{day}labels.npy")


def read(path: Path, name: str) -> Recording:
    """Map the three files; raises BadFile where they are damaged or do not belong together."""
    dense_file, sparse, labels_file = files(path)
    dense, labels = _mapped(dense_file, "f"), _mapped(labels_file, "fiub")
    multi_hot = sparse.name.endswith(".npz")
    ids = _members(sparse) if multi_hot else [_mapped(sparse, "iu")]
    if dense.ndim != 2 or any(one.ndim != 2 for one in ids):
        raise BadFile(f"{name} has arrays of other than two axes; dense features and ids are (samples, features).")
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    counts = {len(dense), len(labels), *map(len, ids)}
    if labels.ndim != 1 or len(counts) > 1:
        raise BadFile(f"{name} and the files beside it have {sorted(counts)} samples; they must be of the same day, whole.")
    _check_values(dense_file.name, dense, np.isfinite, "a feature that is not finite; write log(x + 3) of counts")
    _check_values(labels_file.name, labels, _is_label, "a label other than 0 and 1; write those alone")
    values = np.asarray(labels, np.float32)
    check_samples(name, values)
    fields = ids if multi_hot else [ids[0][:, at : at + 1] for at in range(ids[0].shape[1])]
    pooling = tuple(int(one.shape[1]) for one in fields)
    if not fields or not dense.shape[1] or len(fields) > MOST_FIELDS or not 0 < min(pooling) <= sum(pooling) <= MOST_LOOKUPS:
        raise BadFile(f"{name} has samples of {len(fields)} fields with {sum(pooling)} ids; give arrays with some of both.")
    kind = "mlperf" if multi_hot else "torchrec"
    return Recording(name, dense, tuple(fields), values, pooling, False, kind)


def _is_label(values: Any) -> Any:
    return (values == 0) | (values == 1)


def _check_values(name: str, array: Any, good: Callable[[Any], Any], what: str) -> None:
    """Raise BadFile naming the first sample that has a bad value."""
    for start in range(0, len(array), AT_ONCE):
        part = good(array[start : start + AT_ONCE])
        touched(array[start : start + AT_ONCE].nbytes)
        if not part.all():
            row = start + int(np.argmin(part.reshape(len(part), -1).all(axis=1)))
            raise BadFile(f"{name}: sample {row:,} has {what}.")


def _mapped(path: Path, kinds: str) -> Any:
    """Map one .npy file."""
    try:
        with path.open("rb") as file:
            return _array(path, path.name, file, 0, path.stat().st_size, kinds)
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror or error}; give a readable file.") from error


def _members(path: Path) -> list[Any]:
    """Map the arrays 0.npy, 1.npy, ... inside an uncompressed .npz."""
    found = []
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            infos = {info.filename: info for info in archive.infolist()}
            names = [f"{at}.npy" for at in range(len(infos))]
            if not infos or set(names) != set(infos):
                raise BadFile(f"{path.name} has members other than 0.npy, 1.npy, ...; MLPerf's multi-hot files have one a field.")
            for name in names:
                info = infos[name]
                if info.compress_type != zipfile.ZIP_STORED:
                    raise BadFile(
                        f"{path.name} is compressed; store its arrays uncompressed (numpy.savez), so they can be mapped."
                    )
                file.seek(info.header_offset)
                signature, longer, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
                if signature != b"PK\x03\x04":
                    raise zipfile.BadZipFile("a member is not where the directory says")
                start = info.header_offset + LOCAL_HEADER.size + longer + extra
                found.append(_array(path, f"{path.name}/{name}", file, start, start + info.file_size, "iu"))
    except (zipfile.BadZipFile, OSError, struct.error, ValueError, NotImplementedError) as error:
        raise BadFile(f"{path.name} is a damaged or cut off .npz file: {error}; copy it again.") from error
    return found


def _array(path: Path, name: str, file: BinaryIO, start: int, end: int, kinds: str) -> Any:
    """Map an array whose .npy header stands at `start`; nothing in it is ever unpickled."""
    file.seek(start)
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, kind = reader(file, max_header_size=10_000)
    except (ValueError, EOFError, SyntaxError) as error:
        raise BadFile(f"{name} has no .npy header that can be read ({str(error)[:80]}); copy it again.") from error
    if kind.byteorder == ">":
        raise BadFile(f"{name} holds numbers of the byte order of other computers ({kind}); save it again with astype('<i4').")
    if kind.hasobject or kind.kind not in kinds:
        raise BadFile(f"{name} holds {kind}, but {'floats' if kinds == 'f' else 'whole numbers'} are expected; write those.")
    size = kind.itemsize
    for part in shape:
        size *= int(part)
    if fortran and len(shape) > 1:
        raise BadFile(f"{name} is stored column by column; save it again with numpy.ascontiguousarray.")
    if min(shape, default=0) < 0 or file.tell() + size > end or not size:
        raise BadFile(f"{name} says that it holds {shape} of {kind}, which its {end - start:,} bytes do not; copy it again.")
    return mapped(path, kind, file.tell(), shape)
