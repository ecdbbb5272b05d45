"""Are the samples of a file all there, in order, and judged at the bounds of their numbers?"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadFile
from engine.workload.readers import numbering, samples, samples_from_columns
from engine.workload.readers.formats import read_file
from engine.workload.readers.numbering import IdIndex, drop_largest
from engine.workload.readers.recording import check_samples, copies_note, held_out_count
from engine.workload.readers.samples import Samples, max_nbytes
from engine.workload.readers.time_keys import MOST_EXACT, TimeKeys, float_keys
from tests.cases import each


def singles(*labels: float, of: int = 40) -> Any:
    return np.array([*labels, *[0] * (of - len(labels))], np.float32)


@each(("labels", "records", "words"), [
    (singles(1, of=40), None, ""),
    (singles(1, of=39), None, "has 39 samples; at least 40"),
    (singles(1, of=39), 39, "has 39 samples; at least 40"),
    (singles(1, of=39), 40, "has 39 samples among 40 records; at least 40"),
    (singles(), None, "only one kind of label: all 40 samples have 0; give"),
    (singles(*[1] * 40), None, "only one kind of label: all 40 samples have 1; give"),
])  # fmt: skip
def test_a_file_has_enough_samples_of_both_labels(labels: Any, records: int | None, words: str) -> None:
    if words:
        with pytest.raises(BadFile, match=words):
            check_samples("t.csv", labels, records)
    else:
        check_samples("t.csv", labels, records)
    check_samples("t.csv", singles(), labelled=False)


@each(("values", "shown"), [(12, ""), (13, ", ...")])
def test_twelve_values_of_a_label_are_shown(values: int, shown: str) -> None:
    names = tuple(f"v{number:02d}" for number in range(values))
    with pytest.raises(BadFile, match=rf"the label's column has 'v00', .*'v11'{shown}: correct the rule"):
        check_samples("t.csv", singles(), values=names)


@each(("count", "held_out"), [(199, 20), (209, 20), (210, 21), (1000, 100)])
def test_a_tenth_is_held_out_and_at_least_20(count: int, held_out: int) -> None:
    assert held_out_count(count) == held_out


@each(("copies", "words"), [(1, "a is a copy"), (2, "a, b are copies"), (3, "a, b, c are copies"), (4, "a, b, c are copies")])
def test_three_copies_of_a_label_are_named(copies: int, words: str) -> None:
    assert copies_note("t.csv", "abcd"[:copies]).startswith(f"In t.csv {words} of the label")


@each(("ids", "is_full"), [(5, False), (6, True)])
def test_an_index_numbers_its_most_ids(ids: int, is_full: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "MOST_SEEN", 5)
    index = IdIndex()
    assert index.add(np.arange(ids, dtype=np.uint64)) == (not is_full)
    assert index.add(np.arange(ids, dtype=np.uint64)) == (not is_full)
    assert len(index.tokens()) == (0 if is_full else ids)


@each("ids", [1, 64, 65, 511, 512, 513, 576, 577, 1025])
def test_an_index_grows_for_its_last_id_and_no_sooner(ids: int) -> None:
    index = IdIndex()
    index.add(np.arange(ids, dtype=np.uint64))
    assert index.tokens().tolist() == [*range(ids)] and index.numbers(index.tokens()).tolist() == [*range(ids)]
    assert len(index.slots) == (1024 if ids <= 512 else 2048 if ids <= 1024 else 4096)


@each(("most", "left"), [(12, [3, 5, 4]), (11, [3, 4]), (7, [3, 4]), (6, [3]), (2, [])])
def test_the_largest_indexes_are_dropped_first(most: int, left: list[int]) -> None:
    indexes = [IdIndex() for _ in range(3)]
    for index, ids in zip(indexes, (3, 5, 4), strict=True):
        index.add(np.arange(ids, dtype=np.uint64))
    drop_largest(indexes, most)
    assert [index.count for index in indexes if not index.is_full] == left


@each(
    ("rows", "number"),
    [
        ("hashed into 1", 1),
        ("hashed into 1_0", 10),
        ("hashed into 0", 0),
        ("hashed", 0),
        (f"hashed into {10**14}", 10**14),
        (f"hashed into {10**15}", 0),
    ],
)
def test_ids_are_hashed_into_rows_of_up_to_15_digits(rows: str, number: int) -> None:
    assert numbering.hashed_rows(rows) == number and numbering.is_numbering(rows) == bool(number or rows == "hashed")


@each("most", [0, 1, 79, 80, 81, 159, 160, 10**9])
@each("key_index", [None, 1])
@each("values", [1, 2, 9, 99])
def test_samples_are_the_same_beyond_any_bound_of_memory(
    values: int, most: int, key_index: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "max_nbytes", lambda: most)
    monkeypatch.setattr(samples, "SORT_SAMPLES", 4)
    monkeypatch.setattr(samples, "STRIDE", 2)
    rng = np.random.default_rng(2)
    rows, keys = np.arange(60), rng.integers(0, values, 60)
    kept = Samples([np.zeros(0, np.int64), np.zeros(0, np.int64)], key_index)
    for low in range(0, 60, 7):
        kept.add(rows[low : low + 7], keys[low : low + 7])
    shares: list[float] = []
    found = kept.finish(lambda share, words: shares.append(share))
    assert shares == sorted(shares) and (not shares or shares[-1] == 1)
    order = np.arange(60) if key_index is None else np.argsort(keys, kind="stable")
    assert found[0].tolist() == rows[order].tolist() and found[1].tolist() == keys[order].tolist()


@each(("most", "in_files"), [(159, 10), (160, 0)])
def test_samples_beyond_the_bound_of_memory_go_to_files(most: int, in_files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "max_nbytes", lambda: most)
    kept = Samples([np.zeros(0, np.int64), np.zeros(0, np.int64)])
    for _ in range(2):
        kept.add(np.arange(10), np.arange(10))
    assert kept._in_files == in_files
    kept._close()


@each(("memory", "nbytes"), [(1 << 31, 1 << 28), (1 << 32, 1 << 29), (1 << 33, 1 << 29)])
def test_samples_take_an_eighth_of_memory_and_no_more_than_half_a_gibibyte(
    memory: int, nbytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "physical_memory", lambda: memory)
    assert max_nbytes() == nbytes


def test_the_largest_key_has_no_key_after_it() -> None:
    most = np.iinfo(np.int64).max
    assert samples._following_keys(np.array([-1, 5, most - 1, most])).tolist() == [0, 6, most, most]
    assert samples._following_keys(np.array([1.0])).tolist() == [np.nextafter(1.0, 2.0)]


FILE = "label,user,item\n" + "".join(f"{row % 2},{row},{row % 7}\n" for row in range(60))


@each(
    ("cell", "words"),
    [
        ("0", ""),
        (str(2**53 - 1), ""),
        (str(2**53), "is not the number of a row"),
        ("-1", "is not the number of a row"),
        ("0.5", "is not the number of a row"),
        ("", "is missing, so it names no row"),
    ],
)
def test_a_rows_number_is_a_whole_number_that_floats_tell_apart(cell: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(FILE.replace("1,5,5\n", f"1,{cell},5\n"))
    (tmp_path / "t.csv.toml").write_text('label = "label"\nids = ["user", "item"]\nrows = "as they are"\n')
    if words:
        with pytest.raises(BadFile, match=f"t.csv:7: user.* {words}|t.csv:7: user{words}"):
            read_file(path)
    else:
        assert read_file(path).lookups(0, 5, 6).tolist() == [int(cell)]


@each("excess", [0, 1])
def test_a_list_has_its_most_ids(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text(FILE.replace("1,5,5\n", "1,5,3;4;5\n"))
    (tmp_path / "t.csv.toml").write_text('label = "label"\nids = ["user", "item"]\nlists = ";"\n')
    monkeypatch.setattr(samples_from_columns, "MOST_LENGTH", 3 - excess)
    if excess:
        with pytest.raises(BadFile, match=r"t\.csv:7: item has 3 ids, but a sample has at most 2; shorten"):
            read_file(path)
    else:
        assert read_file(path).pooling == (1, 1)


@each(("values", "shown"), [(12, ""), (13, ", ...")])
def test_values_that_no_rule_meets_are_shown_up_to_twelve(values: int, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,user\n" + "".join(f"v{row % values:02d},{row}\n" for row in range(60)))
    (tmp_path / "t.csv.toml").write_text('label = "label == \'click\'"\nids = ["user"]\n')
    with pytest.raises(BadFile, match=f"'v00', .*'v11'{shown}: correct the rule"):
        read_file(path)


LARGEST = 2**63 - 1
KEYS: list[tuple[list[tuple[list[int], int]], list[int] | None]] = [
    ([([LARGEST], 0)], [LARGEST]),
    ([([-LARGEST], 0)], [-LARGEST]),
    ([([LARGEST // 1000], 6), ([5], 6)], [5]),
    ([([1], 3), ([LARGEST // 1000 + 1], 0)], None),  # too large in the unit of the block before
    ([([1], 3), ([LARGEST // 1000], 0)], [LARGEST // 1000 * 1000]),
    ([([1], 3), ([-(LARGEST // 1000) - 1, 5], 0)], None),
    ([([LARGEST // 1000], 0), ([7], 3)], [7]),
    ([([LARGEST // 1000 + 1], 0), ([7], 3)], None),  # the block before is too large in the finer unit
    ([([LARGEST // 1000], 0), ([7], 3), ([7], 4)], None),
    ([([7], 6), ([7], 3)], [7000]),
    ([([7], 6), ([7], 3), ([8], 3)], [8000]),
    ([([2**62], 6), ([7], 3), ([1], 7)], None),
    ([([-(2**63)], 0)], None),
]


@each(("blocks", "keys"), KEYS)
def test_times_have_keys_while_64_bits_hold_them_all(blocks: list[tuple[list[int], int]], keys: list[int] | None) -> None:
    times = TimeKeys()
    found = [times.keys_of_whole(np.array(numbers), decimals) for numbers, decimals in blocks]
    assert (None if found[-1] is None else found[-1].tolist()) == keys


@each(("whole", "is_exact"), [(MOST_EXACT, True), (MOST_EXACT + 1, False), (-MOST_EXACT, True), (-MOST_EXACT - 1, False)])
def test_whole_times_beside_fractions_are_exact_floats(whole: int, is_exact: bool) -> None:
    before, after = TimeKeys(), TimeKeys()
    before.keys_of_whole(np.array([0, whole]))
    assert (before.keys_of_floats(np.array([0.5])) is not None) == is_exact
    assert (before.rekey() is not None) == is_exact
    after.keys_of_floats(np.array([0.5]))
    assert after.rekey() is None
    assert (after.keys_of_whole(np.array([0, whole])) is not None) == is_exact


@each(("first", "second", "factor"), [(3, 6, 1000), (3, 3, None), (6, 3, None)])
def test_earlier_keys_change_for_a_finer_unit_alone(first: int, second: int, factor: int | None) -> None:
    times = TimeKeys()
    times.keys_of_whole(np.array([4]), first)
    assert times.rekey() is None
    times.keys_of_whole(np.array([4]), second)
    change = times.rekey()
    assert (change and change(np.array([4])).tolist()) == (factor and [4 * factor])


def test_keys_sort_as_their_floats_do() -> None:
    numbers = [-np.inf, -1e300, -1.0, -5e-324, -0.0, 5e-324, 1.0, 1e300, np.inf]
    keys = float_keys(np.array(numbers))
    assert (np.diff(keys) > 0).all() and float_keys(np.array([0.0]))[0] == keys[4]
