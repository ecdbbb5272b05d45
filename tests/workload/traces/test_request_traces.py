"""Are libCacheSim's traces read and counted as numpy counts them, known by what they hold, and refused where damaged?"""

import gzip
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest

from benchmarks import libcachesim_peer as peer
from engine.__main__ import main
from engine.caches.stack_distance import curve
from engine.errors import BadFile
from engine.insight.fitting.fit import fit_file, lookups_of
from engine.insight.fitting.tally import tallies
from engine.workload.readers import blocks, samples
from engine.workload.readers.formats import read_file
from engine.workload.readers.traces import kinds, requests
from tests.cases import each

COUNT, ROWS = 40_000, 3_000
SHIFT = 11_400_714_819_323_198_485  # spreads ids over 64 bits, as the hashes of real traces are
IDS = (peer.zipf(COUNT, ROWS, 0.9, 3).astype(np.uint64) + np.uint64(1)) * np.uint64(SHIFT)
TIMES = np.arange(COUNT, dtype=np.uint32) // 7 + np.uint32(1_600_000_000)


def following(base: int, never: int) -> np.ndarray:
    """Return the number of the next request for the same object, counted from `base`."""
    seen: dict[int, int] = {}
    found = np.full(COUNT, never)
    for place in range(COUNT - 1, -1, -1):
        key = int(IDS[place])
        found[place] = seen.get(key, never)
        seen[key] = place + base
    return found


NEXT = following(1, -1)


def records(count: int = COUNT, **changed: np.ndarray) -> np.ndarray:
    """Return the first requests as libCacheSim's converter writes them, with some fields changed."""
    held = np.zeros(COUNT, peer.REQUEST)
    for name, column in ({"time": TIMES, "id": IDS, "size": 4096, "next": NEXT} | changed).items():
        held[name] = column
    return held[:count]


def wanted(ids: np.ndarray) -> tuple[list[int], list[int]]:
    times, rows = np.unique(np.unique(ids, return_counts=True)[1], return_counts=True)
    return times.tolist(), rows.tolist()


def counts(path: Path) -> tuple[list[int], list[int]]:
    (found,) = tallies(lookups_of(path))
    return found.uses.tolist(), found.rows.tolist()


@pytest.mark.parametrize("name", ["own", "own.oracleGeneral", "own.oracleGeneral.bin"])
@pytest.mark.parametrize(("base", "never"), [(1, -1), (1, 2**63 - 1), (0, peer.NEVER)])
def test_a_binary_trace_is_mapped_and_counted_as_numpy_counts_it(name: str, base: int, never: int, tmp_path: Path) -> None:
    records(next=following(base, never)).tofile(tmp_path / name)
    found = lookups_of(tmp_path / name)
    assert isinstance(found, requests.RequestTrace) and isinstance(found.ids.base, np.memmap)
    assert (found.tables, found.samples, found.bag_lengths(0)) == (1, COUNT, 1)
    assert np.array_equal(found.lookups(0, 17, 30_000), IDS[17:30_000])
    assert counts(tmp_path / name) == wanted(IDS)


def test_the_first_requests_of_a_trace_are_one_too(tmp_path: Path) -> None:
    records(5_000).tofile(tmp_path / "own")
    assert counts(tmp_path / "own") == wanted(IDS[:5_000])


def as_text(write: Callable[[int], str], header: str = "") -> Callable[[], str]:
    """Return the function that makes a text: made while it is collected, each would delay all tests."""
    return lambda: header + "".join(f"{write(row)}\n" for row in range(COUNT))


TEXTS = {
    "ids": as_text(lambda row: f"{IDS[row]}"),
    "ids below their name": as_text(lambda row: f"{IDS[row]}", "obj_id\n"),
    "ids with Windows' line ends": as_text(lambda row: f"{IDS[row]}\r"),
    "hexadecimal": as_text(lambda row: f"0x{IDS[row]:x}"),
    "words": as_text(lambda row: f"/pictures/{IDS[row]}.png?size=3"),
    "as traceConv writes": as_text(lambda row: f"{TIMES[row]},{IDS[row]},4096,{NEXT[row]}"),
    "with a header": as_text(lambda row: f"{TIMES[row]},{IDS[row]},4096,{NEXT[row]}", "time,object id,size,next access\n"),
    "as in its examples": as_text(lambda row: f"1,{TIMES[row]},2a,512,{IDS[row]}", "version,time,op,size,lbn\n"),
    "in tabs": as_text(lambda row: f"{TIMES[row]}\tk{IDS[row]}\t80", "timestamp\tkey\tvalue_size\n"),
}


@each("what", TEXTS, few=4)
def test_a_text_of_requests_is_counted_as_numpy_counts_it(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 17)
    (tmp_path / "own").write_text(TEXTS[what](), encoding="utf-8", newline="")
    (tmp_path / "own.gz").write_bytes(gzip.compress((tmp_path / "own").read_bytes(), 1))
    for name in ("own", "own.gz"):
        assert counts(tmp_path / name) == wanted(IDS)


def test_a_text_beyond_a_bound_of_memory_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.txt").write_text(TEXTS["ids"](), encoding="utf-8")
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 15)
    monkeypatch.setattr(samples, "max_nbytes", lambda: 50_000)
    found = lookups_of(tmp_path / "own.txt")
    assert isinstance(found.ids.base, np.memmap)
    assert np.array_equal(pd.factorize(found.ids)[0], pd.factorize(IDS)[0])


TABLES = {
    "ratings by user": "".join(f"{row // 9},{IDS[row] % 90},{row % 5 + 1},{964982703 + row}\n" for row in range(400)),
    "three columns": "".join(f"{row // 9},{IDS[row] % 90},512\n" for row in range(400)),
    "clicks": "time,key,size,clicked\n" + "".join(f"{row},{IDS[row] % 90},5,{row % 2}\n" for row in range(400)),
    "random": np.random.default_rng(1).bytes(24 * 500),
    "zeros": bytes(24 * 500),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(16),
    "words that never come back": "".join(f"w{row}x\n" for row in range(400)),
    "sentences": "the cat sat\n" * 400,
    "times that fall": records(500, time=TIMES[::-1]).tobytes(),
    "others' next requests": records(500, next=np.arange(COUNT) + 3).tobytes(),
    "half a request more": records(500).tobytes() + bytes(12),
}


@each(
    ("text", "numbers"),
    [
        ("7\n8\n9\n", True),
        ("user_id\n7\n8\n", True),  # any name that ends in "id"
        ("lba\n7\n8\n", True),  # a name of an id that does not
        ("count\n7\n8\n", None),
        ("7\nx\n8\n", None),  # one word among numbers, and no word comes back
        ("7\nx\n7\n", False),
        ("a\nb\na\n", False),
        ("a\nb\nc\n", None),
        ("name\na\nb\na\n", None),  # words below a name
        ("a\nb::c\na\n", None),
        ("a\nb{c\na\n", None),
        (f"b\n{'a' * 250}\nb\n", False),
        (f"b\n{'a' * 251}\nb\n", None),
        (f"{2**64 - 1}\n7\n", True),
        (f"{2**64}\n7\n7\n", False),  # beyond 64 bits a number is a word
        ("00000000000000000007\n8\n", True),
        ("000000000000000000007\n8\n", None),  # 21 digits
        ("\u0667\n8\n8\n", False),
        ("", None),
        ("{7\n7\n", None),
        ("[7\n7\n", None),
        ("<7\n7\n", None),
        ("a\x01b\nc\x01d\nc\x01d\n", None),
        ("7\x00\n7\n", None),
    ],
)
def test_lines_of_one_cell_are_ids_where_they_are_numbers_or_come_back(text: str, numbers: bool | None) -> None:
    found = requests.id_place(text.encode())
    assert (found and found.numbers) is numbers


HEADERS = {
    "time,obj_id,size\n": 1,
    "size,ts,key\n": 2,
    "time,obj_id,size,op\n": 1,
    "time,obj_id\n": None,  # no size
    "obj_id,size\n": None,  # no time
    "time,obj_id,size,clicked\n": None,  # a column that no trace has
    "time,size,op\n": None,  # no id
    "time,lba,obj_id,size\n": 2,  # the surer name of two
}


@each("header", HEADERS)
def test_a_table_of_requests_names_time_id_and_size(header: str) -> None:
    row = ",".join(["7"] * (header.count(",") + 1))
    found = requests.id_place(f"{header}{row}\n{row}\n".encode())
    assert (found and found.column) == HEADERS[header]


CONVERTED = {
    "1,7,4,2\n1,7,4,-1\n1,8,4,-1\n": True,
    "1,7,4,2\n1,7,4,-1\n": False,  # numbered from 1 it is proof, from 0 it is not there
    "2,7,4,2\n1,7,4,-1\n1,8,4,-1\n": False,  # time goes back
    "1,7,4,1\n1,7,4,-1\n": True,  # numbered from 0
    "1,7,4,0\n1,7,4,-1\n": False,  # its own next request
    "1,7,4,2\n1,8,4,-1\n1,9,4,-1\n": False,  # of another object
    "1,7,4,-1\n1,8,4,-2\n": True,
    "1,7,4,-1\n1,8,4,-3\n": False,
    "1,7,x,-1\n1,8,4,-1\n": False,
    "x,7,4,-1\n1,8,4,-1\n": False,
    f"1,7,4,-1\n1,8,4,{2**44 - 1}\n": False,  # a later request, which is not there to prove it
    f"1,7,4,{2**62}\n1,8,4,{2**62}\n": True,
    f"1,7,4,{2**62 - 1}\n1,8,4,-1\n": False,
    f"1,7,4,{2**63 - 1}\n1,8,4,-1\n": True,
    f"1,7,4,{2**63}\n1,8,4,-1\n": False,  # beyond 64 bits with a sign
    f"1,7,{-(2**63)},-1\n1,8,4,-1\n": True,
    f"1,7,{-(2**63) - 1},-1\n1,8,4,-1\n": False,
    f"1,7,{'9' * 5000},-1\n1,8,4,-1\n": False,  # more digits than Python converts
    f"1,7,{'0' * 20},-1\n1,8,4,-1\n": True,
    f"1,7,{'0' * 21},-1\n1,8,4,-1\n": False,
    "1,7,4,2\n1,8,4,1\n1,7,4,-1\n": False,  # one of two does not come later
    "1,7,4,-1,0\n1,8,4,-1,0\n": False,  # of five columns,
}


@each("text", CONVERTED)
def test_rows_without_a_header_are_requests_where_next_requests_prove_it(text: str) -> None:
    assert (requests.id_place(text.encode()) is not None) == CONVERTED[text]


PROVEN = {"time": [1, 1, 2], "id": [7, 8, 7], "next": [3, -1, -1]}
BINARY = {
    "whole": ({}, True),
    "a time that falls": ({"time": [1, 2, 1]}, False),
    "a next request before": ({"next": [3, 1, -1]}, False),
    "another's next request": ({"id": [7, 8, 9], "next": [2, -1, -1]}, False),
    "no next request": ({"next": [-1, -1, -1]}, True),
    "a next request that is not there": ({"next": [9, -1, -1]}, False),
}


@each("what", BINARY)
def test_a_binary_trace_is_known_by_all_of_its_requests(what: str) -> None:
    changed, is_known = BINARY[what]
    held = np.zeros(3, peer.REQUEST)
    for name, column in (PROVEN | {"next": [2, -1, -1], "id": [7, 7, 8]} | changed).items():
        held[name] = column
    held["id"][2] = held["id"][2] if "id" in changed else 7
    assert requests.is_oracle_general(held.tobytes(), held.nbytes) == is_known


@each(("letters", "is_known"), [(0, True), (1, True), (2, True), (3, True)])
def test_a_letter_that_the_first_bytes_cut_is_no_fault(letters: int, is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "HEAD", 16 + letters)
    text = ("ä\n" * 9).encode()[: 16 + letters]
    assert (requests.id_place(text) is not None) == is_known
    assert requests.id_place(b"\xff\n" * 9) is None


@each(("count", "is_known"), [(1, False), (2, True)])
def test_a_binary_trace_is_known_by_two_requests(count: int, is_known: bool) -> None:
    alone = records(count, next=np.full(COUNT, -1)).tobytes()
    assert requests.is_oracle_general(alone, len(alone)) == is_known


@each(
    ("row", "number", "is_right"),
    [(1, 2, False), (1, 3, True), (1, 2**44 - 1, True), (1, 2**44, False), (1, 2**62 - 1, False), (1, 2**62, True),
     (2, 3, False), (2, 4, True), (1, -1, True), (1, -2, True), (1, -3, False)],
)  # fmt: skip
def test_a_next_request_comes_later_in_whichever_part_of_a_trace(
    row: int, number: int, is_right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "ROWS", 2)
    following = np.full(COUNT, -1)
    following[row + 1] = number
    records(5, next=following).tofile(tmp_path / "x.oracleGeneral")
    if is_right:
        assert requests.read_requests(tmp_path / "x.oracleGeneral").samples == 5
    else:
        with pytest.raises(BadFile, match=rf"request {row + 2} has number {number:,} for the next request"):
            requests.read_requests(tmp_path / "x.oracleGeneral")


@each("what", TABLES)
def test_what_is_no_trace_of_requests_is_not_taken_for_one(what: str, tmp_path: Path) -> None:
    content = TABLES[what]
    (tmp_path / "own").write_bytes(content.encode() if isinstance(content, str) else content)
    assert not kinds.is_trace(tmp_path / "own")


def test_a_table_with_a_mapping_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "own").write_text(TEXTS["with a header"](), encoding="utf-8")
    assert kinds.is_trace(tmp_path / "own")
    (tmp_path / "own.toml").write_text('label = "size >= 1"\nids = ["object id"]\n', encoding="utf-8")
    assert not kinds.is_trace(tmp_path / "own")


CSV = TEXTS["with a header"]().encode()
DAMAGED = {
    "cut off": ("x.oracleGeneral", records(500).tobytes()[:-5], "has 11,995 bytes, which is not a multiple of the 24 bytes"),
    "empty": ("x.oracleGeneral.bin", b"", "has 0 bytes"),
    "bytes lost": ("x.oracleGeneral", records().tobytes()[: 24 * 30_000] + records().tobytes()[24 * 30_000 + 8 :] + bytes(8),
                   r"request 30,\d{3} has number"),
    "gzipped": ("x.oracleGeneral.gz", gzip.compress(records(500).tobytes()), "cannot be mapped; unpack it"),
    "no number": ("x.txt", TEXTS["ids"]().encode() + b"five\n", ":40001: the id 'five' is not a whole number"),
    "other columns": ("x.csv", CSV + b"1,2,3\n", ":40002: the line has 3 columns, but 4 are expected"),
    "not UTF-8": ("x.csv", CSV + b"1,\xff,3,4\n", r":40002: the id"),
}  # fmt: skip


@each("what", DAMAGED)
def test_a_damaged_trace_is_refused_where_it_is_damaged(what: str, tmp_path: Path) -> None:
    name, content, words = DAMAGED[what]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile, match=words) as refused:
        lookups_of(tmp_path / name)
    assert name in str(refused.value) and len(refused.value.args[0]) <= 300


def test_a_trace_in_zstd_is_named_with_the_command_that_unpacks_it(tmp_path: Path) -> None:
    with pyarrow.CompressedOutputStream(tmp_path / "w.oracleGeneral.zst", "zstd") as sink:
        sink.write(records(500).tobytes())
    with pytest.raises(BadFile, match=r"looks like a zstd archive; unpack it and give what is inside:") as refused:
        lookups_of(tmp_path / "w.oracleGeneral.zst")
    assert refused.value.remedy == "zstd -dc < w.oracleGeneral.zst > w.oracleGeneral"


def test_a_run_says_what_a_trace_is_for(tmp_path: Path) -> None:
    records().tofile(tmp_path / "w.oracleGeneral")
    with pytest.raises(
        BadFile,
        match=r"1 table, without labels and of 40,000 requests, so a run cannot train on it: use .*workload fit w.oracleGeneral`",
    ):
        read_file(tmp_path / "w.oracleGeneral")


def test_a_fit_has_the_rows_and_the_cache_hits_of_the_trace(tmp_path: Path) -> None:
    records().tofile(tmp_path / "w.oracleGeneral")
    found = fit_file(lookups_of(tmp_path / "w.oracleGeneral"), open_ended=False)
    (table,) = found.tables
    assert table.rows_seen == len(set(IDS.tolist())) == table.law.rows and found.click_rate is None
    numbers = np.unique(IDS, return_inverse=True)[1].astype(np.int64)
    hits = curve([numbers]).hit_rate(np.maximum(np.array([0.001, 0.01, 0.05, 0.1, 0.3]) * table.law.rows, 1.0))
    assert found.hits[0] == pytest.approx(hits)


def test_the_command_fits_and_counts_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, fitted = tmp_path / "w.oracleGeneral", tmp_path / "fitted.toml"
    records().tofile(path)
    assert main(["workload", "count", str(path), "--json", "-"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["Lookups"], row["Rows seen"]) == (COUNT, len(set(IDS.tolist())))
    assert row["Hottest row [%]"] == pytest.approx(100 * np.unique(IDS, return_counts=True)[1].max() / COUNT)
    assert main(["workload", "fit", str(path), "--preset", "tiny", "--toml", str(fitted)]) == 0
    said = capsys.readouterr().out
    assert "libCacheSim's oracleGeneral, 40,000 samples counted" in said and "The file has no labels" in said
    assert "train on the file itself" not in said and "model.num_tables = 1" in fitted.read_text(encoding="utf-8")
    assert main(["run", "--preset", "tiny", "--data", str(path)]) == 2
    assert "is a trace of lookups" in capsys.readouterr().err


@pytest.mark.slow
def test_lru_caches_miss_on_the_trace_as_often_as_libcachesims_do(tmp_path: Path) -> None:
    assert find_spec("libcachesim"), "make slow installs libcachesim; see requirements-slow.txt"
    path, capacities = tmp_path / "w.oracleGeneral.bin", [30, 300, 1500]
    records(size=np.ones(COUNT, np.uint32)).tofile(path)
    trace = lookups_of(path)
    numbers = np.unique(trace.lookups(0, 0, trace.samples), return_inverse=True)[1].astype(np.int64)
    assert curve([numbers]).misses(np.array(capacities)).tolist() == peer.misses(path, COUNT, "lru", capacities)
