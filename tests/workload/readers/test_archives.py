"""Are arrays inside an .npz read as numpy reads them: DLRM's own files, any others by a mapping, and none that is a bomb?"""

import subprocess
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import BadFile
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.workload.readers import array_table, samples, zipped
from engine.workload.readers.formats import digest_of, read_file
from tests import ROOT
from tests.cases import each
from tests.machines import TINY
from tests.workload.readers.test_formats import a_day

COUNT = 500
RANDOM = np.random.default_rng(11)
INTS = RANDOM.integers(-2, 900, (COUNT, 13)).astype(np.int32)
IDS = RANDOM.integers(0, 10**6, (COUNT, 26)).astype(np.int32)
LABELS = RANDOM.integers(0, 2, COUNT).astype(np.int32)
# What DLRM's data_utils.py writes: floats transposed in a processed day, floats by row in a reordered one, and whole numbers.
DLRM = {
    "processed": {"X_cat": np.asfortranarray(IDS.astype(np.float64)), "X_int": np.maximum(INTS, 0), "y": LABELS},
    "reordered": {"X_cat": IDS.astype(np.float64), "X_int": INTS.astype(np.float64), "y": LABELS.astype(np.float64)},
    "whole": {"X_cat": IDS, "X_int": INTS, "y": LABELS, "counts": IDS.max(axis=0) + 1},
    "labels in a column": {"X_cat": IDS.astype(">i8"), "X_int": INTS, "y": LABELS[:, None]},
}
SAVE: dict[str, Callable[..., None]] = {"stored": np.savez, "compressed": np.savez_compressed}


@pytest.mark.parametrize("how", SAVE)
@each("what", DLRM)
def test_dlrms_own_files_are_read_as_it_reads_them(what: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_table, "BLOCK_ROWS", 64)
    path = tmp_path / "kaggleAdDisplayChallenge_processed.npz"
    SAVE[how](path, **DLRM[what])
    found = read_file(path)
    assert (found.format, found.hashed, found.pooling, found.digest) == ("dlrm", False, (1,) * 26, digest_of(path))
    assert [found.lookups(table, 0, COUNT).tolist() for table in range(26)] == IDS.T.tolist()
    assert found.labels.tolist() == LABELS.tolist()
    assert found.dense == pytest.approx(np.log(np.maximum(INTS, 0).astype(np.float32) + 1), rel=1e-6)


def test_a_run_trains_on_dlrms_own_file(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "day_0_reordered.npz", **DLRM["reordered"])
    shape = {"model.num_tables": 26, "model.pooling": (1,), "model.num_embeddings": (1000,), "model.bottom_mlp": (13, 8, 4)}
    assert simulate(with_values(TINY, {**shape, "data.batch_size": 16, "run.batches": 5}), tmp_path / "day_0_reordered.npz").ran


FRAME = pd.DataFrame({"user": RANDOM.integers(0, 90, COUNT), "stars": RANDOM.integers(1, 6, COUNT)})
FRAME["when"] = RANDOM.permutation(COUNT) + 1_600_000_000
SEEN, AGES = RANDOM.integers(0, 50, (COUNT, 3)), RANDOM.integers(1, 90, (COUNT, 2)).astype(np.float16)
TEXTS = RANDOM.choice(["red", "green", "blue"], COUNT)
ARRAYS = {**{name: FRAME[name].to_numpy() for name in FRAME}, "seen": SEEN, "ages": AGES, "colour": TEXTS}
MAPPING = 'label = "stars >= 4"\nids = ["user", "seen"]\ndense = ["ages"]\ntime = "when"\nrows = "as they are"\n'


def archive(path: Path, mapping: str = MAPPING, **changed: np.ndarray) -> Path:
    """Write the arrays, some of them changed, and a mapping of their names."""
    np.savez_compressed(path, **(ARRAYS | changed))
    Path(f"{path}.toml").write_text(mapping, encoding="utf-8")
    return path


def test_any_arrays_of_one_length_are_read_by_a_mapping_over_their_names(tmp_path: Path) -> None:
    found, order = read_file(archive(tmp_path / "own.npz")), np.argsort(FRAME["when"])
    assert found.pooling == (1, 3) and found.labels.tolist() == (FRAME["stars"][order] >= 4).astype(float).tolist()
    assert found.lookups(0, 0, COUNT).tolist() == FRAME["user"][order].tolist()
    assert found.lookups(1, 0, COUNT).tolist() == SEEN[order].reshape(-1).tolist()
    assert found.dense == pytest.approx(np.log1p(AGES[order].astype(np.float32)), rel=1e-6)


def test_columns_of_an_array_are_tables_of_their_own_and_texts_are_ids(tmp_path: Path) -> None:
    mapping = 'label = "stars >= 4"\nids = ["seen.2", "colour", "seen.0"]\nrows = "first seen first"\n'
    found = read_file(archive(tmp_path / "own.npz", mapping))
    for table, column in enumerate((SEEN[:, 2], TEXTS, SEEN[:, 0])):
        assert found.lookups(table, 0, COUNT).tolist() == pd.factorize(column)[0].tolist()


REFUSED = {
    "no such array": (
        {},
        MAPPING.replace('"user"', '"film"'),
        r"own.npz has no array 'film', which mapped by own.npz.toml needs",
    ),
    "no such column": ({}, MAPPING.replace('"seen"', '"seen.3"'), "'seen.3' cannot be taken"),
    "unlike lengths": ({"user": np.arange(COUNT - 1)}, MAPPING, r"different lengths \(stars 500, ages 500, user 499, seen 500"),
    "three axes": ({"seen": np.zeros((COUNT, 2, 2), int)}, MAPPING, "seen is 500 x 2 x 2 of int64"),
    "a number": ({"user": np.array(3)}, MAPPING, "user is one of int64"),
    "complex": ({"user": np.zeros(COUNT, complex)}, MAPPING, "complex128, so 'user' cannot be taken from it"),
    "two labels": ({"stars": AGES}, MAPPING, r"map one of its columns, such as stars\.0"),
    "nothing": ({name: ARRAYS[name][:0] for name in ARRAYS}, MAPPING, "has 0 samples"),
    "objects": ({"user": np.array([{}] * COUNT, dtype=object)}, MAPPING, "Python objects, which are never opened"),
    "not whole": ({"user": np.full(COUNT, 0.5)}, MAPPING, r"own.npz:1: user=0.5 is not the number of a row"),
    "no mapping": ({}, "", r"looks like an archive of arrays: user \(500 of int64\), stars .*seen \(500 x 3 of int64\)"),
}


@each("what", REFUSED)
def test_arrays_that_are_no_samples_are_refused(what: str, tmp_path: Path) -> None:
    changed, mapping, words = REFUSED[what]
    with pytest.raises(BadFile, match=words) as refused:
        read_file(archive(tmp_path / "own.npz", mapping, **changed))
    assert len(refused.value.args[0]) <= 400


@pytest.mark.parametrize(
    ("names", "words"), [(("counts",), "holds counts"), (("X_int", "X_cat_t", "y"), "has not processed yet")]
)
def test_files_that_dlrm_keeps_beside_its_samples_are_named(names: tuple[str, ...], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **{name: np.arange(90).reshape(-1, 1) for name in names})
    with pytest.raises(BadFile, match=f"{words}.*give DLRM's processed or reordered file"):
        read_file(tmp_path / "own.npz")


def test_multi_hot_ids_are_the_same_stored_and_compressed(tmp_path: Path) -> None:
    path = a_day(tmp_path, multi_hot=True)
    plain = read_file(path)
    wanted = [np.array(field) for field in plain.tokens]
    with np.load(path) as arrays:
        np.savez_compressed(path, **arrays)
    packed = read_file(path)
    assert all(map(np.array_equal, wanted, packed.tokens)) and packed.pooling == plain.pooling == (3, 2, 1, 12)


def test_an_archive_of_zeros_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "temporary_file", lambda: pytest.fail("something is unpacked"))
    path, zeros = tmp_path / "own.npz", np.zeros((700_000, 13), np.int32)
    np.savez_compressed(path, X_int=zeros, X_cat=np.zeros((700_000, 26), np.int32), y=zeros[:, 0])
    tracemalloc.start()
    with pytest.raises(BadFile, match=r"own.npz says that its [\d,]+ bytes unpack to 112,000,\d+, more than 64 times as many"):
        read_file(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_an_archive_that_lies_about_its_sizes_or_is_damaged_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "own.npz"
    np.savez_compressed(path, **DLRM["processed"])
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as held:
        info = held.getinfo("X_int.npy")
    for size in (100, 2**31):  # what the directory says that it unpacks to
        place = whole.rindex(b"X_int.npy") - 46 + 24
        assert int.from_bytes(whole[place : place + 4], "little") == info.file_size
        path.write_bytes(whole[:place] + size.to_bytes(4, "little") + whole[place + 4 :])
        with pytest.raises(BadFile, match=r"own.npz"):
            read_file(path)
    for place in RANDOM.integers(0, len(whole), 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << int(place) % 8]) + whole[place + 1 :])
        try:
            read_file(path)
        except BadFile as refused:
            assert "own.npz" in str(refused)


def test_room_for_unpacking_is_named_before_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "own.npz", **DLRM["processed"])
    monkeypatch.setattr(zipped, "SPARE_NBYTES", 2**60)
    with pytest.raises(BadFile, match=rf"KiB to unpack \w+\.npy in {tempfile.gettempdir()}.*TMPDIR"):
        read_file(tmp_path / "own.npz")


LONG = """
import sys
from pathlib import Path
from engine.workload.readers.formats import read_file
from engine.insight.fitting.tally import tallies
found = read_file(Path(sys.argv[1]))
lookups = sum(each.lookups for each in tallies(found))
print(lookups, int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024)
"""


@pytest.mark.slow
def test_a_compressed_day_larger_than_its_bound_of_memory_is_counted_in_two_gigabytes(tmp_path: Path) -> None:
    count, path = 8_000_000, tmp_path / "day_0_reordered.npz"
    ids = RANDOM.integers(0, 200_000, (26, count)).astype(np.float64).T
    arrays = {"X_cat": ids, "X_int": np.zeros((count, 13), np.int32), "y": RANDOM.integers(0, 2, count)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as held:
        for name, array in arrays.items():
            with held.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)
    assert samples.max_nbytes() < ids.nbytes
    said = subprocess.run([sys.executable, "-c", LONG, path], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lookups, most = map(int, said.split())
    assert lookups == 26 * count and most < 2_048
