"""Are Criteo files read exactly in every form, and refused with a sentence and a line where they are damaged?"""

import gzip
import os
import socket
import tracemalloc
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadFile, BadInput
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload.readers import blocks, formats, samples, text_table
from engine.workload.readers.recording import Recording
from engine.workload.source import num_batches, source
from tests import ROOT
from tests.cases import each, examples
from tests.workload.readers.made_up_criteo import HEADER, csv, rows, tsv

OWN = ROOT / "tests/data/made_up_criteo.csv"
FILES = [OWN, *([Path(os.environ["EMBERPOOL_CRITEO"])] if os.environ.get("EMBERPOOL_CRITEO") else [])]
CELLS = rows(60)
CSV = csv(CELLS)
FORMS: dict[str, bytes] = {
    "csv": CSV,
    "csv with Id": csv([[str(n), *row] for n, row in enumerate(CELLS)], "Id," + HEADER),
    "csv in capitals": csv(CELLS, HEADER.upper()),
    "tsv": tsv(CELLS),
    "gzip": gzip.compress(tsv(CELLS)),
    "gzip in two members": gzip.compress(CSV[:5000]) + gzip.compress(CSV[5000:]),
    "CRLF": CSV.replace(b"\n", b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + CSV,
    "byte order mark on tsv": b"\xef\xbb\xbf" + tsv(CELLS),
    "no last line end": CSV.rstrip(b"\n"),
    "blank last lines": CSV + b"\r\n\n",
}


def decode(name: str, raw: bytes) -> Recording:
    """Read the bytes of a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(raw)
        return formats.read_file(path)


def _fnv(text: bytes) -> int:
    word = 0xCBF29CE484222325
    for byte in text:
        word = (word ^ byte) * 0x100000001B3 % 2**64
    return word


def _count(cell: str) -> np.float32:
    return np.float32(np.log1p(max(float(cell or 0), 0.0)))


def _check(file: Recording, cells: list[list[str]], part: slice = slice(None)) -> None:
    assert len(file.labels) == len(cells)
    assert file.labels[part].tolist() == [float(row[0]) for row in cells[part]]
    assert file.dense[part] == pytest.approx(np.array([[_count(cell) for cell in row[1:14]] for row in cells[part]]), rel=1e-6)
    assert file.tokens[part].tolist() == [[_fnv(cell.encode()) for cell in row[14:]] for row in cells[part]]


@each("form", FORMS)
def test_every_form_of_a_file_reads_as_the_same_samples(form: str) -> None:
    _check(decode(form, FORMS[form]), CELLS)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_file_on_disk_reads_as_splitting_its_lines_reads_it(path: Path) -> None:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    cells = [line.split("\t" if "\t" in lines[0] else ",") for line in lines]
    first = cells[0][0].lower()
    file = formats.read_file(path)
    samples = [row[first == "id" :] for row in cells[first in ("id", "label") :]]
    _check(file, samples, slice(0, 500))
    _check(file, samples, slice(-500, None))
    assert file.training_samples + file.held_out_samples == len(samples)


def test_the_digest_is_of_the_bytes_on_disk() -> None:
    packed = gzip.compress(CSV)
    assert decode("packed", packed).digest == sha256(packed).hexdigest()
    assert formats.read_file(OWN).digest == sha256(OWN.read_bytes()).hexdigest()


ODD_NUMBERS = st.sampled_from(["", "5.", ".5", "+3", "2.6e2", "1E-3"])
NUMBERS = st.floats(-1e9, 1e9).map(repr) | st.integers(-(10**12), 10**12).map(str) | ODD_NUMBERS


@examples(40)
@given(st.lists(NUMBERS, min_size=13, max_size=13))
def test_any_way_to_write_a_count_is_read(counts: list[str]) -> None:
    file = decode("made up", tsv([["1", *counts, *CELLS[0][14:]], *CELLS]))
    assert file.dense[0] == pytest.approx(np.array([_count(cell) for cell in counts]), rel=1e-5, abs=1e-6)


def _cell(column: int, text: bytes) -> bytes:
    """The file with one cell of its line 4 replaced."""
    lines = CSV.split(b"\n")
    cells = [b"0", *lines[3].split(b",")[1:]]
    lines[3] = b",".join([*cells[:column], text, *cells[column + 1 :]])
    return b"\n".join(lines)


BAD: dict[str, tuple[bytes, str]] = {
    "label of two": (_cell(0, b"2"), r"bad:4: label=2 is not a label; write 0 or 1"),
    "no label": (_cell(0, b""), "bad:4: label is missing"),
    "worded count": (_cell(3, b"many"), r"bad:4: I3='many' is not a finite number"),
    "nan": (_cell(3, b"nan"), r"bad:4: I3='nan' is not a finite number"),
    "infinite": (_cell(3, b"1e999"), r"bad:4: I3='inf' is not a finite number"),
    "underscore": (_cell(3, b"1_0"), r"bad:4: I3='1_0' is not a finite number"),
    "bare point": (_cell(3, b"."), r"bad:4: I3='.' is not a finite number"),
    "NUL": (_cell(20, b"ab\x00c"), "bad:4: the line has a NUL byte"),
    "delete": (_cell(20, b"ab\x7f"), r"bad:4: C7='ab\\x7f' is not an id"),
    "not UTF-8": (_cell(20, b"ab\xff"), r"bad:4: byte 0xff is not UTF-8"),
    "extra column": (_cell(20, b"ab,cd"), r"bad:4: the line has 41 columns, but 40 are expected"),
    "blank line": (CSV.replace(CSV.split(b"\n")[3], b"", 1), "bad:4: the line has 1 column, but"),
    "cut off": (CSV[: -len(CSV.split(b"\n")[-2]) // 2 - 100], r"bad:\d+: the line has \d+ columns.*cut the file off before it"),
    "empty": (b"", r"bad has 0 samples"),
    "only a mark": (b"\xef\xbb\xbf\r\n", r"bad has 0 samples"),
    "only a header": (HEADER.encode() + b"\n", r"bad has 0 samples; at least 40"),
    "39 samples": (csv(CELLS[:39]), r"bad has 39 samples; at least 40"),
    "word": (_cell(20, b"hello"), r"bad:4: C7='hello' is not an id; write up to 32 hexadecimal"),
    "long id": (_cell(20, b"a" * 50_000), r"bad:4: C7='a{40}' of 50,000 characters is not an id"),
    "one label": (tsv([["0", *row[1:]] for row in CELLS]), r"bad has only one kind of label: all 60 samples have 0"),
    "UTF-16": (CSV.decode().encode("utf-16"), r"bad:1: the text is UTF-16.* save it as UTF-8"),
    "cut off gzip": (gzip.compress(CSV)[:-100], r"bad is a damaged or cut off gzip"),
    "damaged gzip": (gzip.compress(CSV)[:-8] + bytes(8), r"bad is a damaged or cut off gzip"),
    "no header": (CSV.split(b"\n", 1)[1], "bad looks like a table in CSV"),
    "swapped header": (CSV.replace(b"I3,I4", b"I4,I3", 1), r"bad:1: the header has 'I4' where I3 is expected"),
    "short header": (CSV.replace(b"I3,I4", b"I3", 1), r"bad:1: the header names 39 columns"),
    "another file": (b"\x89PNG\r\n\x1a\n\x00", "bad looks like a picture"),
    "blank lines": (HEADER.encode() + b"\n" * 10**6 + b"x", r"bad:2: the line has 1 column"),
}


@each("kind", BAD)
def test_a_damaged_file_is_refused_with_its_name_and_line(kind: str) -> None:
    raw, sentence = BAD[kind]
    with pytest.raises(BadFile, match=sentence):
        decode("bad", raw)


@examples(60)
@given(st.integers(0, len(CSV) - 1), st.binary(max_size=6), st.integers(0, 200))
def test_no_damage_ends_in_anything_but_samples_or_a_sentence(at: int, inserted: bytes, removed: int) -> None:
    try:
        file = decode("damaged", CSV[:at] + inserted + CSV[at + removed :])
    except BadFile as error:
        assert str(error).startswith("damaged") and "damaged cannot be read" not in str(error)
    else:
        assert np.isfinite(file.dense).all() and set(file.labels.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("path", ["/nowhere/at/all", str(Path(__file__).parent), "a\0b"])
def test_an_unreadable_path_is_refused_by_name(path: str) -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        formats.read_file(path)


KAGGLE = with_values(preset("optane-kaggle").scenario, {"data.batch_size": 16})
FILE = decode("made up", CSV)


def test_batches_are_the_samples_in_order_and_wrap_over_the_end_of_a_pass() -> None:
    origin = source(with_values(KAGGLE, {"data.digest": FILE.digest}), FILE)
    assert (origin.training_samples, origin.digest) == (40, FILE.digest)
    order = [n % 40 for n in range(48)]
    batches = [origin.batch(n) for n in range(3)]
    assert np.array_equal(np.concatenate([batch.dense for batch in batches]), FILE.dense[order])
    assert np.array_equal(np.concatenate([batch.labels for batch in batches]), FILE.labels[order])
    assert all(np.array_equal(batch.ids, origin.ids(n)) for n, batch in enumerate(batches))
    held = origin.held_out()
    assert np.array_equal(held.dense, FILE.dense[40:]) and np.array_equal(held.labels, FILE.labels[40:])


def test_equal_categories_share_a_row_of_their_table_and_others_rarely_do() -> None:
    model = {"model.num_embeddings": (10**9,), "model.num_tables": 52, "model.field_copies": 2, "model.interaction": "concat"}
    scenario = with_values(KAGGLE, {**model, "data.batch_size": 40})
    ids = source(scenario, FILE).ids(0).reshape(52, 40)
    for table in range(52):
        assert 10**9 * table <= ids[table].min() and ids[table].max() < 10**9 * (table + 1)
        texts = [row[14 + table % 26] for row in CELLS[:40]]
        assert len(set(ids[table].tolist())) == len(set(zip(texts, ids[table].tolist(), strict=True))) == len(set(texts))
    assert not np.array_equal(ids[0] % 10**9, ids[26] % 10**9)


def test_passes_count_training_samples_and_the_generator_ignores_them() -> None:
    scenario = with_values(KAGGLE, {"run.passes": 3, "run.batches": 5})
    assert num_batches(scenario, FILE) == 8  # 3 * 40 / 16, rounded up
    assert num_batches(scenario) == 5
    assert num_batches(with_values(scenario, {"run.passes": None}), FILE) == 5


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no file": (lambda: source(with_values(KAGGLE, {"data.digest": "ab" * 32})), "data.digest=abababababab.*no file is given"),
    "another": (lambda: source(with_values(KAGGLE, {"data.digest": "ab" * 32}), FILE), "made up is another file"),
    "dense": (lambda: source(with_values(KAGGLE, {"model.bottom_mlp": (12, 16)}), FILE), "set --set model.bottom_mlp=13-16;"),
    "pooling": (lambda: source(with_values(KAGGLE, {"model.pooling": (2,)}), FILE), "set --set model.pooling=1;"),
    "tables": (
        lambda: source(with_values(KAGGLE, {"model.num_tables": 25, "model.num_embeddings": (9,)}), FILE),
        "set --set model.num_tables=26 --set .*`python -m engine workload fit made up --toml FILE`",
    ),
}


@each("kind", REFUSED)
def test_a_file_that_does_not_suit_the_scenario_is_refused_by_its_knob(kind: str) -> None:
    ask, sentence = REFUSED[kind]
    with pytest.raises(BadInput, match=sentence):
        ask()


def test_samples_beyond_a_bound_are_kept_on_the_disk_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = tsv(CELLS) * 200
    whole = decode("whole", text)
    made = []
    real = samples.temporary_file
    monkeypatch.setattr(samples, "temporary_file", lambda: made.append(real()) or made[-1])
    monkeypatch.setattr(samples, "IN_MEMORY", 1000)
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 18)
    parts = decode("parts", text)
    assert len(made) == 3 and all(file.closed for file in made)
    for name in ("dense", "tokens", "labels"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)) and getattr(parts, name).flags.writeable
    assert np.array_equal(source(KAGGLE, whole).ids(3), source(KAGGLE, parts).ids(3))


def test_samples_that_fit_nowhere_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "temporary_file", partial(open, "/dev/full", "wb"))
    monkeypatch.setattr(samples, "IN_MEMORY", 1000)
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 18)
    with pytest.raises(BadFile, match=r"bad is too large.* TMPDIR"):
        decode("bad", tsv(CELLS) * 200)


GOOD = tsv(CELLS)
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {  # made by their test alone: together they take 600 MB
    "zeros": (lambda: bytes(10**8), r"bad:1: the line has NUL bytes.* is longer than"),
    "newlines": (lambda: b"\n" * 10**8, r"bad unpacks to more than 16 times its size"),
    "one line": (lambda: b"a" * 10**8, r"bad:1: 'a{40}' starts neither a tab-separated sample"),
    "tabs": (lambda: b"\t" * 10**8, r"bad:1: the line is longer than"),
    "one row": (lambda: GOOD[: GOOD.index(b"\n") + 1] * 500_000, r"bad unpacks to more than 16 times its size.*gunzip"),
    "long category": (lambda: GOOD + b"1" + b"\t" * 14 + b"a" * 10**7 + b"\t" * 25 + b"\n", r"bad:61: the line is longer than"),
}


@each("kind", BOMBS)
def test_a_bomb_is_refused_in_little_memory(kind: str) -> None:
    text, sentence = BOMBS[kind]
    packed = gzip.compress(text(), 1)
    tracemalloc.start()
    try:
        with pytest.raises(BadFile, match=sentence) as refused:
            decode("bad", packed)
        assert len(str(refused.value)) <= 300
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


@pytest.mark.parametrize(
    "make", (_pipe, _socket, Path.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path))
)
def test_what_is_no_regular_file_is_refused_and_never_waited_for(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "data")
    with pytest.raises(BadFile, match=r"data cannot be read: .*; give a "):
        formats.read_file(tmp_path / "data")


@pytest.mark.parametrize("change", (lambda path: path.write_bytes(GOOD * 2), lambda path: os.truncate(path, 9000)))
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data"
    path.write_bytes(GOOD)
    parse = text_table._parsed
    monkeypatch.setattr(text_table, "_parsed", lambda *given: (parse(*given), change(path))[0])
    with pytest.raises(BadFile, match="data changed while it was read"):
        formats.read_file(path)


@pytest.mark.slow
@each("size", (50, 7, 1000), few=1)
def test_blocks_of_any_size_give_the_same_samples(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "READ_NBYTES", size)
    for form, raw in FORMS.items():
        _check(decode(form, raw), CELLS)
    with pytest.raises(BadFile, match=r"bad:4: the line has 1 column"):
        decode("bad", BAD["blank line"][0])
