"""Reads Meta's embedding traces, a torch save of (indices, offsets, lengths), without torch and without pickle's freedom.

A file is one batch: indices (I,) table by table, offsets (T·B+1,), lengths (T, B). The pickle inside may name nothing but the
rebuilding of tensors; their bytes are mapped from the file. A gzipped one is unpacked once, see `unpacking`.
"""

import io
import pickle
import struct
import zipfile
import zlib
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ....core.arrays import Ints, Words
from ....errors import BadFile
from ..blocks import GZIP, opened, shown
from ..mapped import mapped, touched
from ..recording import words
from ..samples import Watch, unwatched
from ..zipped import LOCAL_HEADER
from .unpacking import unpacked

KINDS = {"LongStorage": np.int64, "IntStorage": np.int32, "ShortStorage": np.int16, "ByteStorage": np.uint8}
KINDS |= {"int64": np.int64, "int32": np.int32, "int16": np.int16, "uint8": np.uint8}
LARGEST_PICKLE = 1 << 20
PIECE = 1 << 22
OLD = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # torch's mark before it wrote zip archives, since 1.6


@dataclass(frozen=True, slots=True, eq=False)
class LookupTrace:
    """One batch of lookups: `indices` (I,), of bag (t, b) from `offsets[t * B + b]` on; `lengths` is (T, B)."""

    name: str
    indices: Any
    offsets: Any
    lengths: Any

    hashed = False  # indices are rows' numbers
    format = "meta"
    order = "one batch, table by table"

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
        found = words(self.indices[self.offsets[first + low] : self.offsets[first + high]])
        touched(found.nbytes)
        return found

    def bag_lengths(self, table: int) -> Ints:
        """Return how many lookups of a table each sample has."""
        return np.asarray(self.lengths[table], dtype=np.int64)


class Stored(NamedTuple):
    """A storage as the pickle names it."""

    kind: Any
    key: str
    numbers: int


class Tensor(NamedTuple):
    """A tensor as the pickle builds it."""

    storage: Stored
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(storage: Any, start: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    """Return what a pickle says of a tensor; raises ValueError where it says anything else."""
    numbers = (start, *shape, *strides)
    if not (isinstance(storage, Stored) and all(type(one) is int and 0 <= one < 2**48 for one in numbers)):
        raise ValueError("a tensor of odd numbers")
    return Tensor(storage, start, tuple(shape), tuple(strides))


class _Unpickler(pickle.Unpickler):
    """Knows the names by which torch rebuilds tensors, and no others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what stands for a name of torch's; raises BadFile for any other."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in KINDS:
            return KINDS[name]
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        raise BadFile(f"it asks for {module}.{name}"[:100])

    def persistent_load(self, pid: Any) -> Stored:
        """Return which member of the archive a tensor's bytes are in; raises BadFile."""
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[2], str)):
            raise BadFile("it has a storage of unknown form")
        if pid[1] not in KINDS.values() or type(pid[4]) is not int or not 0 <= pid[4] < 2**48:
            raise BadFile("it has a storage of unknown form")
        return Stored(np.dtype(pid[1]), pid[2], pid[4])


def is_trace(path: Path) -> bool:
    """Return whether a file is such one, by its name or by what it holds."""
    if path.name.endswith((".pt", ".pt.gz")):
        return True
    with suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        if path.is_file() and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                return any(name.endswith("/data.pkl") for name in archive.namelist())
    return False


def read(path: Path, watch: Watch = unwatched) -> LookupTrace:
    """Map a trace; raises BadFile."""
    name = shown(path.name)
    try:
        with ExitStack() as stack:
            plain = stack.enter_context(opened(path))
            if plain.read(len(GZIP)) == GZIP:
                plain = stack.enter_context(unpacked(plain, name, _size, watch))
            if not zipfile.is_zipfile(plain):
                raise BadFile(_no_zip(name, plain))
            with zipfile.ZipFile(plain) as archive:
                indices, offsets, lengths = (_array(plain, archive, one) for one in _tensors(name, archive))
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error, KeyError, ValueError, NotImplementedError) as error:
        raise BadFile(f"{name} is damaged or cut off ({str(error)[:120]}); copy it again.") from error
    _check(name, indices, offsets, lengths)
    return LookupTrace(name, indices, offsets, lengths)


def _no_zip(name: str, plain: BinaryIO) -> str:
    """Return what is wrong with a file that is no zip archive."""
    plain.seek(0)
    head = plain.read(64)
    if OLD in head:
        return f"{name} is saved as torch did before 1.6; save it again with a newer torch: torch.save(torch.load(FILE), FILE)."
    if head.startswith(b"PK"):
        return f"{name} is damaged or cut off: its zip archive has no end; copy it again."
    return f"{name} {'is empty' if not head else 'is nothing that torch saved'}; give a file of dlrm_datasets."


def _size(head: bytes) -> int:
    """Return how many bytes the storages have that the pickle at the beginning of a save names; 0 where there is none."""
    signature, longer, extra = LOCAL_HEADER.unpack(head[: LOCAL_HEADER.size])
    start = LOCAL_HEADER.size + longer + extra
    if signature != b"PK\x03\x04" or not head[LOCAL_HEADER.size :][:longer].endswith(b"/data.pkl"):
        return 0
    stored = {one.storage.key: one.storage for one in _Unpickler(io.BytesIO(head[start:])).load()}
    return sum(one.numbers * one.kind.itemsize for one in stored.values())


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


def _array(plain: BinaryIO, archive: zipfile.ZipFile, tensor: Tensor) -> Any:
    """Map a tensor's bytes, whose storage is a member that is not compressed."""
    (info,) = [one for one in archive.infolist() if one.filename.endswith(f"/data/{tensor.storage.key}")]
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError("a storage is compressed")
    dense = tuple(int(np.prod(tensor.shape[at + 1 :])) for at in range(len(tensor.shape)))
    count = int(np.prod(tensor.shape))
    end = (tensor.start + count) * tensor.storage.kind.itemsize
    if tensor.strides != dense or tensor.start < 0 or count <= 0 or end > info.file_size:
        raise ValueError("a tensor does not lie within its storage")
    plain.seek(info.header_offset)
    _, longer, extra = LOCAL_HEADER.unpack(plain.read(LOCAL_HEADER.size))
    start = info.header_offset + LOCAL_HEADER.size + longer + extra + tensor.start * tensor.storage.kind.itemsize
    return mapped(plain, tensor.storage.kind, start, tensor.shape)


def _check(name: str, indices: Any, offsets: Any, lengths: Any) -> None:
    """Raise BadFile where the three do not belong together."""
    if indices.ndim != 1 or offsets.ndim != 1 or lengths.ndim != 2 or len(offsets) != lengths.size + 1:
        shapes = ", ".join(str(one.shape) for one in (indices, offsets, lengths))
        raise BadFile(f"{name} has tensors of {shapes}; indices (I), offsets (T·B+1) and lengths (T, B) are expected.")
    flat = lengths.reshape(-1)
    good = offsets[0] == 0 and offsets[-1] == len(indices)
    for low in range(0, len(flat), PIECE):
        part = flat[low : low + PIECE]
        good = good and (part >= 0).all() and np.array_equal(np.diff(offsets[low : low + len(part) + 1]), part)
        touched(2 * part.nbytes)
    if not good:
        raise BadFile(f"{name} has offsets that do not follow from its lengths, or not end with its indices; copy it again.")
    for low in range(0, len(indices), PIECE):
        if int(indices[low : low + PIECE].min()) < 0:
            raise BadFile(f"{name} has negative indices; rows are numbered from 0.")
        touched(PIECE * indices.itemsize)
