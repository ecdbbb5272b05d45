"""Is a trace read that just fits its storage, its limits and the disk, and refused where it just does not?"""

import gzip
import io
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadFile
from engine.workload.readers.traces import kinds, torch_save, unpacking
from engine.workload.readers.traces.torch_save import Tensor, TensorStorage
from tests.cases import each

PLAIN = bytes(range(250)) * 40
LIMITS: dict[str, Any] = {
    "of any file": lambda packed, excess: {"EXPANSION": 0, "FREE_NBYTES": len(PLAIN) - excess},
    "over the packed file": lambda packed, excess: {"EXPANSION": Fraction(len(PLAIN) - excess, packed), "FREE_NBYTES": 0},
}


@each("limit", LIMITS)
@each("excess", [0, 1])
@each("piece", [1 << 22, 999])
def test_a_trace_may_unpack_to_its_limit(
    limit: str, excess: int, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.gz").write_bytes(gzip.compress(PLAIN))
    with monkeypatch.context() as patch, (tmp_path / "t.gz").open("rb", 0) as file, (tmp_path / "t").open("w+b", 0) as plain:
        patch.setattr(unpacking, "PIECE", piece)
        for name, bound in LIMITS[limit]((tmp_path / "t.gz").stat().st_size, excess).items():
            patch.setattr(unpacking, name, bound)
        shares: list[float] = []
        asked = unpacking.PackedReader(file), plain, "t.gz", tmp_path, 5000, lambda share, _: shares.append(share)
        if excess:
            with pytest.raises(BadFile, match=r"t\.gz unpacks to more than"):
                unpacking._copy(*asked)
        else:
            assert unpacking._copy(*asked)[1] == len(PLAIN) == plain.tell()
            assert max(shares) == 1 and (piece > 999 or shares[0] == 999 / 5000)


@each(("needed", "free", "is_refused"), [(99, 0, False), (100, 0, False), (101, -1, True), (101, 0, False)])
def test_what_is_longer_than_foretold_leaves_the_disk_its_room(
    needed: int, free: int, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_free_nbytes", lambda folder: unpacking.SPARE_NBYTES + free)
    plain = io.BytesIO(b"x" * needed)
    plain.seek(needed)
    if is_refused:
        with pytest.raises(OSError, match="No space left"):
            unpacking._write(plain, b"more", tmp_path, 100)
    else:
        unpacking._write(plain, b"more", tmp_path, 100)
        assert plain.getvalue() == b"x" * needed + b"more"


def test_a_piece_is_written_whole_in_however_many_parts(tmp_path: Path) -> None:
    class Slow(io.BytesIO):
        def write(self, part: Any) -> int:
            return super().write(part[:3])

    plain = Slow()
    unpacking._write(plain, b"12345678", tmp_path, 100)
    assert plain.getvalue() == b"12345678"


def test_a_full_disk_is_no_matter_within_what_was_foretold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "_free_nbytes", lambda folder: 0)
    plain = io.BytesIO(b"x" * 100)
    plain.seek(100)
    unpacking._write(plain, b"more", tmp_path, 100)
    with pytest.raises(OSError, match="No space left"):
        unpacking._write(plain, b"more", tmp_path, 100)


@each(
    ("files", "free", "has_room", "left"),
    [
        (0, 101, True, 0),
        (0, 100, False, 0),
        (1, 92, True, 0),  # one file of 9 bytes makes room for another
        (1, 91, False, 1),
        (1, 100, True, 0),
        (1, 101, True, 1),
        (2, 92, True, 1),
        (2, 83, True, 0),
        (2, 82, False, 2),
        (3, 500, True, 3),
        (4, 500, True, 3),
    ],
)
def test_kept_files_make_room_where_that_is_enough(
    files: int, free: int, has_room: bool, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept() -> int:
        return len(list(folder.glob("f*")))

    monkeypatch.setattr(unpacking, "SPARE_NBYTES", 60)
    monkeypatch.setattr(unpacking, "_free_nbytes", lambda folder: free + 9 * (files - kept()))
    folder = tmp_path / f"{files}-{free}"
    folder.mkdir()
    (folder / unpacking.LOCK).touch()
    for number in range(files):
        (folder / f"f{number}").write_bytes(b"x" * 9)
    assert (unpacking._has_room(folder, 40), kept()) == (has_room, left)


def test_shares_of_a_file_that_grows_stay_below_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "PIECE", 4)
    shares: list[float] = []
    (tmp_path / "t").write_bytes(b"12345678")
    with (tmp_path / "t").open("rb", 0) as file:
        unpacking._checksum(file, 6, lambda share, _: shares.append(share))
        assert shares == [4 / 6, 1.0]

        def grow(share: float, words: str) -> None:
            shares.append(share)
            (tmp_path / "t").write_bytes(b"123456789012")

        unpacking._digest(file, "t", grow)
        assert shares[2:] == [0.5, 1.0, 1.0]


@each(("plain", "needed"), [(0, 30), (29, 30), (31, 31)])
def test_room_is_asked_for_what_the_first_bytes_tell_and_at_least_the_packed_bytes(
    plain: int, needed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(unpacking, "FOLDER", tmp_path / "own" / "unpacked")
    monkeypatch.setattr(unpacking, "_has_room", lambda folder, nbytes: asked.append(nbytes))
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"").ljust(30, b"\0"))
    with (tmp_path / "t.gz").open("rb", 0) as file, pytest.raises(BadFile, match="to be unpacked in"):
        unpacking.open_unpacked(file, "t.gz", lambda head: plain)
    assert {*asked} == {needed}


INT = TensorStorage(np.dtype(np.int64), "0", 3)
WRAPPED = 95_574_658_393_025, 258_121_781_331_139  # whose product is 3 in 64 bits
TENSORS: dict[str, tuple[Tensor, int]] = {  # tensors of a storage of three numbers, and the last number that they have
    "all": (Tensor(INT, 0, (3,), (1,)), 2),
    "one more": (Tensor(INT, 0, (4,), (1,)), -1),
    "the last two": (Tensor(INT, 1, (2,), (1,)), 2),
    "one more behind": (Tensor(INT, 1, (3,), (1,)), -1),
    "each second": (Tensor(INT, 0, (2,), (2,)), -1),
    "none": (Tensor(INT, 0, (0,), (1,)), -1),
    "a column": (Tensor(INT, 0, (3, 1), (1, 1)), 2),
    "a row": (Tensor(INT, 0, (1, 2), (2, 1)), 1),
    "a row of other strides": (Tensor(INT, 0, (1, 2), (1, 1)), -1),
    "short numbers": (Tensor(INT._replace(kind=np.dtype(np.int32)), 4, (2,), (1,)), 2),
    "all bytes": (Tensor(INT._replace(kind=np.dtype(np.uint8)), 0, (24,), (1,)), 2),
    "a byte more": (Tensor(INT._replace(kind=np.dtype(np.uint8)), 0, (25,), (1,)), -1),
    "beyond 64 bits": (Tensor(INT, 0, WRAPPED, (WRAPPED[1], 1)), -1),
}


@each("what", TENSORS)
def test_a_tensor_lies_within_its_storage(what: str, tmp_path: Path) -> None:
    tensor, last = TENSORS[what]
    with zipfile.ZipFile(tmp_path / "t.pt", "w") as archive:
        archive.writestr("t/data/0", np.arange(3).tobytes())
    with (tmp_path / "t.pt").open("rb") as file, zipfile.ZipFile(file) as archive:
        if last < 0:
            with pytest.raises(ValueError, match="does not lie within its storage"):
                torch_save._array(file, archive, tensor)
        else:
            numbers = torch_save._array(file, archive, tensor)
            assert numbers.shape == tensor.shape and numbers.reshape(-1).tolist()[0] in (0, tensor.start, 2)
            assert max(numbers.reshape(-1).tolist()) == last


@each(
    ("numbers", "is_read"),
    [((0, (1,), (1,)), True), ((-1, (1,), (1,)), False), ((0, (2**48 - 1,), (1,)), True), ((0, (2**48,), (1,)), False),
     ((0, (1,), (2**48,)), False), ((0.0, (1,), (1,)), False), ((True, (1,), (1,)), False)],
)  # fmt: skip
def test_a_pickle_says_whole_numbers_of_up_to_48_bits(numbers: Any, is_read: bool) -> None:
    if is_read:
        assert torch_save._tensor(INT, *numbers).storage == INT
    else:
        with pytest.raises(ValueError, match="odd numbers"):
            torch_save._tensor(INT, *numbers)
    with pytest.raises(ValueError, match="odd numbers"):
        torch_save._tensor("storage", *numbers)


STORAGE = ("storage", np.int64, "0", "cpu", 3)
STORAGES: list[tuple[Any, bool]] = [
    (STORAGE, True),
    (("storage", np.int64, "0", "cpu", 0), True),
    (("storage", np.int64, "0", "cpu", -1), False),
    (("storage", np.int64, "0", "cpu", 2**48 - 1), True),
    (("storage", np.int64, "0", "cpu", 2**48), False),
    (("storage", np.int64, "0", "cpu", 3.0), False),
    (("storage", np.float64, "0", "cpu", 3), False),
    (("storage", np.int64, 0, "cpu", 3), False),
    (("module", np.int64, "0", "cpu", 3), False),
    ((*STORAGE, 1), False),
    ([*STORAGE], False),
]


@each(("pid", "is_read"), STORAGES)
def test_a_storage_has_its_five_parts(pid: Any, is_read: bool) -> None:
    unpickler = torch_save._Unpickler(io.BytesIO())
    if is_read:
        assert unpickler.persistent_load(pid) == (np.dtype(np.int64), "0", pid[4])
    else:
        with pytest.raises(BadFile, match="a storage of unknown form"):
            unpickler.persistent_load(pid)


NAMES = {
    ("torch", "LongStorage"): True,
    ("torch", "load"): False,
    ("os", "int64"): False,
    ("torch._utils", "_rebuild_tensor_v2"): True,
    ("torch._utils", "_rebuild"): False,
    ("torch", "_rebuild_tensor_v2"): False,
    ("collections", "OrderedDict"): True,
    ("collections", "Counter"): False,
}


@each("name", NAMES)
def test_a_pickle_names_what_rebuilds_tensors_alone(name: tuple[str, str]) -> None:
    unpickler = torch_save._Unpickler(io.BytesIO())
    if NAMES[name]:
        assert unpickler.find_class(*name)
    else:
        with pytest.raises(BadFile, match=f"asks for {name[0]}"):
            unpickler.find_class(*name)


@each("excess", [0, 1])
def test_a_pickle_has_its_largest_size(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "t.pt", "w") as archive:
        archive.writestr("t/data.pkl", b"N.")  # None
    monkeypatch.setattr(torch_save, "LARGEST_PICKLE", 2 - excess)
    with zipfile.ZipFile(tmp_path / "t.pt") as archive, pytest.raises(BadFile) as refused:
        torch_save._tensors("t.pt", archive)
    assert ("holds no tensors" in str(refused.value)) == bool(excess)


LENGTHS = np.array([[2, 1], [0, 3]])
OFFSETS, INDICES = np.array([0, 2, 3, 3, 6]), np.arange(6)
BATCHES: dict[str, tuple[Any, Any, Any, str]] = {
    "whole": (INDICES, OFFSETS, LENGTHS, ""),
    "one index more": (np.arange(7), OFFSETS, LENGTHS, "has offsets that do not match"),
    "one offset more": (INDICES, np.append(OFFSETS, 6), LENGTHS, "has tensors of"),
    "offsets from 1": (INDICES, OFFSETS + 1, LENGTHS, "has offsets that do not match"),
    "other lengths at the end": (INDICES, OFFSETS, np.array([[2, 1], [1, 2]]), "has offsets that do not match"),
    "other lengths at first": (INDICES, OFFSETS, np.array([[1, 2], [0, 3]]), "has offsets that do not match"),
    "a negative length": (INDICES, np.array([0, 2, 3, 2, 6]), np.array([[2, 1], [-1, 4]]), "has offsets that do not match"),
    "a negative index": (np.array([0, 1, 2, 3, 4, -1]), OFFSETS, LENGTHS, "has negative indices"),
    "a negative index at first": (np.array([-1, 1, 2, 3, 4, 5]), OFFSETS, LENGTHS, "has negative indices"),
    "indices in two axes": (INDICES[:, None], OFFSETS, LENGTHS, "has tensors of"),
    "offsets in two axes": (INDICES, OFFSETS[:, None], LENGTHS, "has tensors of"),
    "lengths in one axis": (INDICES, OFFSETS, LENGTHS.reshape(-1), "has tensors of"),
}


@each("what", BATCHES)
@each("piece", [1, 3, 1 << 22])
def test_indices_offsets_and_lengths_belong_together(what: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_save, "PIECE", piece)
    *tensors, words = BATCHES[what]
    if words:
        with pytest.raises(BadFile, match=words):
            torch_save._check("t.pt", *tensors)
    else:
        torch_save._check("t.pt", *tensors)


@each(("members", "is_trace"), [(["t/data.pkl", "t/data/0"], True), (["a.npy", "t/data.pkl"], True), (["a.npy", "b.npy"], False)])
def test_an_archive_is_a_trace_by_any_member(members: list[str], is_trace: bool, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t", "w") as archive:
        for member in members:
            archive.writestr(member, "1")
    assert kinds.is_trace(tmp_path / "t") == torch_save.is_trace(tmp_path / "t") == is_trace
