"""Are the types of other libraries' frames, as polars', read as what they hold, and guessed as a file's columns would be?"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine import api
from engine.api.data_files import data_file
from engine.workload.readers import formats

SIZE = 300
ITEMS = np.random.default_rng(2).choice(["apple", "pear", "fig"], SIZE).tolist()
PAIRS = [[f"{n % 7}", f"{n % 11}"] for n in range(SIZE)]
GAPS = [None if n % 5 == 0 else pair for n, pair in enumerate(PAIRS)]
BAGS = [pair * (n % 3) for n, pair in enumerate(PAIRS)]


def dictionary(values: Any, kind: Any, index: Any = None) -> Any:
    """Return categories whose values are of a type."""
    words = sorted(set(values))
    places = pa.array([words.index(value) for value in values], index or pa.uint32())
    return pa.DictionaryArray.from_arrays(places, pa.array(words, kind))


TEXTS: dict[str, Callable[[], Any]] = {
    "polars' String": lambda: pa.array(ITEMS, pa.string_view()),
    "views of bytes": lambda: pa.array([item.encode() for item in ITEMS], pa.binary_view()),
    "polars' Categorical": lambda: dictionary(ITEMS, pa.string_view()),
    "polars' Enum": lambda: dictionary(ITEMS, pa.large_string(), pa.uint8()),
    "a view that begins later": lambda: pa.array(["odd", *ITEMS], pa.string_view()).slice(1),
}
LISTS: dict[str, tuple[list[Any], Callable[[list[Any]], Any]]] = {
    "polars' Array": (PAIRS, lambda bags: pa.array(bags, pa.list_(pa.string(), 2))),
    "polars' Array with gaps": (GAPS, lambda bags: pa.array(bags, pa.list_(pa.string_view(), 2))),
    "polars' List": (BAGS, lambda bags: pa.array(bags, pa.large_list(pa.string_view()))),
    "views of lists": (GAPS, lambda bags: pa.array(bags, pa.list_view(pa.string()))),
    "large views of lists": (BAGS, lambda bags: pa.array(bags, pa.large_list_view(pa.string_view()))),
    "views that begin later": (BAGS, lambda bags: pa.array([["odd"], *bags], pa.list_view(pa.string())).slice(1)),
    "lists that begin later": (GAPS, lambda bags: pa.array([["o", "d"], *bags], pa.list_(pa.string_view(), 2)).slice(1)),
}


def table(**columns: Any) -> pa.Table:
    return pa.table({"label": pa.array([n % 2 for n in range(SIZE)]), **columns})


def written(frame: Any, mapping: Any = None) -> list[bytes]:
    """Return the bytes of a frame's file and its mapping."""
    with data_file(frame, mapping) as file:
        return [one.read_bytes() for one in sorted(file.parent.iterdir())]


def guess(frame: Any) -> str:
    with data_file(frame) as file:
        return Path(f"{file}.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_of_every_type_are_the_same_ids(kind: str) -> None:
    usual, frame = table(item=pa.array(ITEMS, pa.large_string())), table(item=TEXTS[kind]())
    assert guess(frame) == 'label = "label"\nids = ["item"]\n'
    with data_file(frame) as file, data_file(usual) as other:
        assert formats.read_file(file).tokens.tolist() == formats.read_file(other).tokens.tolist()
    if "bytes" not in kind:
        assert written(frame) == written(usual) == written(frame, {"label": "label", "ids": ["item"]})


@pytest.mark.parametrize("kind", LISTS)
def test_lists_of_every_type_are_the_same_ids(kind: str) -> None:
    bags, made = LISTS[kind]
    frame, usual = table(item=made(bags)), table(item=pa.array(bags, pa.large_list(pa.string())))
    pieces = pa.concat_tables([frame.slice(0, 77), frame.slice(77)])
    assert written(frame) == written(usual) == written(pieces)


def test_categories_in_lists_are_their_values() -> None:
    words = dictionary([one for pair in PAIRS for one in pair], pa.string_view())
    frame = table(item=pa.ListArray.from_arrays(pa.array(range(0, 2 * SIZE + 1, 2), pa.int32()), words))
    assert written(frame) == written(table(item=pa.array(PAIRS, pa.list_(pa.string()))))


def test_short_floats_and_truth_are_numbers() -> None:
    halves = [n % 9 / 2 for n in range(SIZE)]
    frame = table(item=ITEMS, price=pa.array(halves, pa.float16()), new=pa.array([n % 3 > 0 for n in range(SIZE)]))
    assert guess(frame) == 'label = "label"\nids = ["item"]\ndense = ["price", "new"]\n'
    assert written(frame)[0] == written(frame.set_column(2, "price", pa.array(halves, pa.float32())))[0]


def test_whole_numbers_and_times_are_what_they_would_be_in_a_file() -> None:
    numbers = range(SIZE)
    frame = table(
        user=[n % 50 for n in numbers],
        age=[20 + n % 60 for n in numbers],
        hour=[n % 24 for n in numbers],
        shop=[7] * SIZE,
        timestamp=[1_700_000_000 + n for n in numbers],
        rating=[n % 5 / 2 for n in numbers],
    )
    expected = 'label = "label"\nids = ["user", "hour", "shop"]\ndense = ["age", "rating"]\ntime = "timestamp"\n'
    assert guess(frame) == expected
    moments = pa.array([1_700_000_000 + n for n in numbers], pa.timestamp("s"))
    assert guess(table(item=ITEMS, seen=moments)) == 'label = "label"\nids = ["item"]\ntime = "seen"\n'
    counts = {"I1": [n % 7 for n in numbers], "C1": [n % 5 for n in numbers]}
    assert guess(table(**counts)) == 'label = "label"\nids = ["C1"]\ndense = ["I1"]\n'


def test_a_label_that_files_know_is_known_in_frames_too_after_those_of_before() -> None:
    plain = table(item=ITEMS)
    assert guess(plain.rename_columns(["purchased", "item"])) == 'label = "purchased"\nids = ["item"]\n'
    both = plain.append_column("liked", plain["label"])
    with pytest.warns(UserWarning, match="liked of data is left out, .* like those of the label 'label'"):
        assert guess(both) == 'label = "label"\nids = ["item"]\n'
    with pytest.raises(api.BadInput, match="purchased and liked could each be the label"):
        guess(both.rename_columns(["purchased", "item", "liked"]))


def test_a_frame_in_many_pieces_is_guessed_by_its_first_rows_and_loses_none() -> None:
    whole = table(item=pa.array(ITEMS, pa.string_view()))
    many = pa.concat_tables([whole] * 40)
    assert written(many.to_reader(max_chunksize=64)) == written(many)
    with data_file(many.to_reader(max_chunksize=64)) as file:
        assert formats.read_file(file).samples == 40 * SIZE


def test_a_table_answers_to_the_names_of_its_first_release():
    table = api.estimate("tiny", batch_size=[16, 32], data__seed=7)
    assert (
        table.how == table.fidelity == "estimate" and table.around == table.set_knobs and dict(table.around) == {"data.seed": 7}
    )
