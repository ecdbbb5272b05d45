"""Is one id one row however it is written, in text and in Parquet, and is a missing value, a blank, a list read by one rule?"""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from engine.errors import BadFile
from engine.workload.readers import blocks
from engine.workload.readers.formats import read_file
from engine.workload.readers.ids import MISSING_TOKEN, id_tokens
from tests.cases import each

COUNT = 240
SAME = ("12", "12 ", " 12", "12.0", "000012", "+12", "12.", "12.00", "0012.0 ")
APART = (
    "12",
    "-12",
    "120",
    "1.2",
    "12.5",
    "12a",
    "1 2",
    "",
    "0x12",
    "twelve",
    "1e2",
    "99999999999999999999",
    "99999999999999999998",
)


def texts(*cells: str | None) -> pa.Array:
    return pa.array(cells, "string")


def test_one_id_is_one_token_however_it_is_written():
    assert set(id_tokens(texts(*SAME), str).tolist()) == {12}
    assert len(set(id_tokens(texts(*APART), str).tolist())) == len(APART)
    assert len(set(id_tokens(texts("", " ", None, "\t"), str).tolist())) == 1
    assert (
        len(set(id_tokens(texts("099999999999999999999", "99999999999999999999.0", "99999999999999999999"), str).tolist())) == 1
    )
    assert id_tokens(texts("-0", "0", "00", "-0.0"), str).tolist() == [0] * 4


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=20))
def test_a_whole_number_is_itself_in_every_column_that_can_hold_it(values):
    wanted = np.array(values, np.int64).view(np.uint64).tolist()
    assert id_tokens(texts(*map(str, values)), str).tolist() == wanted
    assert id_tokens(pa.array(values, "int64"), str).tolist() == wanted
    assert id_tokens(texts(*map(str, values)).dictionary_encode(), str).tolist() == wanted
    assert id_tokens(pa.array([Decimal(value) for value in values], pa.decimal128(38, 2)), str).tolist() == wanted
    assert id_tokens(pa.array([str(value).encode() for value in values], "binary"), str).tolist() == wanted
    small = [value % 2**24 for value in values]
    assert id_tokens(pa.array(small, "float32"), str).tolist() == small == id_tokens(pa.array(small, "uint32"), str).tolist()


@each("kind", ["int8", "int64", "uint16", "uint64", "float32", "float64", "string", "large_string", "bool"])
def test_what_is_missing_is_no_id_of_any_other_cell(kind):
    values = {"string": ["-1", "0", "1"], "large_string": ["-1", "0", "1"], "bool": [True, False]}.get(kind, [0, 1, 2])
    values = [-1, 0, 1] if kind in ("int8", "int64", "float32", "float64") else values
    found = id_tokens(pa.array([*values, None], kind), str).tolist()
    assert len(set(found)) == len(values) + 1 and found[-1] == int(MISSING_TOKEN)


def test_floats_are_their_number_or_their_shortest_text():
    found = id_tokens(pa.array([1.0, 2.5, float("nan"), None, 1e300, -0.0, float("inf")], "float64"), str)
    assert found[0] == 1 and found[5] == 0 and found[2] == found[3] == MISSING_TOKEN
    assert found[1] == id_tokens(texts("2.5"), str)[0]
    assert len(set(found.tolist())) == 6


def test_large_unsigned_numbers_are_not_the_negative_ones_of_a_text():
    assert (
        id_tokens(pa.array([2**64 - 1, 2**63], "uint64"), str).tolist()
        == id_tokens(texts(str(2**64 - 1), str(2**63)), str).tolist()
    )
    assert id_tokens(pa.array([2**64 - 1], "uint64"), str)[0] != id_tokens(texts("-1"), str)[0]


def hash_of(content: bytes) -> int:
    """Return the FNV-1a hash of bytes."""
    word = 0xCBF29CE484222325
    for byte in content:
        word = (word ^ byte) * 0x100000001B3 % 2**64
    return word


NUMBERS = {"7": 7, "7.": 7, "7.00": 7, "+7": 7, "0900": 900, "-7": 2**64 - 7, "-0": 0, "00": 0, "9" * 18: 10**18 - 1}
NUMBERS |= {'"7"': 7, '" 7 "': 7, f"0{'9' * 18}.0": 10**18 - 1}
WORDS = (
    "7.01",
    ".0",
    "-",
    "+",
    "/",
    ":",
    "7:",
    '"',
    '"7',
    '7"',
    "9" * 20,
    f"-{'9' * 20}",
    "--7",
    "7-",
    "1e5",
    "",
    "\x7f",
    "\xe9",
)


def test_a_text_is_the_number_that_it_spells_or_its_hash():
    assert id_tokens(texts(*NUMBERS), str).tolist() == [*NUMBERS.values()]
    assert id_tokens(texts(*WORDS), str).tolist() == [hash_of(word.encode()) for word in WORDS]
    assert id_tokens(texts("\u00a07\u2003"), str).tolist() == [7], "Unicode has more blanks"
    assert id_tokens(texts(None, None, '""', ' "" '), str).tolist() == [hash_of(b"")] * 4
    assert id_tokens(texts("5", "6", "7", "8").slice(1, 2), str).tolist() == [6, 7]


def test_a_number_beyond_63_bits_is_its_text():
    below = float(np.nextafter(2.0**63, 0))
    found = id_tokens(pa.array([below, 2.0**63, -below, -(2.0**63)], "float64"), str).tolist()
    assert found == [int(below), hash_of(b"9.223372036854776e+18"), 2**64 - int(below), hash_of(b"-9.223372036854776e+18")]
    found = id_tokens(pa.array([2**63 - 1, 2**63, 5], "uint64"), str).tolist()
    assert found == [2**63 - 1, hash_of(str(2**63).encode()), 5]
    assert id_tokens(pa.array([True, False]), str).tolist() == [1, 0]


BYTE_CELLS = {
    b" 7": 7,
    b"7~ ": hash_of(b"7~"),
    b"7\x7f ": hash_of(b"7\x7f "),
    b"\x1f7 ": hash_of(b"\x1f7 "),
    b"\xe9 ": hash_of(b"\xe9 "),
}


def test_bytes_are_text_where_all_of_them_are_printable():
    assert id_tokens(pa.array([*BYTE_CELLS], "binary"), str).tolist() == [*BYTE_CELLS.values()]
    assert id_tokens(pa.array([*BYTE_CELLS], "large_binary"), str).tolist() == [*BYTE_CELLS.values()]
    assert id_tokens(pa.array([b" 7"], pa.binary(2)), str).tolist() == [hash_of(b" 7")]


def test_hexadecimal_ids_have_their_digits_and_no_more():
    assert id_tokens(texts("0Af9", ""), str, 4).tolist() == [hash_of(b"0af9"), hash_of(b"")]
    for cells in (("00000",), ("1", "00000"), ("g",), ("1", "@"), ("`",), ("/",), (":",), ("G",)):
        with pytest.raises(BadFile, match=rf"^{len(cells) - 1}={cells[-1]!r} is not an id; write up to 4 hexadecimal"):
            id_tokens(texts(*cells), str, 4)
    for letters, words in ((40, "' is not an id"), (41, "' of 41 characters is not an id")):
        with pytest.raises(BadFile, match=f"^0='{'0' * 40}{words}"):
            id_tokens(texts("0" * letters), str, 32)


def mapped(path: Path, text: str) -> Path:
    Path(f"{path}.toml").write_text(text)
    return path


WRITINGS = [str, lambda n: f" {n} ", lambda n: f"{n}.0", lambda n: f"{n:06d}", lambda n: f"+{n}"]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
@pytest.mark.parametrize("role", ["id", "dense", "label", "time", "as they are"])
def test_blanks_and_ways_to_write_a_number_change_nothing_in_any_role(tmp_path, delimiter, role):
    random = np.random.default_rng(3)
    numbers = random.integers(1, 2, COUNT) if role == "label" else random.integers(0, 50, COUNT)
    numbers[::2] = 0
    written = [WRITINGS[int(random.integers(0, 5))](int(number)) for number in numbers]
    mark = "\\t" if delimiter == "\t" else delimiter
    keys = {
        "id": 'label = "click"\nids = ["x"]',
        "dense": 'label = "click"\nids = ["key"]\ndense = ["x"]',
        "label": 'label = "x"\nids = ["key"]',
        "time": 'label = "click"\nids = ["key"]\ntime = "x"',
        "as they are": 'label = "click"\nids = ["x"]\nrows = "as they are"',
    }[role]
    found = []
    for name, cells in (("plain", [str(number) for number in numbers]), ("odd", written)):
        lines = [delimiter.join((str(row % 2), cells[row], f"k{row % 9}")) for row in range(COUNT)]
        path = mapped(tmp_path / f"{name}.csv", f'{keys}\ndelimiter = "{mark}"\n')
        path.write_text("\n".join([delimiter.join(("click", "x", "key")), *lines]) + "\n")
        found.append(read_file(path))
    plain, odd = found
    assert odd.tokens.tolist() == plain.tokens.tolist() and odd.labels.tolist() == plain.labels.tolist()
    assert odd.dense.tolist() == plain.dense.tolist()


def lists(path: Path, cells: list[str], separator: str, more: str = "") -> Path:
    pd.DataFrame({"click": [n % 2 for n in range(len(cells))], "tags": cells}).to_csv(path, index=False, sep=";")
    return mapped(path, f'label = "click"\nids = ["tags"]\ndelimiter = ";"\nlists = "{separator}"\n{more}')


LISTS = [[n % 7, n * 5 % 12, n * 11 % 12][: n % 4] for n in range(COUNT)]
SYNTAX = {
    "bare": ("|", lambda values: "|".join(map(str, values))),
    "an empty piece at the end": ("|", lambda values: "".join(f"{value}|" for value in values)),
    "empty pieces everywhere": ("|", lambda values: "|" + "||".join(map(str, values)) + "|"),
    "Python's list": (",", str),
    "Python's list of texts": (",", lambda values: str(list(map(str, values)))),
    "JSON": (",", lambda values: "[" + ",".join(f'"{value}"' for value in values) + "]"),
    "a tuple": (",", lambda values: str(tuple(values))),
    "a set": (",", lambda values: "{" + ", ".join(map(str, values)) + "}"),
    "numpy's": (" ", lambda values: "[" + "  ".join(map(str, values)) + " ]"),
}


@pytest.mark.parametrize("syntax", SYNTAX)
@pytest.mark.parametrize("block", [1 << 22, 300])
def test_lists_in_cells_have_the_ids_that_were_written(tmp_path, monkeypatch, syntax, block):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    separator, write = SYNTAX[syntax]
    found = read_file(lists(tmp_path / "tags.csv", [write(values) for values in LISTS], separator))
    assert found.lookups(0, 0, COUNT).tolist() == [value for values in LISTS for value in values]
    assert found.bag_lengths(0).tolist() == list(map(len, LISTS)) and found.distinct == (
        len({value for values in LISTS for value in values}),
    )


@pytest.mark.parametrize("bare", [1, 2, 5, 300])
def test_brackets_around_any_part_of_the_cells_are_syntax(bare, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "READ_NBYTES", 300)
    cells = [str(values) if n % bare else ", ".join(map(str, values)) for n, values in enumerate(LISTS)]
    wanted = read_file(lists(tmp_path / "all.csv", [str(values) for values in LISTS], ","))
    found = read_file(lists(tmp_path / "tags.csv", cells, ","))
    assert found.tokens.tolist() == wanted.tokens.tolist() and found.pooling == wanted.pooling


OTHER_SYNTAX = {
    "array([1, 2])": ",",
    "frozenset({1, 2})": ",",
    "[1],[2]": ",",
    "[(1, 2), (3, 4)]": ",",
    '["v1, w1", "v2"]': ",",
    "[1, 2]": " ",
    "[1; 2]": ",",
}


@pytest.mark.parametrize("cell", OTHER_SYNTAX)
def test_a_list_in_a_syntax_of_its_own_is_refused_by_its_line(cell, tmp_path):
    cells = [cell if n == 70 else "7" for n in range(len(LISTS))]
    if cell == "[1; 2]":
        cells[70] = "[1; 2;]"
    with pytest.raises(BadFile, match=r"tags\.csv:72: tags="):
        read_file(lists(tmp_path / "tags.csv", cells, OTHER_SYNTAX[cell]))


def column(kind, values):
    """Return the distinct ids of a Parquet column of some values."""
    return lambda path: parquet.write_table(
        pa.table({"label": [n % 2 for n in range(len(values))], "id": pa.array(values, kind)}), path
    )


BYTES = {
    "binary of 8": (pa.binary(8), [(300 * n).to_bytes(8, "big") for n in range(100)], 100),
    "little binary of 8": (pa.binary(8), [(n + 9).to_bytes(8, "little") for n in range(100)], 100),
    "binary": (pa.binary(), [(n + 9).to_bytes(3, "little") for n in range(100)], 100),
    "binary that is text": (pa.binary(), [f" {n % 10} ".encode() if n % 2 else str(n % 10).encode() for n in range(100)], 10),
}


@pytest.mark.parametrize("what", BYTES)
def test_bytes_that_are_no_text_are_ids_as_they_are(what, tmp_path):
    kind, values, distinct = BYTES[what]
    path = tmp_path / "own.parquet"
    column(kind, values)(path)
    Path(f"{path}.toml").write_text('label = "label"\nids = "id"\n')
    assert read_file(path).distinct == (distinct,)


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u3000", '"', ' "', "\t "])
@pytest.mark.parametrize("quotes", ["", "none"])
def test_blanks_and_quotation_marks_around_an_id_are_no_part_of_it(blank, quotes, tmp_path):
    path = tmp_path / "own.csv"
    tail = blank.strip(" \t") if '"' in blank else blank
    rows = "".join(f"{n % 2},{blank if n % 3 else ''}käse {n % 20}{tail if n % 3 else ''}\n" for n in range(120))
    path.write_text(f"label,id\n{rows}")
    keys = f'quotes = "{quotes}"\n' if quotes else ""
    Path(f"{path}.toml").write_text(f'label = "label"\nids = "id"\n{keys}')
    assert read_file(path).distinct == (20,)


def test_an_id_or_a_label_keeps_each_letter_beside_dense_features(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("y,a,x\n" + "".join(f"{('1', '0', '01', '1.0')[n % 4]},{1700000000000000000 + n},1\n" for n in range(100)))
    Path(f"{path}.toml").write_text('label = "y == \'1\'"\nids = ["a"]\ndense = ["x"]\n')
    found = read_file(path)
    assert found.distinct == (100,) and found.labels.sum() == 25


LABELS = {
    "bool": (pa.bool_(), [n % 4 == 0 for n in range(80)], ["True", "true"]),
    "double": (pa.float64(), [float(n % 4 == 0) for n in range(80)], ["1.0", "1"]),
    "int": (pa.int8(), [int(n % 4 == 0) for n in range(80)], ["1", "01"]),
    "text": (pa.string(), ["yes" if n % 4 == 0 else "no" for n in range(80)], ["yes"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_a_rule_of_a_text_is_kept_by_values_however_they_are_written(kind, tmp_path):
    of_arrow, values, texts = LABELS[kind]
    path = tmp_path / "own.parquet"
    parquet.write_table(pa.table({"y": pa.array(values, of_arrow), "id": list(range(80))}), path)
    for text in texts:
        Path(f"{path}.toml").write_text(f"label = \"y == '{text}'\"\nids = 'id'\n")
        assert read_file(path).labels.sum() == 20


START = datetime(2021, 1, 25, 22, 0, tzinfo=UTC)
INSTANTS = [START + timedelta(minutes=int(n) * 37) for n in np.random.default_rng(8).permutation(COUNT)]
EAST = timezone(timedelta(hours=2))
TIMES = {
    "ISO": lambda at: at.strftime("%Y-%m-%d %H:%M:%S"),
    "Z": lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "an offset": lambda at: at.astimezone(EAST).isoformat(),
    "offsets that differ": lambda at: at.astimezone(timezone(timedelta(hours=at.minute % 5 - 2))).isoformat(),
    "milliseconds": lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.250Z"),
    "day/month/year": lambda at: at.strftime("%d/%m/%Y %H:%M"),
    "month/day/year": lambda at: at.strftime("%m/%d/%Y %H:%M:%S"),
    "day.month.year": lambda at: at.strftime("%d.%m.%Y %H:%M"),
    "a month's name": lambda at: at.strftime("%d %b %Y %H:%M"),
    "a clock of twelve hours": lambda at: at.strftime("%m/%d/%Y %I:%M %p"),
    "a blank behind": lambda at: at.strftime("%Y-%m-%d %H:%M:%S "),
    "seconds and a blank": lambda at: f"{at.timestamp():.0f} ",
}


def clicks_at(path: Path, times: list[str], more: str = "") -> Path:
    frame = pd.DataFrame({"click": [n % 2 for n in range(len(times))], "user": range(len(times)), "at": times})
    frame.to_csv(path, index=False)
    return mapped(path, f'label = "click"\nids = ["user"]\ntime = "at"\n{more}')


@pytest.mark.parametrize("writing", TIMES)
@pytest.mark.parametrize("block", [1 << 22, 2000])
def test_times_order_samples_however_they_are_written(tmp_path, monkeypatch, writing, block):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    found = read_file(clicks_at(tmp_path / "log.csv", [TIMES[writing](at) for at in INSTANTS]))
    assert found.tokens[:, 0].tolist() == sorted(range(COUNT), key=INSTANTS.__getitem__)


def test_a_day_that_could_be_a_month_is_refused_until_the_mapping_says_which(tmp_path):
    times = [f"{n % 12 + 1:02d}/{n // 12 % 12 + 1:02d}/2020" for n in range(144)]
    with pytest.raises(BadFile, match=r"may be %d/%m/%Y or %m/%d/%Y; choose one in the mapping: time_format = \"%d/%m/%Y\""):
        read_file(clicks_at(tmp_path / "log.csv", times))
    for written in ("%d/%m/%Y", "%m/%d/%Y"):
        found = read_file(clicks_at(tmp_path / "log.csv", times, f'time_format = "{written}"\n'))
        assert found.tokens[:, 0].tolist() == sorted(range(144), key=lambda n: datetime.strptime(times[n], written))


@pytest.mark.parametrize("bad", ["yesterday", "32/01/2020", "2020-13-01"])
def test_what_is_no_time_is_refused_by_its_line(tmp_path, bad):
    times = [TIMES["ISO"](at) for at in INSTANTS]
    with pytest.raises(BadFile, match=r"log\.csv:102: at="):
        read_file(clicks_at(tmp_path / "log.csv", [*times[:100], bad, *times[101:]]))


ROLES = ("id", "dense", "label", "time")
COLUMNS = {
    "int64": pa.array(range(COUNT), "int64"),
    "uint64": pa.array([2**63 + n for n in range(COUNT)], "uint64"),
    "float16": pa.array(np.arange(COUNT, dtype=np.float16)),
    "bool": pa.array([n % 2 == 0 for n in range(COUNT)]),
    "decimal": pa.array([Decimal(n) / 4 for n in range(COUNT)], pa.decimal128(12, 2)),
    "dictionary": pa.array([f"d{n % 5}" for n in range(COUNT)]).dictionary_encode(),
    "dictionary of numbers": pa.array([n % 5 for n in range(COUNT)]).dictionary_encode(),
    "string_view": pa.array([f"d{n % 5}" for n in range(COUNT)], pa.string_view()),
    "binary": pa.array([b"%d" % n for n in range(COUNT)], "binary"),
    "fixed binary": pa.array([b"%04d" % n for n in range(COUNT)], pa.binary(4)),
    "date32": pa.array([n for n in range(COUNT)], "int32").cast("date32"),
    "timestamp[ns]": pa.array([n * 10**15 for n in range(COUNT)], "timestamp[ns]"),
    "timestamp[s, UTC]": pa.array(range(COUNT), pa.timestamp("s", "UTC")),
    "time64": pa.array(range(COUNT), pa.time64("us")),
    "duration": pa.array(range(COUNT), pa.duration("s")),
    "null": pa.nulls(COUNT),
    "struct": pa.array([{"a": n} for n in range(COUNT)]),
    "map": pa.array([[(n, n)] for n in range(COUNT)], pa.map_("int64", "int64")),
    "nested list": pa.array([[[n]] for n in range(COUNT)]),
    "list of texts": pa.array([[f"a{n}", "b"] for n in range(COUNT)]),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("role", ROLES)
def test_each_kind_of_parquet_column_is_read_right_or_refused_by_its_name(tmp_path, kind, role):
    column = COLUMNS[kind]
    table = pa.table({"click": [n % 2 for n in range(COUNT)], "user": range(COUNT), "x": column})
    parquet.write_table(table, tmp_path / "log.parquet")
    names = {"id": ("click", "x", ""), "dense": ("click", "user", 'dense = ["x"]'), "label": ("x", "user", "")}
    label, key, more = names.get(role, ("click", "user", 'time = "x"'))
    path = mapped(tmp_path / "log.parquet", f'label = "{label}"\nids = ["{key}"]\n{more}\n')
    try:
        found = read_file(path)
    except BadFile as refused:
        assert "x" in str(refused) and "damaged" not in str(refused), refused
        return
    values = column.to_pylist()
    if role == "id" and kind != "list of texts":
        wanted = pd.factorize(pd.Series([str(value) for value in values]))[0]
        assert pd.factorize(found.lookups(0, 0, COUNT))[0].tolist() == wanted.tolist()
    if role == "dense":
        assert np.expm1(found.dense[:, 0]) == pytest.approx(np.array([float(_number(value)) for value in values]), rel=1e-3)
    if role == "label":
        assert found.labels.tolist() == [float(value) for value in values]
    if role == "time":
        assert found.tokens[:, 0].tolist() == sorted(
            range(COUNT), key=lambda row: _number(values[row]) if kind == "binary" else values[row]
        )


def _number(value: object) -> object:
    if isinstance(value, bytes):
        return float(value)
    return 0 if value is None else value


@pytest.mark.parametrize("key", ["label = 'rating >= 3'", "ids = ['movieId']", "dense = ['age']", "time = ''", "rows = 'hashed'"])
def test_keys_beside_a_format_lie_over_its_layout(tmp_path, key):
    frame = pd.DataFrame(
        {"userId": range(COUNT), "movieId": [n % 31 for n in range(COUNT)], "rating": [n % 5 + 1.0 for n in range(COUNT)]}
    )
    frame["timestamp"], frame["age"] = range(COUNT, 0, -1), 30
    frame.to_csv(tmp_path / "ratings.csv", index=False)
    found = read_file(mapped(tmp_path / "ratings.csv", f'format = "movielens"\n{key}\n'))
    name = key.split(" ")[0]
    assert (found.tables == 1) == (name == "ids") and (found.tokens[0, 0] == 0) == (name == "time")
    assert found.labels.mean() == pytest.approx(0.6 if name == "label" else 0.4) and found.where_they_fit == (name != "rows")
    assert bool(found.dense.any()) == (name == "dense")


@pytest.mark.parametrize("key", ['delimiter = ","', 'quotes = "none"', 'columns = ["click", "user"]', 'lists = "|"'])
def test_a_key_that_would_do_nothing_in_parquet_is_refused(tmp_path, key):
    parquet.write_table(pa.table({"click": [n % 2 for n in range(COUNT)], "user": range(COUNT)}), tmp_path / "log.parquet")
    with pytest.raises(BadFile, match=rf"{key.split(' ')[0]}.? has no effect"):
        read_file(mapped(tmp_path / "log.parquet", f'label = "click"\nids = ["user"]\n{key}\n'))


def test_a_rule_that_matches_nothing_says_which_values_the_column_has(tmp_path):
    lines = [f"{('view', 'buy')[n % 2]},{n}" for n in range(COUNT)]
    path = mapped(tmp_path / "log.csv", "label = \"event == 'purchase'\"\nids = ['user']\n")
    path.write_text("\n".join(["event,user", *lines]) + "\n")
    with pytest.raises(BadFile, match=r"the label's column has 'buy', 'view': correct the rule"):
        read_file(path)


def test_a_mapping_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["click,user", *(f"{n % 2},{n}" for n in range(COUNT))]))
    Path(f"{path}.toml").write_bytes(b"\xef\xbb\xbf" + b'label = "click"\nids = ["user"]\n')
    assert read_file(path).samples == COUNT


def test_a_file_without_labels_is_fitted_and_not_trained_on(tmp_path):
    path = mapped(tmp_path / "trace.csv", 'ids = ["user"]\n')
    path.write_text("\n".join(["user", *(f"{n}" for n in range(COUNT))]))
    with pytest.raises(BadFile, match="names no label; without one a file can only be fitted and counted"):
        read_file(path)
    assert read_file(path, labels=False).tokens[:, 0].tolist() == list(range(COUNT))
