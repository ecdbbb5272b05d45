"""Is a part's file taken at each limit of its numbers, words and length, and refused one step beyond?"""

import zlib
from base64 import urlsafe_b64encode
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from engine.core.part_files import carried, curves, folder, known, tables
from engine.core.part_files.canonical import canonical, digest
from engine.core.part_files.known import OwnPart
from engine.core.part_files.plausible import doubts, shifted_unit
from engine.core.part_files.tables import Quantity, check_words, read_constant
from engine.errors import BadFile, BadInput
from tests.cases import each

SOURCED = {"confidence": "measured", "source": "a test"}


def constant(unit: str = "W", **numbers: Any) -> dict[str, Any]:
    return {"value": 5, "low": 5, "high": 5, "unit": unit, **SOURCED, **numbers}


RATE, SHARE, LANES = Quantity("rate", "W"), Quantity("share", "of peak", zero=True), Quantity("lanes", "lanes")
CONSTANTS: list[tuple[Quantity, dict[str, Any], str]] = [
    (RATE, constant(), ""),
    (RATE, constant(low=4, high=6), ""),
    (RATE, constant(low=5.1, high=6), "outside its range"),
    (RATE, constant(low=4, high=4.9), "outside its range"),
    (RATE, constant(high=1e12), ""),
    (RATE, constant(high=1.1e12), "write a number above 0 and up to 1,000,000,000,000"),
    (RATE, constant(low=0), "write a number above 0"),
    (RATE, constant(low=-1), "write a number above 0"),
    (RATE, constant(low=True), "write a number above 0"),
    (RATE, constant(low="4"), "write a number above 0"),
    (SHARE, constant("of peak", value=0, low=0, high=1), ""),
    (SHARE, constant("of peak", value=0, low=0, high=1.01), "write a share of peak, from 0 to 1: 0.0101 for 1.01 %"),
    (SHARE, constant("of peak", value=0, low=0, high=100), "to 1: 1 for 100 %"),
    (SHARE, constant("of peak", value=0, low=0, high=101), "from 0 to 1."),
    (LANES, constant("lanes", value=1, low=1, high=1), ""),
    (LANES, constant("lanes", value=1, low=0.9, high=1), "write a number from 1"),
]  # fmt: skip


@each(("quantity", "table", "words"), CONSTANTS)
def test_a_constant_has_numbers_within_its_limits(quantity: Quantity, table: dict[str, Any], words: str) -> None:
    if words:
        with pytest.raises(BadFile) as refused:
            read_constant("own.toml", quantity, table)
        assert words in str(refused.value)
    else:
        found = read_constant("own.toml", quantity, table)
        assert (found.value, found.low, found.high) == tuple(table[word] for word in ("value", "low", "high"))


@each(
    ("year", "others", "words"),
    [
        (2000, {}, ""),
        (2100, {}, ""),
        (1999, {}, "of the year '1999'; write a whole number from 2000 to 2100"),
        (2101, {}, "of the year '2101'"),
        ("2024", {}, "of the year '2024'"),
        (2024, {"2000": {}, "2100": {}}, ""),
        (2024, {"1999": {}}, "of the year '1999'"),
        (2024, {"x": {}}, "of the year 'x'"),
        (2024, {"2024": {}}, "twice"),
    ],
)
def test_a_price_is_of_years_that_could_be(year: Any, others: dict[str, Any], words: str) -> None:
    price = Quantity("price", "USD")
    table = {**constant("USD"), "year": year, "years": {name: {"value": 4, "low": 4, "high": 4, **SOURCED} for name in others}}
    if words:
        with pytest.raises(BadFile) as refused:
            read_constant("own.toml", price, table)
        assert words in str(refused.value)
    else:
        assert read_constant("own.toml", price, table).year == year


@each(
    ("words", "is_read"),
    [(["a"], True), (["a", "b"], True), (["a", "a"], False), ([], False), ("a", False), (["a", 5], False), (["a", "b c"], False),
     (["a", ["b"]], False), (["c"], False), (["a" * 41], False)],
)  # fmt: skip
def test_a_list_has_different_words_that_are_known(words: Any, is_read: bool) -> None:
    if is_read:
        check_words("own.toml", "key", words, ("a", "b"))
    else:
        with pytest.raises(BadFile):
            check_words("own.toml", "key", words, ("a", "b"))


def test_a_word_has_40_letters_at_most() -> None:
    check_words("own.toml", "key", ["a" * 40], ())
    with pytest.raises(BadFile):
        check_words("own.toml", "key", ["a" * 41], ())
    assert tables.checked_line("own.toml", "key", "x" * 300) == "x" * 300
    for line in ("x" * 301, "", 5, "x\n"):
        with pytest.raises(BadFile):
            tables.checked_line("own.toml", "key", line)


CURVES: list[tuple[list[Any], list[Any], str]] = [
    ([0.1, 0.2], [100, 100], ""),
    ([0, 1], [100, 100], ""),
    ([0.1, 1.1], [100, 100], "each from 0 to 1"),
    ([-0.1, 0.2], [100, 100], "each from 0 to 1"),
    ([0.1], [100], "two numbers or more"),
    ([0.1, True], [100, 100], "two numbers or more"),
    ([0.1, 0.2], [100, "100"], "two numbers or more"),
    ([0.1, 0.2, 0.3], [100, 100], "gives 3 loads and 2 latencies"),
    ([0.2, 0.2], [100, 200], "that do not rise"),
    ([0.2, 0.1], [100, 300], "that do not rise"),
    ([0.1, 0.3, 0.2], [100, 100, 300], "that do not rise"),
    ([0.1, 0.2], [0, 100], "that begin at 0"),
    ([0.25, 0.5], [100, 51], ""),
    ([0.25, 0.5], [100, 50], "has fewer accesses in flight"),
    ([0.1, 0.2, 0.25], [100, 100, 80], "has fewer accesses in flight"),
]


@each(("loads", "latencies", "words"), CURVES)
def test_a_curve_rises_between_its_points(loads: list[Any], latencies: list[Any], words: str) -> None:
    table = {"loads": loads, "latencies": latencies, "unit": "ns", **SOURCED}
    if words:
        with pytest.raises(BadFile) as refused:
            curves.curve("own.toml", table)
        assert words in str(refused.value)
    else:
        assert curves.curve("own.toml", table).loads == tuple(map(float, loads))


RANGE = [{"rate": constant(low=2, value=5, high=10)}]


@each(
    ("value", "words"),
    [
        (300, ""),
        (300.1, "30.0 times above the largest"),
        (2 / 30, ""),
        (0.066, "30.3 times below the least"),
        (0, ""),
        (300_000, "is it in mW?"),
        (300_100, "is it in uW?"),
        (2 / 31_000, "is it in MW?"),
    ],
)
def test_a_value_is_doubted_from_thirty_times_outside_of_the_catalogue(value: float, words: str) -> None:
    content = {"rate": constant(value=value)}
    found = list(doubts("own.toml", "gpu", [RATE], content, RANGE))
    assert words in "".join(found) and bool(found) == bool(words)


UNITS = {
    ("GB/s", -1): "MB/s",
    ("GB/s", -3): "B/s",
    ("GB/s", -4): "",
    ("B", -1): "",
    ("TB", 1): "PB",
    ("PB", 1): "",
    ("ns", -2): "fs",
    ("ns", -3): "",
    ("W", -1): "mW",
    ("TFLOPS", -4): "FLOPS",
    ("TFLOPS", -5): "",
    ("lanes", 1): "",
    ("USD/GB", 1): "",
    ("xB", 1): "",
}


@each("unit", UNITS)
def test_a_unit_is_shifted_within_its_prefixes(unit: tuple[str, int]) -> None:
    assert shifted_unit(*unit) == UNITS[unit]


def test_a_canonical_text_is_the_same_for_equal_numbers() -> None:
    assert canonical({"a": 48.0, "b": 0.5, "c": 2.0**53 - 1, "d": 2.0**53}) == (
        "a = 48\nb = 0.5\nc = 9007199254740991\nd = 9007199254740992.0\n"
    )
    letters = "".join(sorted("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
    assert canonical({letters: 1}) == f"{letters} = 1\n"
    assert canonical({"": 1, "a b": 2}) == '"" = 1\n"a b" = 2\n'


def packed(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")


TEXT = "title = 1\n"
WHOLE = zlib.compress(TEXT.encode())


@each(
    ("content", "longest", "words"),
    [
        (WHOLE, len(TEXT), ""),
        (WHOLE, len(TEXT) - 1, "is longer than"),
        (WHOLE[:-1], len(TEXT), "is damaged"),
        (WHOLE + b"x", len(TEXT), "is damaged"),
        (b"no zlib", len(TEXT), "is damaged"),
    ],
)
def test_a_part_of_a_link_is_whole(content: bytes, longest: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carried, "MAX_TEXT_LENGTH", longest)
    text = f"gpu:own:{digest(TEXT)}:{packed(content)}"
    if words:
        with pytest.raises(BadInput, match=words):
            carried.read_part(text, ("gpu",))
    else:
        part, found = carried.read_part(text, ("gpu",))
        assert (part.kind, part.name, part.text, found) == ("gpu", "own", TEXT, {"title": 1})
    with pytest.raises(BadInput, match="is not a part"):
        carried.read_part(text, ("host",))
    with pytest.raises(BadInput, match="is not a part"):
        carried.read_part("gpu:own", ("gpu",))


@each(
    ("content", "words"),
    [({"gpu": "h100"}, ""), ({"gpu": 5}, ""), ({"other": "own~0"}, ""), ({"gpu": "own~0"}, "which does not stand before it")],
)
def test_a_part_of_a_link_names_parts_that_stand_before_it(content: dict[str, Any], words: str) -> None:
    if words:
        with pytest.raises(BadInput, match=words):
            carried._named_parts("The part", content, ("gpu",))
    else:
        assert carried._named_parts("The part", content, ("gpu",)) == ()


def own_part(name: str) -> OwnPart:
    return OwnPart("gpu", name, "0" * 16, "", "", ())


def test_parts_are_known_up_to_their_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_parts_by_key", OrderedDict())
    monkeypatch.setattr(known, "MAX_KNOWN_PARTS", 2)
    parts = [own_part(name) for name in "abc"]
    known.add_parts(parts[:2])
    assert [known.find_part(("gpu",), part.reference) for part in parts] == [*parts[:2], None]
    known.add_parts(parts[2:])
    assert [known.find_part(("gpu",), part.reference) for part in parts] == [None, *parts[1:]]
    assert known.find_part(("gpu",), None) is known.find_part(("gpu",), "b") is None


@each("excess", [0, 1])
def test_a_folder_has_its_most_files(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpu").mkdir(exist_ok=True)
    for name in "ab":
        (tmp_path / "gpu" / f"{name}.toml").touch()
    monkeypatch.setattr(folder, "MAX_FILES", 2 - excess)
    files, refusals = folder._files(tmp_path, ("gpu",))
    assert len(files) == (0 if excess else 2) and len(refusals) == excess


def test_a_file_beside_folders_of_kinds_is_told(tmp_path: Path) -> None:
    for name in ("gpu", "host.toml"):
        (tmp_path / name).mkdir()
    for name in ("own.toml", "notes.txt", "gpu/own.toml"):
        (tmp_path / name).touch()
    files, refusals = folder._files(tmp_path, ("gpu",))
    assert [*files] == [("gpu", "own")] and len(refusals) == 1 and "own.toml is not inside a folder" in str(refusals[0])
