"""Uploaded files: are all of them read or refused, under names that belong together, whole and private?"""

import gzip
import io
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile, UploadedFileRec

from engine.core.figures import figure
from engine.errors import BadFile
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.store import quota, requests
from engine.workload.readers import formats
from pages.answers import data_file, stored_uploads
from pages.data_page import uploads
from pages.gate import access, upload_limits
from pages.own_data import ways
from tests import ROOT
from tests.cases import each

SAMPLES = 80
TABLE = b"a,b\n" + b"".join(b"%d,%d\n" % (n % 2, n % 7) for n in range(SAMPLES))
MAPPING = b'label = "a"\nids = ["b"]'
LONG = "a" * 71  # letters; with its ending and that of its mapping more than the 80 that were once kept


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep uploads in a folder of the test."""
    monkeypatch.setattr(stored_uploads, "STORE", tmp_path / "store.sqlite")
    return stored_uploads.folder()


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


def visit(monkeypatch, name):
    """Go on as another visitor."""
    monkeypatch.setattr(access, "visitor", lambda: name)


def test_an_upload_is_its_visitors_own(monkeypatch):
    visit(monkeypatch, "one")
    found = uploads.keep_upload([("own.csv", TABLE)])
    assert data_file.is_visible(found)
    for other in ("other", "on", "one ", ""):
        visit(monkeypatch, other)
        assert not data_file.is_visible(found), other
    assert uploads.keep_upload([("own.csv", TABLE)]) == found and not data_file.is_visible(found), "outside of sessions"
    visit(monkeypatch, "other")
    assert uploads.keep_upload([("own.csv", TABLE)]) == found and data_file.is_visible(found), "who has the same bytes"
    visit(monkeypatch, "one")
    assert data_file.is_visible(found)


@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("VISITOR_UPLOADS", 2, ("2 uploads", "2 are allowed", "Delete my uploads")),
        ("VISITOR_BYTES", 3 * len(TABLE), (figure(3 * len(TABLE) / quota.GiB, "GiB"), "are allowed", "Delete my uploads")),
    ],
)
def test_a_visitor_may_store_so_much_and_the_refusal_says_how_much(limit, value, words, monkeypatch, folder):
    monkeypatch.setattr(uploads, limit, value)
    visit(monkeypatch, "one")
    found = [uploads.keep_upload([(name, TABLE)]) for name in ("own.csv", "again.csv")]
    assert uploads.keep_upload([("own.csv", TABLE)]) == found[0], "what is there already takes no more"
    before = sorted(folder.rglob("*"))
    with pytest.raises(BadFile) as refused:
        uploads.keep_upload([("third.csv", TABLE)])
    assert all(word in str(refused.value) for word in words) and sorted(folder.rglob("*")) == before
    visit(monkeypatch, "other")
    uploads.keep_upload([("third.csv", TABLE)])
    visit(monkeypatch, "one")
    with pytest.raises(BadFile):
        uploads.keep_upload([("third.csv", TABLE)])
    assert stored_uploads.delete_own("one") == (2, 0) and uploads.keep_upload([("third.csv", TABLE)])


def test_all_uploads_take_a_part_of_the_stores_quota(monkeypatch, folder):
    uploads.keep_upload([("own.csv", TABLE)])
    quota.set_quota(stored_uploads.STORE, 6 * len(TABLE) / quota.UPLOADS_SHARE / 4 / quota.GiB)
    visit(monkeypatch, "other")
    with pytest.raises(BadFile, match=r"all uploads would take .* are allowed"):
        uploads.keep_upload([("other.csv", TABLE)])
    assert uploads.keep_upload([("own.csv", TABLE)]), "another visitor's bytes are there already"
    (upload,) = quota.uploads(stored_uploads.STORE)
    os.utime(upload, (0, 0))
    assert uploads.keep_upload([("other.csv", TABLE)]), "an old one makes room"
    assert len(quota.uploads(stored_uploads.STORE)) == 1


def test_a_nearly_full_disk_is_noticed_before_it_is_written(monkeypatch, folder):
    monkeypatch.setattr(uploads.shutil, "disk_usage", lambda path: SimpleNamespace(free=uploads.SPARE_BYTES + len(TABLE) - 1))
    with pytest.raises(BadFile, match="256 MiB stay free; free some space there, or upload a smaller file"):
        uploads.keep_upload([("own.csv", TABLE)])
    assert not folder.exists()


def test_a_killed_server_leaves_nothing_that_counts_as_an_upload(folder):
    """A process is killed while it writes the second of two files; the next one stores them whole, and sweeps up later."""
    program = f"""
import os, signal
from pathlib import Path
from pages.answers import stored_uploads
from pages.data_page import uploads
stored_uploads.STORE = Path({str(stored_uploads.STORE)!r})
calls, real = [], os.fsync
def kill(number):
    calls.append(number)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    real(number)
uploads.os.fsync = kill
uploads.keep_upload([("own.csv", {TABLE!r}), ("own.toml", {MAPPING!r})])
"""
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    (left,) = folder.iterdir()
    assert {path.name for path in left.iterdir()} == {"own.csv", "own.csv.toml"} and left.stat().st_mode & 0o777 == 0o700
    assert not list(stored_uploads.stored_uploads())
    found = uploads.keep_upload([("own.csv", TABLE), ("own.toml", MAPPING)])
    assert shapes(found.path)[1] == SAMPLES and left.exists(), "another server might be writing it"
    os.utime(left, (0, 0))
    assert quota.delete_uploads(stored_uploads.STORE) == {left.name} and set(folder.iterdir()) == {found.path.parent}


def link_to(file):
    """Return a scenario on a file."""
    return with_values(preset("tiny").scenario, {"data.digest": file.digest})


def test_a_link_finds_an_upload_after_a_restart_and_says_when_it_was_deleted(monkeypatch):
    monkeypatch.setattr(stored_uploads, "_next_tidy", 0.0)
    found = uploads.keep_upload([("own.csv", TABLE)])
    monkeypatch.setattr(data_file, "_FILES", {})  # what a new process knows
    assert data_file.file_of(link_to(found)) == found
    os.utime(found.path.parent, (0, 0))
    assert data_file.file_of(link_to(found)) == found and not quota.delete_uploads(stored_uploads.STORE), "a link is a use"
    os.utime(found.path.parent, (0, 0))
    stored_uploads.delete_old()
    with pytest.raises(BadFile, match="an upload that was deleted; upload the same file again"):
        data_file.file_of(link_to(found))
    assert data_file.file_of(link_to(uploads.keep_upload([("own.csv", TABLE)]))) == found


def test_old_uploads_are_looked_for_once_an_hour(monkeypatch):
    monkeypatch.setattr(stored_uploads, "_next_tidy", 0.0)
    clock = [1e6]
    monkeypatch.setattr(stored_uploads, "monotonic", lambda: clock[0])
    for seconds, left in ((0, 0), (3000, 1), (601, 0)):
        clock[0] += seconds
        os.utime(uploads.keep_upload([("own.csv", TABLE)]).path.parent, (0, 0))
        stored_uploads.delete_old()
        assert len(quota.uploads(stored_uploads.STORE)) == left, seconds


def test_deleting_ones_uploads_spares_those_of_others_and_of_runs(monkeypatch):
    files = {}
    for name in ("alone", "shared", "needed"):
        visit(monkeypatch, "one")
        files[name] = uploads.keep_upload([(f"{name}.csv", TABLE + name.encode())])
        if name == "shared":
            visit(monkeypatch, "other")
            assert uploads.keep_upload([("shared.csv", TABLE + b"shared")]) == files[name]
    request = requests.submit(stored_uploads.STORE, [link_to(files["needed"])], "full", files["needed"].path)
    assert stored_uploads.delete_own("one") == (2, 1)
    assert [name for name, file in files.items() if file.path.exists()] == ["shared", "needed"]
    assert [upload.main for upload in stored_uploads.uploads_of("one")] == ["needed.csv"]
    assert [upload.main for upload in stored_uploads.uploads_of("other")] == ["shared.csv"]
    requests.cancel(stored_uploads.STORE, request, requests.COMMAND)
    assert stored_uploads.delete_own("one") == (1, 0)


class Visit:
    """A page's field for uploads, as Streamlit fills it: what was released comes back as a file without content."""

    def __init__(self, monkeypatch):
        self.manager, self.state, self.number = MemoryUploadedFileManager("/"), {}, 0
        context = SimpleNamespace(uploaded_file_mgr=self.manager, session_id="one")
        monkeypatch.setattr(upload_limits, "get_script_run_ctx", lambda: context)
        monkeypatch.setattr(ways.st, "session_state", self.state)

    def send(self, name, content):
        """Upload a file; return its number."""
        self.number += 1
        self.manager.add_file("one", UploadedFileRec(str(self.number), name, "", content))
        return str(self.number)

    def draw(self, *numbers):
        """Draw the page again, with these files in its field; return the file that a run would train on."""
        records = {record.file_id: record for record in self.manager.get_files("one", numbers)}
        self.state[ways.UPLOAD] = [UploadedFile(records[n], None) if n in records else DeletedFile(n) for n in numbers]
        return ways.given_file()

    def nbytes(self):
        """Return the bytes that are in memory."""
        field = [file for file in self.state[ways.UPLOAD] if isinstance(file, UploadedFile)]
        return sum(len(record.data) for record in self.manager.file_storage["one"].values()) + sum(
            len(f.getvalue()) for f in field
        )


def test_a_stored_upload_leaves_the_memory_and_is_found_on_disk(monkeypatch):
    page = Visit(monkeypatch)
    table = page.send("own.csv", TABLE)
    bare = page.draw(table)
    assert bare.path.read_bytes() == TABLE and page.nbytes() == 0
    assert page.draw(table) == bare
    both = page.draw(table, page.send("own.toml", MAPPING))
    assert shapes(both.path)[1] == SAMPLES and page.nbytes() == 0, "a mapping is added to a table that was stored before"
    assert page.draw(table) == bare
    stored_uploads.delete_own("")
    for numbers in ([table], [table, page.send("more.toml", b"")], ["unknown"]):
        with pytest.raises(
            BadFile, match="is no longer on this server; remove it from the field of uploads, and upload it again"
        ):
            page.draw(*numbers)


def test_a_refused_upload_stays_until_its_missing_file_comes(monkeypatch):
    page = Visit(monkeypatch)
    numbers = [page.send(name, content) for name, content in day(0)]
    with pytest.raises(BadFile):
        page.draw(*numbers[:2])
    assert page.nbytes() > 0 and shapes(page.draw(*numbers).path)[0] == "torchrec" and page.nbytes() == 0
