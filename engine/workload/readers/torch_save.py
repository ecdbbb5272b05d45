"""Reads Meta's embedding traces, a torch save of (indices, offsets, lengths), without torch and without pickle's freedom.

A file is one batch: indices (I,) table by table, offsets (T·B+1,), lengths (T, B). The pickle inside may name nothing but the
rebuilding of tensors; their bytes are mapped from the file. A gzipped one is unpacked once, beside itself.
"""

import gzip
import os
import pickle
import shutil
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Words
from ...errors import BadFile
from .arrays import LOCAL_HEADER
from .blocks import GZIP
from .recording import unsigned

KINDS = {"LongStorage": np.int64, "IntStorage": np.int32, "ShortStorage": np.int16, "ByteStorage": np.uint8}
DTYPES = {"int64": np.int64, "int32": np.int32, "int16": np.int16, "uint8": np.uint8}
LARGEST_PICKLE = 1 << 20
PIECE = 1 << 22
EXPANSION = 64  # of the gzip: lengths and offsets shrink well


@dataclass(frozen=True, slots=True, eq=False)
class LookupTrace:
    """One batch of lookups: `indices` (I,), of bag (t, b) from `offsets[t * B + b]` on; `lengths` is (T, B)."""

    name: str
    indices: Any
    offsets: Any
    lengths: Any

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return int(self.lengths.shape[0])

    @property
    def samples(self) -> int:
        """How many bags each table has."""
        return int(self.lengths.shape[1])

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return a table's lookups of bags `low` to `high`, bag after bag."""
        first = table * self.samples
        return unsigned(self.indices[self.offsets[first + low] : self.offsets[first + high]])


class Stored(NamedTuple):
    """A storage as the pickle names it."""

    kind: Any
    key: str


class Tensor(NamedTuple):
    """A tensor as the pickle builds it."""

    storage: Stored
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Unpickler(pickle.Unpickler):
    """Knows the names by which torch rebuilds tensors, and no others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name of torch's; raises BadFile for any other."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, start, shape, strides, *_: Tensor(storage, start, tuple(shape), tuple(strides))
        if module == "torch" and name in KINDS:
            return KINDS[name]
        if module == "torch" and name in DTYPES:
            return DTYPES[name]
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        raise BadFile(f"it asks for {module}.{name}"[:100])

    def persistent_load(self, pid: Any) -> Stored:
        """Return which member of the archive a tensor's bytes are in; raises BadFile."""
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[2], str)):
            raise BadFile("it has a storage of unknown form")
        return Stored(np.dtype(pid[1]), pid[2])


def is_trace(path: Path) -> bool:
    """Return whether a name is that of such a file."""
    return path.name.endswith((".pt", ".pt.gz"))


def read(path: Path) -> LookupTrace:
    """Map a trace; raises BadFile."""
    name = path.name
    try:
        plain = _unpacked(path)
        if not zipfile.is_zipfile(plain):
            raise BadFile(f"{name} is no zip archive, as torch writes since 1.6; save it again with a newer torch.")
        with zipfile.ZipFile(plain) as archive:
            indices, offsets, lengths = (_array(plain, archive, one) for one in _tensors(name, archive))
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, KeyError, ValueError) as error:
        raise BadFile(f"{name} is damaged or cut off ({str(error)[:120]}); copy it again.") from error
    _check(name, indices, offsets, lengths)
    return LookupTrace(name, indices, offsets, lengths)


def _tensors(name: str, archive: zipfile.ZipFile) -> list[Tensor]:
    inside = next((info for info in archive.infolist() if info.filename.endswith("/data.pkl")), None)
    if inside is None or inside.file_size > LARGEST_PICKLE:
        raise BadFile(f"{name} holds no tensors as torch saves them; give a file of dlrm_datasets.")
    try:
        with archive.open(inside) as file:
            found = _Unpickler(file).load()
    except BadFile as error:
        raise BadFile(f"{name} holds more than tensors: {error}; only tensors are read, and nothing else is ever run.") from error
    except Exception as error:
        raise BadFile(f"{name} has a pickle that cannot be read ({type(error).__name__}); copy it again.") from error
    if not (isinstance(found, (tuple, list)) and len(found) == 3 and all(isinstance(one, Tensor) for one in found)):
        raise BadFile(f"{name} does not hold three tensors: indices, offsets and lengths; give a file of dlrm_datasets.")
    return list(found)


def _array(path: Path, archive: zipfile.ZipFile, tensor: Tensor) -> Any:
    """Map a tensor's bytes, whose storage is a member that is not compressed."""
    (info,) = [one for one in archive.infolist() if one.filename.endswith(f"/data/{tensor.storage.key}")]
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError("a storage is compressed")
    dense = tuple(int(np.prod(tensor.shape[at + 1 :])) for at in range(len(tensor.shape)))
    count = int(np.prod(tensor.shape))
    end = (tensor.start + count) * tensor.storage.kind.itemsize
    if tensor.strides != dense or tensor.start < 0 or count <= 0 or end > info.file_size:
        raise ValueError("a tensor does not lie within its storage")
    with path.open("rb") as file:
        file.seek(info.header_offset)
        _, longer, extra = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    start = info.header_offset + LOCAL_HEADER.size + longer + extra + tensor.start * tensor.storage.kind.itemsize
    return np.memmap(path, tensor.storage.kind, "r", start, tensor.shape)


def _check(name: str, indices: Any, offsets: Any, lengths: Any) -> None:
    """Raise BadFile where the three do not belong together."""
    if indices.ndim != 1 or offsets.ndim != 1 or lengths.ndim != 2 or len(offsets) != lengths.size + 1:
        shapes = ", ".join(str(one.shape) for one in (indices, offsets, lengths))
        raise BadFile(f"{name} has tensors of {shapes}; indices (I), offsets (T·B+1) and lengths (T, B) are expected.")
    ends = np.asarray(offsets)
    steps = np.diff(ends)
    if (
        ends[0] != 0
        or ends[-1] != len(indices)
        or (steps < 0).any()
        or not np.array_equal(steps, np.asarray(lengths).reshape(-1))
    ):
        raise BadFile(f"{name} has offsets that do not follow from its lengths, or not end with its indices; copy it again.")
    if any(int(part.min()) < 0 for part in np.array_split(indices, max(1, len(indices) // PIECE)) if len(part)):
        raise BadFile(f"{name} has negative indices; rows are numbered from 0.")


def _unpacked(path: Path) -> Path:
    """Return the plain file; a gzipped one is unpacked beside itself once, if there is room, and kept."""
    with path.open("rb") as file:
        if not file.read(2).startswith(GZIP):
            return path
    plain = path.with_name(path.name.removesuffix(".gz") + ".unpacked")
    if plain.exists() and plain.stat().st_mtime >= path.stat().st_mtime:
        return plain
    most = EXPANSION * path.stat().st_size
    part = plain.with_name(f"{plain.name}.{os.getpid()}")
    try:
        with gzip.open(path) as packed, part.open("wb") as there:
            while piece := packed.read(PIECE):
                if there.tell() + len(piece) > most:
                    raise BadFile(
                        f"{path.name} unpacks to more than {EXPANSION} times its size, as no trace does; unpack it yourself."
                    )
                if shutil.disk_usage(part.parent).free < 2 * PIECE:
                    raise BadFile(
                        f"{path.name} needs more room beside it to be unpacked than there is; free some, or unpack it elsewhere."
                    )
                there.write(piece)
        part.replace(plain)
    finally:
        part.unlink(missing_ok=True)
    return plain
