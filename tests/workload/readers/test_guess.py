"""Is what an unknown table's columns mean guessed as a person who knows such files would say?"""

import tomllib

import numpy as np
import pytest

from engine.workload.readers.guess import Guess, guess_columns
from engine.workload.readers.mapping_text import as_toml

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
