"""Reads Meta's embedding traces, which are saved by PyTorch, without PyTorch.

A file is one batch of T tables and B bags: indices (I,) table by table, offsets (T·B+1,), lengths (T, B). The file has a pickle,
    which is
read by a restricted reader: the pickle may only rebuild tensors. The bytes of tensors are mapped from the file. A gzipped file is
unpacked once; see `unpacking`.
"""

import io
import pickle
import struct
import zipfile
import zlib
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ....core.arrays import Ints, Words
from ....errors import BadFile
from ....paths import open_regular, short_path
from ..blocks import GZIP
from ..mapped import count_touched, map_array
from ..recording import token_words
from ..samples import Watch, unwatched
from ..zipped import LOCAL_HEADER
from .unpacking import open_unpacked

KINDS = {"LongStorage": np.int64, "IntStorage": np.int32, "ShortStorage": np.int16, "ByteStorage": np.uint8}
KINDS |= {"int64": np.int64, "int32": np.int32, "int16": np.int16, "uint8": np.uint8}
LARGEST_PICKLE = 1 << 20
PIECE = 1 << 22
OLD_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # first bytes of torch's files before 1.6, which are no zip archives


@dataclass(frozen=True, slots=True, eq=False)
class LookupTrace:
    """One batch of lookups, of T tables and B bags per table.

    name: the name of the file.
    indices: the looked-up rows, (I,); those of bag b in table t begin at `offsets[t * B + b]`.
    offsets: the begin of each bag, then the end, (T * B + 1,).
    lengths: the lookups of each bag, (T, B).
    """

    name: str
    indices: Any
    offsets: Any
    lengths: Any

    hashed = False  # indices are rows' numbers
    format = "meta"
    order = "one batch, table by table"

    @property
    def tables(self) -> int:
        """The number of tables."""
        return int(self.lengths.shape[0])

    @property
    def samples(self) -> int:
        """The number of bags of each table."""
        return int(self.lengths.shape[1])

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return the lookups of the bags `low` to `high` - 1 of a table, bag after bag."""
        first_bag = table * self.samples
        bag_indices = token_words(self.indices[self.offsets[first_bag + low] : self.offsets[first_bag + high]])
        count_touched(bag_indices.nbytes)
        return bag_indices

    def bag_lengths(self, table: int) -> Ints:
        """Return the number of lookups in each bag of a table."""
        return np.asarray(self.lengths[table], dtype=np.int64)


class TensorStorage(NamedTuple):
    """The storage of a tensor, as a pickle names it.

    kind: the type of its numbers.
    key: the name of the archive's member with its bytes.
    numbers: the count of its numbers.
    """

    kind: Any
    key: str
    numbers: int


class Tensor(NamedTuple):
    """A tensor as a pickle describes it: storage, position of its first number, shape, strides."""

    storage: TensorStorage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _tensor(storage: Any, start: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    """Return the tensor that a pickle describes; raises ValueError for other arguments."""
    numbers = (start, *shape, *strides)
    if not (isinstance(storage, TensorStorage) and all(type(number) is int and 0 <= number < 2**48 for number in numbers)):
        raise ValueError("a tensor of odd numbers")
    return Tensor(storage, start, tuple(shape), tuple(strides))


class _Unpickler(pickle.Unpickler):
    """An unpickler that knows the names by which torch rebuilds tensors, and no others."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for a name of torch's; raises BadFile for any other name."""
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in KINDS:
            return KINDS[name]
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        raise BadFile(f"it asks for {module}.{name}"[:100])

    def persistent_load(self, pid: Any) -> TensorStorage:
        """Return the storage of a tensor's bytes, a member of the archive; raises BadFile."""
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage" and isinstance(pid[2], str)):
            raise BadFile("it has a storage of unknown form")
        if pid[1] not in KINDS.values() or type(pid[4]) is not int or not 0 <= pid[4] < 2**48:
            raise BadFile("it has a storage of unknown form")
        return TensorStorage(np.dtype(pid[1]), pid[2], pid[4])


def is_trace(path: Path) -> bool:
    """Return whether a file was saved by PyTorch, by its name or content."""
    if path.name.endswith((".pt", ".pt.gz")):
        return True
    with suppress(zipfile.BadZipFile, BadFile, OSError, ValueError, NotImplementedError), open_regular(path) as file:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                return any(name.endswith("/data.pkl") for name in archive.namelist())
    return False


def read_lookups(path: Path, watch: Watch = unwatched) -> LookupTrace:
    """Return the batch of lookups in a file, mapped from disk; raises BadFile."""
    name = short_path(path.name)
    try:
        with ExitStack() as stack:
            plain_file: BinaryIO = stack.enter_context(open_regular(path))
            if plain_file.read(len(GZIP)) == GZIP:
                plain_file = stack.enter_context(open_unpacked(plain_file, name, _size, watch))
            if not zipfile.is_zipfile(plain_file):
                raise BadFile(_no_zip(name, plain_file))
            with zipfile.ZipFile(plain_file) as archive:
                indices, offsets, lengths = (_array(plain_file, archive, tensor) for tensor in _tensors(name, archive))
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error, KeyError, ValueError, NotImplementedError) as error:
        raise BadFile(f"{name} is damaged or cut off ({str(error)[:120]}); copy it again.") from error
    _check(name, indices, offsets, lengths)
    return LookupTrace(name, indices, offsets, lengths)


def _no_zip(name: str, plain_file: BinaryIO) -> str:
    """Return the message for a file that is no zip archive."""
    plain_file.seek(0)
    head = plain_file.read(64)
    if OLD_MAGIC in head:
        return f"{name} is saved as torch did before 1.6; save it again with a newer torch: torch.save(torch.load(FILE), FILE)."
    if head.startswith(b"PK"):
        return f"{name} is damaged or cut off: its zip archive has no end; copy it again."
    return f"{name} {'is empty' if not head else 'was not saved by torch'}; give a file of dlrm_datasets."


def _size(head: bytes) -> int:
    """Return the bytes of all storages in a save's pickle, 0 without a pickle."""
    signature, name_nbytes, extra_nbytes = LOCAL_HEADER.unpack(head[: LOCAL_HEADER.size])
    start = LOCAL_HEADER.size + name_nbytes + extra_nbytes
    if signature != b"PK\x03\x04" or not head[LOCAL_HEADER.size :][:name_nbytes].endswith(b"/data.pkl"):
        return 0
    storages = {tensor.storage.key: tensor.storage for tensor in _Unpickler(io.BytesIO(head[start:])).load()}
    return sum(int(storage.numbers * storage.kind.itemsize) for storage in storages.values())


def _tensors(name: str, archive: zipfile.ZipFile) -> list[Tensor]:
    pickle_member = next((member for member in archive.infolist() if member.filename.endswith("/data.pkl")), None)
    if pickle_member is None or pickle_member.file_size > LARGEST_PICKLE:
        raise BadFile(f"{name} holds no tensors as torch saves them; give a file of dlrm_datasets.")
    try:
        with archive.open(pickle_member) as file:
            tensors = _Unpickler(file).load()
    except BadFile as error:
        raise BadFile(
            f"{name} holds more than tensors: {error}; only tensors are read, because other objects could run code."
        ) from error
    except Exception as error:
        raise BadFile(f"{name} has a pickle that cannot be read ({type(error).__name__}); copy it again.") from error
    if not (isinstance(tensors, (tuple, list)) and len(tensors) == 3 and all(isinstance(tensor, Tensor) for tensor in tensors)):
        raise BadFile(f"{name} does not hold three tensors: indices, offsets and lengths; give a file of dlrm_datasets.")
    return list(tensors)


def _array(plain_file: BinaryIO, archive: zipfile.ZipFile, tensor: Tensor) -> Any:
    """Return a tensor mapped from the archive.

    Raises ValueError where its member is compressed or too short.
    """
    (storage_member,) = [member for member in archive.infolist() if member.filename.endswith(f"/data/{tensor.storage.key}")]
    if storage_member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("a storage is compressed")
    dense = tuple(prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape)))
    count = prod(tensor.shape)
    end = (tensor.start + count) * tensor.storage.kind.itemsize
    if tensor.strides != dense or not count or end > storage_member.file_size:
        raise ValueError("a tensor does not lie within its storage")
    plain_file.seek(storage_member.header_offset)
    _, name_nbytes, extra_nbytes = LOCAL_HEADER.unpack(plain_file.read(LOCAL_HEADER.size))
    start = (
        storage_member.header_offset
        + LOCAL_HEADER.size
        + name_nbytes
        + extra_nbytes
        + tensor.start * tensor.storage.kind.itemsize
    )
    return map_array(plain_file, tensor.storage.kind, start, tensor.shape)


def _check(name: str, indices: Any, offsets: Any, lengths: Any) -> None:
    """Raise BadFile where indices, offsets and lengths do not belong together."""
    if indices.ndim != 1 or offsets.ndim != 1 or lengths.ndim != 2 or len(offsets) != lengths.size + 1:
        shapes = ", ".join(str(tensor.shape) for tensor in (indices, offsets, lengths))
        raise BadFile(f"{name} has tensors of {shapes}; indices (I), offsets (T·B+1) and lengths (T, B) are expected.")
    flat = lengths.reshape(-1)
    is_consistent = offsets[0] == 0 and offsets[-1] == len(indices)
    for low in range(0, len(flat), PIECE):
        part = flat[low : low + PIECE]
        is_consistent = is_consistent and (part >= 0).all() and np.array_equal(np.diff(offsets[low : low + len(part) + 1]), part)
        count_touched(2 * part.nbytes)
    if not is_consistent:
        raise BadFile(f"{name} has offsets that do not match its lengths or the number of its indices; copy it again.")
    for low in range(0, len(indices), PIECE):
        if int(indices[low : low + PIECE].min()) < 0:
            raise BadFile(f"{name} has negative indices, but rows are numbered from 0; write it again with indices of 0 or more.")
        count_touched(PIECE * indices.itemsize)
