"""Uploaded files: are all of them read or refused, under names that belong together, whole and private?"""

import gzip
import io
import os

import numpy as np
import pytest

from engine.errors import BadFile
from engine.workload.readers import formats
from pages.answers import data_file
from pages.data_page import uploads
from tests.cases import each

SAMPLES = 80
TABLE = b"a,b\n" + b"".join(b"%d,%d\n" % (n % 2, n % 7) for n in range(SAMPLES))
MAPPING = b'label = "a"\nids = ["b"]'
LONG = "a" * 71  # letters; with its ending and that of its mapping more than the 80 that were once kept


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep uploads in a folder of the test."""
    monkeypatch.setattr(uploads, "FOLDER", tmp_path / "uploads")
    return uploads.FOLDER


def array(values):
    """Return an array as the bytes of a .npy file."""
    np.save(content := io.BytesIO(), values)
    return content.getvalue()


def day(number):
    """Return the files of one day as TorchRec writes them."""
    parts = {
        "dense": np.full((SAMPLES, 2), number, np.float32),
        "sparse": np.arange(SAMPLES, dtype=np.int32)[:, None],
        "labels": np.eye(2, dtype=np.int32)[[0, 1] * (SAMPLES // 2), :1],
    }
    return [(f"day_{number}_{part}.npy", array(values)) for part, values in parts.items()]


def shapes(path):
    """Return what a reader makes of an upload."""
    found = formats.read_file(path)
    return found.format, found.samples, found.pooling


def test_an_upload_is_kept_under_its_digest_whatever_its_name(folder):
    one, other = (uploads.keep_upload([("../train.txt", content)]) for content in (b"one", b"other"))
    assert (one.path.read_bytes(), other.path.read_bytes()) == (b"one", b"other")
    assert one.path.parent.parent == folder and one.path.name == "_train.txt"
    assert uploads.keep_upload([("../train.txt", b"one")]) == one and len(list(folder.iterdir())) == 2


@each(
    ("data", "mapping"),
    [
        ("own.csv", "own.csv.toml"),
        ("own.csv", "own.toml"),
        ("own.csv", "own.TOML"),
        ("own.v2.csv.gz", "own.v2.toml"),
        ("own.v2.csv.gz", "own.v2.csv.gz.toml"),
        (f"{LONG}.csv", f"{LONG}.csv.toml"),
        (f"{LONG}.csv", f"{LONG}.toml"),
        ("own", "own.toml"),
        ("Grüße 1.csv", "Grüße 1.csv.toml"),
        ("x" * 236 + ".csv", "x" * 236 + ".csv.toml"),
        (".hidden.csv", ".hidden.toml"),
    ],
)
def test_a_mapping_says_what_its_file_means_however_both_are_called(data, mapping):
    table = gzip.compress(TABLE) if data.endswith("gz") else TABLE
    for files in ([(data, table), (mapping, MAPPING)], [(mapping, MAPPING), (data, table)]):
        found = uploads.keep_upload(files)
        assert formats.read_file(found.path).samples == SAMPLES and formats.read_file(found.path).pooling == (1,), data


def test_files_that_belong_together_are_read_together():
    assert shapes(uploads.keep_upload(day(0)).path) == ("torchrec", SAMPLES, (1,))
    assert (
        uploads.keep_upload(day(0)).digest == uploads.keep_upload(reversed(day(0))).digest != uploads.keep_upload(day(1)).digest
    )


@each(
    ("files", "words"),
    [
        (day(0) + day(1), ("day_0_sparse.npy", "day_1_sparse.npy", "2 separate")),
        ([*day(0), ("day_0_sparse_contig_freq.npy", day(0)[1][1])], ("day_0_sparse.npy", "day_0_sparse_contig_freq.npy")),
        ([("day_0", b"0\t1\n"), ("day_1", b"1\t2\n"), ("day_2", b"1\t3\n")], ("day_0", "day_1", "3 separate")),
        ([("day_0.gz", gzip.compress(TABLE)), ("day_1.gz", gzip.compress(TABLE))], ("day_0.gz", "day_1.gz")),
        ([*day(0), ("train.csv", TABLE)], ("day_0_sparse.npy", "train.csv")),
        (day(0)[:2], ("day_0_labels.npy",)),
        (day(0)[::2], ("day_0_sparse.npy",)),
        ([("own.csv", TABLE), ("other.toml", MAPPING)], ("other.toml", "none")),
        ([("own.csv", TABLE), ("own.txt", TABLE), ("own.toml", MAPPING)], ("own.toml", "several")),
        ([("own.csv", TABLE), ("own.toml", MAPPING), ("own.csv.toml", MAPPING + b"\n")], ("own.csv.toml",)),
        ([*day(0), ("day_0_dense.npy.toml", MAPPING)], ("day_0_dense.npy.toml",)),
        ([("own.csv", TABLE), ("own.csv", TABLE + b"1,1\n")], ("own.csv", "rename")),
        ([("é.csv", TABLE), ("è.csv", TABLE + b"1,1\n")], ("_.csv", "rename")),
        ([("Own.csv", TABLE), ("own.csv", TABLE + b"1,1\n")], ("own.csv", "rename")),  # one file where folders ignore case
        ([("own.csv.toml", MAPPING)], ("without data",)),
        ([("x" * 237 + ".csv", TABLE)], ("241", "240", "rename")),
    ],
)
def test_a_file_that_would_be_left_out_is_refused_by_name(files, words, folder):
    with pytest.raises(BadFile) as refused:
        uploads.keep_upload(files)
    assert all(word in str(refused.value) for word in words)
    assert not folder.exists() or not list(folder.iterdir()), "nothing of it is kept"


def test_one_file_that_was_given_twice_is_one():
    assert uploads.keep_upload([("own.csv", b"one"), ("own.csv", b"one")]).path.read_bytes() == b"one"


def test_uploads_are_for_the_server_alone_whatever_an_older_one_left(folder):
    folder.mkdir(mode=0o755)
    files = [("own.csv", TABLE), ("own.toml", MAPPING)]
    for _ in range(2):
        found = uploads.keep_upload(files).path
        modes = {path: path.stat().st_mode & 0o777 for path in (folder, found.parent, *found.parent.iterdir())}
        assert set(modes.values()) == {0o700, 0o600} and all((mode == 0o700) == path.is_dir() for path, mode in modes.items())
        found.parent.chmod(0o755)
        found.chmod(0o644)


@each("left", [b"", TABLE[:-1], TABLE.swapcase(), TABLE + b"1"])
def test_what_a_crash_left_of_an_upload_is_not_taken_for_it(left, folder):
    found = uploads.keep_upload([("own.csv", TABLE)])
    found.path.write_bytes(left)
    assert uploads.keep_upload([("own.csv", TABLE)]) == found and found.path.read_bytes() == TABLE
    assert [path.name for path in folder.iterdir()] == [found.path.parent.name]


def test_a_disk_that_keeps_less_than_it_was_given_is_noticed(monkeypatch, folder):
    monkeypatch.setattr(uploads.os, "fsync", lambda number: os.ftruncate(number, 5))
    with pytest.raises(BadFile, match="only a part of"):
        uploads.keep_upload([("own.csv", TABLE)])
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_written_is_said_in_a_sentence(folder):
    folder.write_text("a file where the folder should be")
    with pytest.raises(BadFile, match="cannot store the file"):
        uploads.keep_upload([("own.csv", TABLE)])


def test_an_upload_is_its_sessions_own(monkeypatch):
    found = uploads.keep_upload([("own.csv", TABLE)])
    state = {}
    monkeypatch.setattr(data_file.st, "session_state", state)
    assert not data_file.is_visible(found)
    state[data_file.UPLOADS] = {found.digest}
    assert data_file.is_visible(found)
