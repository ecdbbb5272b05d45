"""Is what an unknown table's columns mean guessed as a person who knows such files would say?"""

import tomllib

import numpy as np
import pytest

from engine.workload.readers import guess
from engine.workload.readers.guess import Guess, guess_columns
from engine.workload.readers.mapping_text import as_toml
from tests.cases import each

N = 400
RANDOM = np.random.default_rng(4)


def texts(values: object) -> list[str]:
    return [str(value) for value in values]  # type: ignore[attr-defined]


IDS = texts(RANDOM.zipf(1.4, N) % 90)
ITEMS = [f"B{n % 57:08d}" for n in RANDOM.integers(0, 10**6, N)]
CLICKS = texts(RANDOM.integers(0, 2, N))
STARS = texts(RANDOM.choice([1.0, 2.0, 3.0, 4.0, 5.0], N, p=[0.05, 0.1, 0.2, 0.35, 0.3]))
SECONDS = texts(1_600_000_000 + RANDOM.integers(0, 10**7, N))
DATES = [f"2021-0{n % 9 + 1}-{n % 28 + 1:02d} {n % 24:02d}:15:00" for n in range(N)]
TITLES = [f"The story of number {n}, told again" for n in range(N)]
GENRES = ["|".join(sorted({("Action", "Comedy", "Drama", "Sci-Fi")[(n * k) % 4] for k in range(1, n % 3 + 2)})) for n in range(N)]
TAGS = [str([n % 7, n % 5]) for n in range(N)]
WORDS = ("view", "cart", "purchase")
EVENTS = [WORDS[int(n)] for n in RANDOM.choice(3, N, p=[0.8, 0.15, 0.05])]

TABLES: dict[str, tuple[dict[str, list[str]], dict[str, str]]] = {
    "ratings": (
        {"user_id": IDS, "item_id": ITEMS, "rating": STARS, "timestamp": SECONDS},
        {"user_id": "id", "item_id": "id", "rating": "label", "timestamp": "time"},
    ),
    "clicks": (
        {"click": CLICKS, "hour": SECONDS, "siteId": ITEMS, "price": texts(RANDOM.random(N)), "title": TITLES},
        {"click": "label", "hour": "time", "siteId": "id", "price": "number", "title": "text"},
    ),
    "events": (
        {"event_time": DATES, "event_type": EVENTS, "product_id": IDS, "user_session": ITEMS, "price": texts(RANDOM.random(N))},
        {"event_time": "time", "event_type": "label", "product_id": "id", "user_session": "id", "price": "number"},
    ),
    "lists": (
        {"user": IDS, "genres": GENRES, "history": TAGS, "is_click": CLICKS, "age": texts(RANDOM.integers(18, 80, N))},
        {"user": "id", "genres": "list", "history": "list", "is_click": "label", "age": "number"},
    ),
    "a trace": ({"user": IDS, "page": ITEMS, "country": ["de"] * N}, {"user": "id", "page": "id", "country": "constant"}),
    "hexadecimal": (
        {"y": CLICKS, "c1": [f"{int(n) * 2654435761 % 2**32:08x}" for n in IDS], "gender": CLICKS[::-1]},
        {"y": "label", "c1": "id", "gender": "id"},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_what_a_person_would_say(name):
    columns, wanted = TABLES[name]
    assert {one.name: one.role for one in guess_columns(columns)} == wanted


def test_rules_and_separators_are_guessed_too():
    found = {one.name: one for one in guess_columns({**TABLES["ratings"][0], **TABLES["lists"][0]}.copy())}
    assert found["genres"].separator == "|" and found["history"].separator == ","
    (stars,) = [one for one in guess_columns(TABLES["ratings"][0]) if one.role == "label"]
    assert stars.rule == ">= 4"
    (event,) = [one for one in guess_columns(TABLES["events"][0]) if one.role == "label"]
    assert event.rule == "== 'purchase'"


@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
def test_a_mapping_is_toml_whatever_the_columns_are_called(delimiter):
    names = ['a "quoted" name', "back\\slash", "tab\tname", "ünïcode", "plain"]
    text = as_toml([Guess(name, "id") for name in names], delimiter, names)
    found = tomllib.loads(text)
    assert found["ids"] == found["columns"] == names and found.get("delimiter", ",") == delimiter and "label" not in found


@pytest.mark.parametrize(
    ("name", "is_known"),
    [("label", True), ("user_id", True), ("rating", True), ("event_type", True), ("timestamp", True), ("foo", False)],
)
def test_a_known_name_is_of_any_role(name, is_known):
    assert guess.is_known_name(name) == is_known


def roles(**columns):
    return {one.name: one.role for one in guess_columns({name: cells.split() for name, cells in columns.items()})}


def test_cells_beyond_the_sample_say_nothing(monkeypatch):
    monkeypatch.setattr(guess, "SAMPLE", 3)
    assert roles(foo="1 2 3 0.5") == {"foo": "id"} and roles(foo="1 2 0.5") == {"foo": "number"}
    assert roles(rating="1 2 3 x", foo="a b c d")["rating"] == "label"
    assert roles(rating="1 2 x", foo="a b c")["rating"] != "label"


@each(
    ("columns", "found"),
    [
        ({"ts": "1 2", "day": "3 4", "hour": "5 6"}, {"ts": "time", "day": "text", "hour": "text"}),
        ({"label": "1 1"}, {"label": "constant"}),
        ({"label": "1 0"}, {"label": "label"}),
        ({"foo": "7 7"}, {"foo": "constant"}),
        ({"foo": "7 8"}, {"foo": "id"}),
        ({"foo": "2021-01-01 2021-01-02"}, {"foo": "time"}),
        ({"foo": "2021-01-01 x"}, {"foo": "id"}),
        ({"event": "a b"}, {"event": "label"}),
        ({"event": "a 7"}, {"event": "label"}),
        ({"event": "7 8"}, {"event": "id"}),
        ({"event": " ".join(f"e{n}" for n in range(20))}, {"event": "label"}),
        ({"event": " ".join(f"e{n}" for n in range(21))}, {"event": "id"}),
        ({"stars": "1 2"}, {"stars": "label"}),
        ({"stars": "1 1"}, {"stars": "constant"}),
        ({"stars": "1 x"}, {"stars": "id"}),
        # A label that is named like one but says no click keeps others from its place; a text does not.
        ({"label": "a b c", "foo": "0 1 1"}, {"label": "text", "foo": "id"}),
        ({"foo": "2021-01-01 2021-13-41", "bar": "0 1", "baz": "p q"}, {"foo": "text", "bar": "label", "baz": "id"}),
        # Of several columns of 0 and 1 the label is one at an end.
        ({"foo": "a b", "bar": "0 1", "baz": "1 0", "qux": "c d"}, {"foo": "id", "bar": "id", "baz": "id", "qux": "id"}),
        ({"foo": "a b", "bar": "0 1", "qux": "c d"}, {"foo": "id", "bar": "label", "qux": "id"}),
        ({"foo": "0 1", "bar": "0 1", "qux": "c d"}, {"foo": "label", "bar": "id", "qux": "id"}),
        ({"foo": "c d", "bar": "0 1", "qux": "1 0"}, {"foo": "id", "bar": "id", "qux": "label"}),
        ({"foo": "0 1", "bar": "c d", "qux": "1 0"}, {"foo": "label", "bar": "id", "qux": "id"}),
    ],
)
def test_few_cells_say_a_role_at_its_bounds(columns, found):
    assert roles(**columns) == found


@each(
    ("cells", "separator"),
    [
        (["[1,2]"], ","),
        (["[1,2]", "x"], ""),
        (["[1,2]", "[3]", "x"], ","),
        (["[,1]"], ","),
        (["[1;]"], ";"),
        (["[1 2]"], " "),
        (["a|b", "a|b"], "|"),
        (["a|b", "a|c"], ""),  # three different ones of four
        (["a|b", "a|b", "c", "d", "e", "f", "g", "h", "i"], "|"),
        (["a|b", "a|b", "c", "d", "e", "f", "g", "h", "i", "j"], ""),  # one cell in five is no list
        (["|a", "|a"], ""),
        (["x" * 40 + "|b"] * 2, "|"),
        (["x" * 41 + "|b"] * 2, ""),
        (["a b|c"] * 2, "|"),
        (["a b;c"] * 2, ""),
    ],
)
def test_a_separator_stands_between_ids_that_come_back(cells, separator):
    assert guess._separator(cells) == separator


@each(
    ("cells", "is_prose"),
    [
        (["a b", "c", "d"], True),
        (["a b", "c", "d", "e"], False),  # one cell in four has a blank
        (["a b", "c d", "a b", "c d"], False),  # half of the cells are different
        (["a b", "c d", "e f", "a b"], True),
        (["a b", "a b", "a b", "a b"], False),
        (["a", "b", "c"], False),
    ],
)
def test_prose_has_blanks_and_seldom_comes_back(cells, is_prose):
    assert guess._is_prose("foo", cells) == is_prose and not guess._is_prose("user_id", cells)


@each(("events", "rule"), [("x x y", "== 'y'"), ("x buy buy buy", "== 'buy'"), ("x click Purchase", "== 'Purchase'")])
def test_the_rarest_event_is_the_click_where_no_word_says_it(events, rule):
    assert guess._event_rule(events.split()) == rule


def test_a_named_label_has_the_rule_of_its_values():
    (found,) = guess_columns({"label": ["1", "2"]})
    assert (found.role, found.rule) == ("label", "== 2")
