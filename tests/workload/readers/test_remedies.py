"""Does a file that is not read become one by what its refusal says to copy, at the second try?"""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import pickle
import shutil
import sqlite3
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
import scipy.io
import scipy.sparse
from pyarrow import ipc

from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting.counting import Lookups
from engine.insight.fitting.fit import lookups_of
from engine.workload.readers.formats import digest_of, read_file
from engine.workload.readers.mapping_text import mapping_text
from engine.workload.readers.sniffing import first_rows
from tests.cases import each
from tests.workload.readers.made_up_criteo import HEADER, rows
from tests.workload.readers.test_formats import a_day

RANDOM = np.random.default_rng(5)
COUNT = 120
FRAME = pd.DataFrame(
    {"click": np.arange(COUNT) % 2, "user": RANDOM.integers(0, 40, COUNT), "item": RANDOM.integers(0, 90, COUNT)}
).assign(price=RANDOM.random(COUNT).round(3) + 0.5)
RATINGS = pd.DataFrame({"user": FRAME["user"], "item": FRAME["item"], "rating": RANDOM.permutation(COUNT) % 5 + 1})
RATINGS["timestamp"] = RANDOM.permutation(COUNT) + 881250949
CRITEO = rows(COUNT)


def followed(path: Path, most: int = 4) -> tuple[Lookups, list[str]]:
    """Do what refusals say until the file is read; return it, and the sentences on the way."""
    said: list[str] = []
    while len(said) < most:
        try:
            return (lookups_of(path) if path.suffix == ".txt" else read_file(path)), said
        except BadFile as refused:
            sentence, _, remedy = str(refused).partition("\n")
            said.append(sentence)
            assert len(sentence) <= 300 and sentence.isprintable() and path.name in sentence
            path = next_file(path, sentence, remedy)
    raise AssertionError(said)


def next_file(path: Path, sentence: str, remedy: str) -> Path:
    """Save the mapping that a refusal shows, or run its command or lines of Python; return the file to read next."""
    assert remedy and sentence.endswith(":"), sentence
    if f"{path.name}.toml" in sentence:
        tomllib.loads(remedy)
        path.with_name(f"{path.name}.toml").write_text(remedy, encoding="utf-8")
        return path
    before = set(path.parent.iterdir())
    if "in Python" in sentence:
        with contextlib.chdir(path.parent):
            exec(remedy, {})
    else:
        subprocess.run(["bash", "-c", remedy], cwd=path.parent, check=True, capture_output=True)
    (new,) = {each for each in path.parent.iterdir() if each.suffix != ".toml"} - before
    return new


def stream(path: Path) -> None:
    table = pyarrow.Table.from_pandas(FRAME, preserve_index=False)
    with ipc.new_stream(path, table.schema) as sink:
        sink.write_table(table)


def database(path: Path) -> None:
    held = sqlite3.connect(path)
    FRAME.to_sql("clicks", held, index=False)
    held.close()


def text(frame: pd.DataFrame, **how: object) -> str:
    return str(frame.to_csv(index=False, **how))  # type: ignore[call-overload]


def table(rows: list[list[str]], delimiter: str = ",") -> str:
    return "".join(delimiter.join(row) + "\n" for row in rows)


def tarred(path: Path) -> None:
    with tarfile.open(path, "w:gz") as held:
        info = tarfile.TarInfo("inside.csv")
        info.size = len(CSV)
        held.addfile(info, io.BytesIO(CSV.encode()))


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as held:
        held.writestr("inside.csv", CSV)


def compressed(path: Path, codec: str) -> None:
    with pyarrow.CompressedOutputStream(path, codec) as sink:
        sink.write(CSV.encode())


def blocks(kinds: str) -> np.ndarray:
    """Return records of a VSCSI trace: five numbers and two or three times, the version in the fourth or second."""
    record = np.dtype([(f"n{column}", kind) for column, kind in enumerate(kinds.split())])
    held = np.ones(COUNT, record)
    held[f"n{1 if kinds.startswith('<u2') else 4}"] = 0x200 if kinds.startswith("<u2") else 0x100
    held["n5"] = FRAME["user"]
    return held


CSV = text(FRAME)
STARS = np.where(RANDOM.random((60, 60)) < 0.1, RANDOM.integers(1, 6, (60, 60)), 0)
WATCHED = pd.DataFrame({"user_id": FRAME["user"], "video_id": FRAME["item"], "play_duration": 9, "timestamp": FRAME.index + 0.5})
WATCHED["watch_ratio"] = FRAME["price"]
SHOWN = [" ".join(f"N{n * 7 % 40}-{int(n % 3 == 0)}" for n in range(row, row + row % 3 + 1)) for row in range(60)]
MIND = "".join(
    f"{row}\tU{row % 9}\t11/{row % 9 + 1}/2019 9:05:{row % 60:02} AM\tN1 N2\t{shown}\n" for row, shown in enumerate(SHOWN)
)
NETFLIX = "".join(f"{m}:\n" + "".join(f"{m * 7 % 9},{n % 5 + 1},2005-09-06\n" for n in range(12)) for m in range(10))
WIDE = table([[f"{row % 2}", *(f"w{row % 7}-{column}" for column in range(39))] for row in range(COUNT)], "\t")
# What is refused: its name, how it is written, how many tries it takes, and the lookups of a sample that are read at last.
FILES: dict[str, tuple[str, Callable[[Path], object] | bytes | str, int]] = {
    "feather": ("own.feather", lambda path: FRAME.to_feather(path), 2),
    "stream": ("own.arrow", stream, 2),
    "orc": ("own.orc", lambda path: FRAME.to_orc(path, index=False), 2),
    "stata": ("own.dta", lambda path: FRAME.to_stata(path, write_index=False), 2),
    "sqlite": ("own.db", database, 2),
    "pickle": ("own.pkl", lambda path: path.write_bytes(pickle.dumps(FRAME)), 2),
    "json lines": ("own.jsonl", FRAME.to_json(orient="records", lines=True), 2),
    "json": ("own.json", FRAME.to_json(orient="records"), 2),
    "json by column": ("own.json", json.dumps(FRAME.to_dict("list"), indent=1), 2),
    "matlab": ("own.mat", lambda path: scipy.io.savemat(path, {name: FRAME[name].to_numpy() for name in FRAME}), 2),
    "bzip2": ("own.csv.bz2", bz2.compress(CSV.encode()), 2),
    "xz": ("own.csv.xz", lzma.compress(CSV.encode()), 2),
    "gzip twice": ("own.csv.gz", gzip.compress(gzip.compress(CSV.encode())), 2),
    "json in gzip": ("own.json.gz", gzip.compress(FRAME.to_json(orient="records").encode()), 3),
    "Python's dictionaries": ("own.json", "".join(f"{row}\n" for row in FRAME.to_dict("records")), 2),
    "a title": ("own.csv", "Clicks of May\n" + CSV, 2),
    "comments": ("own.csv", "# of May\n# by us\n" + CSV, 2),
    "comments in gzip": ("own.csv.gz", gzip.compress(b"# of May\n" + CSV.encode()), 3),
    "latin in gzip": ("own.csv.gz", gzip.compress(CSV.replace("user", "usér").encode("latin-1")), 3),
    "a name like an option": ("-r.csv", "Clicks of May\n" + CSV, 2),
    "a name to quote": ("it's $HOME.csv.bz2", bz2.compress(CSV.encode()), 2),
    "Netflix": ("combined_data_1.txt", NETFLIX, 2),
    "lines of CR": ("own", CSV.replace("\n", "\r"), 2),
    "two colons": ("own.dat", CSV.replace(",", "::"), 2),
    "blanks": ("own.txt2", FRAME.to_string(index=False), 2),
    "latin": ("own.csv", CSV.replace("user", "usér").encode("latin-1"), 2),
    "semicolons": ("own.csv", text(FRAME, sep=";"), 1),
    "tabs": ("own.tsv", text(FRAME, sep="\t"), 1),
    "pipes": ("own.csv", text(FRAME, sep="|"), 1),
    "Hive's": ("own", text(FRAME, sep="\x01", header=False), 1),
    "label first": ("own.csv", text(FRAME.rename(columns={"click": "label"})), 1),
    "label first in tabs": ("own.csv", text(FRAME.rename(columns={"click": "Label"}), sep="\t"), 1),
    "no header in tabs": ("own.tsv", text(FRAME, sep="\t", header=False), 1),
    "no header": ("own.csv", text(FRAME[["user", "item", "click"]], header=False), 1),
    "40 columns of no Criteo's": ("own.tsv", WIDE, 1),
    "Criteo in CSV without a header": ("own.csv", table(CRITEO), 1),
    "Criteo without a column": ("own.csv", table([HEADER.split(",")[:-1], *(row[:-1] for row in CRITEO)]), 1),
    "ratings": ("own.csv", text(RATINGS.rename(columns={"user": "user_id", "item": "item_id"})), 1),
    "ml-100k": ("u.data", text(RATINGS, sep="\t", header=False), 1),
    "ml-1m": ("ratings.dat", text(RATINGS, header=False).replace(",", "::"), 1),
    "parquet": ("own.parquet", lambda path: FRAME.to_parquet(path, index=False), 1),
    "sparse": ("own.npz", lambda path: scipy.sparse.save_npz(path, scipy.sparse.coo_array(STARS)), 2),
    "LibSVM": ("own.svm", "".join(f"{n % 2 * 2 - 1} 1:0.5 {n % 7 + 3}:1 # {n}\n" for n in range(COUNT)), 1),
    "libFFM": ("own.ffm", "".join(f"{n % 2} 0:1:0.5 1:{n % 7}:1\n" for n in range(COUNT)), 1),
    "Vowpal Wabbit": ("own.vw", "".join(f"{n % 2 * 2 - 1} |a x:1 u{n % 7} |b y_3\n" for n in range(COUNT)), 1),
    "tar": ("own.tar.gz", tarred, 2),
    "zip": ("own.zip", zipped, 2),
    "zstd": ("own.csv.zst", lambda path: compressed(path, "zstd"), 2),
    "lz4": ("own.csv.lz4", lambda path: compressed(path, "lz4"), 2),
    "array": ("own.npy", lambda path: np.save(path, FRAME[["click", "user"]].to_numpy()), 2),
    "array with names": ("own.npy", lambda path: np.save(path, FRAME.to_records(index=False)), 2),
    "arrays": ("own.npz", lambda path: np.savez_compressed(path, **FRAME), 1),
    "MIND": ("behaviors.tsv", MIND, 1),
    "KuaiRec": ("big_matrix.csv", text(WATCHED), 1),
    "KuaiRec without some times": ("small_matrix.csv", text(WATCHED.replace({"timestamp": {70.5: np.nan}})), 1),
    "VSCSI": ("own.vscsi", lambda path: blocks("<u4 <u4 <u4 <u2 <u2 <u8 <u8").tofile(path), 1),
    "VSCSI 2": ("own.vscsi", lambda path: blocks("<u2 <u2 <u4 <u4 <u4 <u8 <u8 <u8").tofile(path), 1),
}  # fmt: skip


FILES = {what: file for what, file in FILES.items() if what not in ("zstd", "lz4") or shutil.which(what)}


@each("what", FILES)
def test_what_a_refusal_says_to_copy_makes_the_file_read(what: str, tmp_path: Path) -> None:
    name, content, tries = FILES[what]
    path = tmp_path / str(list(FILES).index(what)) / name
    path.parent.mkdir()
    if callable(content):
        content(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    found, said = followed(path)
    assert len(said) == tries, said
    assert found.samples == (np.count_nonzero(STARS) if what == "sparse" else COUNT)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n"
NAMES = "x.csv", "x.parquet", "x.npz", "x.npy", "x.pt", "x.pt.gz", "x.oracleGeneral.bin", "day_0_sparse.npy", "train.txt"


@each("name", NAMES)
def test_a_pointer_of_git_lfs_is_named_under_any_name_before_all_else(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(POINTER)
    for opened in (read_file, digest_of, lookups_of):
        with pytest.raises(BadFile, match=r"a pointer of Git LFS, not the file itself; fetch it") as refused:
            opened(tmp_path / name)
        assert refused.value.remedy == f"git lfs pull --include {name}"


def test_a_pointer_beside_a_day_of_arrays_is_named_too(tmp_path: Path) -> None:
    path = a_day(tmp_path)
    (tmp_path / "day_3_labels.npy").write_bytes(POINTER)
    with pytest.raises(BadFile, match=r"day_3_labels.npy looks like a pointer of Git LFS"):
        read_file(path)


def test_criteos_test_file_is_said_to_have_no_labels_with_a_mapping_that_needs_none(tmp_path: Path) -> None:
    bare = [row[1:] for row in CRITEO]
    for content in (table(bare, "\t"), table([HEADER.split(",")[1:], *bare])):
        (tmp_path / "test.txt").write_text(content, encoding="utf-8")
        with pytest.raises(
            BadFile, match=r"test.txt is a file of Criteo without labels.* workload count` need no labels"
        ) as refused:
            read_file(tmp_path / "test.txt")
        mapping = tomllib.loads(refused.value.remedy)
        assert mapping["dense"] == [f"I{n}" for n in range(1, 14)] and mapping["ids"] == [f"C{n}" for n in range(1, 27)]
        assert "label" not in mapping and ("columns" in mapping) == ("\t" in content)


MIXED = ["a", "3", "x\ty", 'quote"d', "back\\slash", "rtl\u202e", "bell\x07", "naïve", "#", "=", "x" * 200, "", "a"]


def test_any_column_names_make_a_mapping_that_is_toml_of_visible_letters() -> None:
    for headerless in (False, True):
        text = mapping_text(MIXED, "\x01", headerless)
        found = tomllib.loads(text)
        assert text.replace("\n", "").isprintable() and found["delimiter"] == "\x01"
        assert set(found["ids"]) <= {name for name in MIXED if 0 < len(name) < 200 and MIXED.count(name) == 1}
        assert not headerless or found["columns"] == MIXED


HEADERS = {
    "names": ("user,item\n1,2\n", True),
    "numbers": ("3,4\n1,2\n", False),
    "a date": ("2017-01-02,u1\n2017-01-03,u2\n", False),
    "a time": ("9:05:11,u1\n9:05:12,u2\n", False),
    "a date and words": ("01/31/2020 10:00,shoes,red\n02/01/2020 11:00,hats,blue\n", False),
    "ids of letters and digits": ("u1,i5\nu2,i6\n", False),
    "words that come back": ("shoes,red\nhats,red\nshoes,blue\n", False),
    "names above words": ("kind,colour\nshoes,red\nhats,blue\n", True),
    "names with digits above numbers": ("C1,C2\n5,6\n", True),
    "a name missing, as pandas leaves it": (",user\n0,7\n", True),
    "names alone": ("user,item\n", True),
}


@each("what", HEADERS)
def test_a_first_row_is_a_header_only_where_nothing_speaks_against_it(what: str) -> None:
    text, headed = HEADERS[what]
    assert bool(first_rows(text.encode(), whole=True).header) == headed


def test_a_foreign_table_with_a_label_or_a_tab_is_not_called_criteos(tmp_path: Path) -> None:
    for name in ("label first", "label first in tabs", "no header in tabs", "40 columns of no Criteo's", "ml-100k"):
        (tmp_path / "own").write_text(str(FILES[name][1]), encoding="utf-8")
        with pytest.raises(BadFile) as refused:
            read_file(tmp_path / "own")
        assert "riteo" not in str(refused.value) and "cut the file" not in str(refused.value)


def test_rows_that_are_mostly_criteos_are_read_as_such_and_the_odd_one_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "own").write_text(table([["0", "1", "2"], *CRITEO], "\t"), encoding="utf-8")
    with pytest.raises(BadFile, match=r"own:1: the line has 3 columns, but 40 are expected"):
        read_file(tmp_path / "own")


def test_the_command_prints_a_sentence_and_below_it_the_mapping_to_save(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.tsv"
    path.write_text(text(RATINGS, sep="\t"), encoding="utf-8")
    assert main(["workload", "count", str(path)]) == 2
    sentence, mapping = capsys.readouterr().err.split("\n", 1)
    assert sentence.startswith('own.tsv looks like a table separated by "\\t"; its 4 columns are user, item, rating, timestamp')
    path.with_name("own.tsv.toml").write_text(mapping, encoding="utf-8")
    assert main(["workload", "count", str(path)]) == 0
    assert f"{COUNT} samples, {2 * COUNT} lookups" in capsys.readouterr().out
