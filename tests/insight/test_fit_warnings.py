"""Does a report warn of a fit where it is just too far off, and stay silent where it is just near enough?"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.insight.fitting.bag_fit import BagFit
from engine.insight.fitting.counting import HeldBackShares
from engine.insight.fitting.description import ColumnCounts, _examples, _late_values
from engine.insight.fitting.fit import GeneratorFit, TableFit
from engine.insight.fitting.histories.batches import Duplicates
from engine.insight.fitting.histories.fit import HistoryFit
from engine.insight.fitting.histories.report import batch_sentence, conclusion, history_warnings, length_sentence
from engine.insight.fitting.law import Law
from engine.insight.fitting.reports import count_rows, fit_report, fit_warnings
from engine.insight.fitting.tally import UseSpectrum
from engine.workload.histories import cut_law
from engine.workload.readers.guess import Guess
from engine.workload.readers.recording import HistoryFields
from tests.cases import each

MANY = 10**12  # lookups, so that no gap is by chance


def table(number: int = 0, gap: float = 0.0, rows: int = 100, seen: int = 100, **bags: Any) -> TableFit:
    shares = HeldBackShares((0.5, 0.5, 0.5), 0.5, 0.5, MANY)
    other = replace(shares, unseen=0.5 + gap)
    return TableFit(number, seen, BagFit(**bags), Law(rows), shares, other)


def fitted(*tables: TableFit, **fields: Any) -> GeneratorFit:
    usual = {
        "hits": (np.full(5, 0.1),) * 3,
        "rarity_correlation": 0.0,
        "click_rate": 0.5,
        "samples": 20_000,
        "samples_counted": 20_000,
        "dense": 1,
    }
    return GeneratorFit("t.csv", "csv", "its own order", tables=tables or (table(),), locality=0.0, **{**usual, **fields})


def hits(file: float, fit: float) -> Any:
    return np.array([0.5, file]), np.array([0.5, fit]), np.array([0.0, 0.0])


WARNINGS: dict[str, tuple[GeneratorFit, str]] = {
    "none": (fitted(), ""),
    "a gap of five points": (fitted(table(gap=0.05)), ""),
    "a gap of more": (fitted(table(gap=0.0501)), "is wrong for 1 of 1 table: "),
    "hits that are three points off": (fitted(hits=hits(0.0, 0.03)), ""),
    "hits that are more off": (fitted(hits=hits(0.0, 0.0301)), "an LRU cache hits up to 3.01 points more or less"),
    "hits that are too few": (fitted(hits=hits(0.0301, 0.0)), "an LRU cache hits up to 3.01 points more or less"),
    "hits of few samples": (fitted(hits=hits(0.0, 0.0301), samples_counted=19_999), "Only 19,999 samples were counted"),
    "few samples": (fitted(samples_counted=19_999), "Only 19,999 samples were counted"),
    "rows three times those seen": (fitted(table(rows=300)), ""),
    "more rows": (fitted(table(rows=301)), "1 table show new rows until the end: table 1 has shown 100 rows, and 301"),
    "no rows": (fitted(table(rows=301, seen=0)), ""),
    "empty bags": (fitted(table(empty=0.05)), ""),
    "more empty bags": (fitted(table(empty=0.0501)), "Bag lengths of 1 table follow another law"),
    "fields that come together": (fitted(rarity_correlation=0.2), ""),
    "fields that come more together": (fitted(rarity_correlation=0.201), "Rare values come together"),
    "fields that keep apart": (fitted(rarity_correlation=-0.201), "Rare values come together"),
    "one field": (fitted(rarity_correlation=None), ""),
    "no labels": (fitted(click_rate=None), "The file has no labels: clicks are the generator's"),
    "Meta's": (replace(fitted(click_rate=None), format="meta"), "The file is one batch without labels"),
    "a copy of the label": (fitted(label_copies=("a",)), "a is a copy of the label"),
}


@each("what", WARNINGS)
def test_a_fit_warns_where_it_is_too_far_off(what: str) -> None:
    fit, words = WARNINGS[what]
    found = "\n".join(fit_warnings(fit))
    assert words in found and bool(found) == bool(words)


@each(("tables", "rest"), [(5, ""), (6, " and 1 more"), (7, " and 2 more")])
def test_the_five_worst_tables_are_named(tables: int, rest: str) -> None:
    found = "\n".join(fit_warnings(fitted(*(table(number, 0.06 + 0.01 * number) for number in range(tables)))))
    assert f"in table {tables} by " in found and found.count(", table ") == 4 and (rest + "; train on the file itself") in found


@each(
    ("counted", "words"),
    [(20_000, "csv, 20,000 samples counted, 50 %"), (19_999, "csv, 19,999 of 20,000 samples")],
)
def test_a_report_says_how_many_samples_were_counted(counted: int, words: str) -> None:
    assert words in fit_report(fitted(samples_counted=counted))


def test_counts_of_a_table_without_lookups_are_0() -> None:
    none = UseSpectrum(np.zeros(0, np.int64), np.zeros(0, np.int64))
    some = UseSpectrum(np.array([1, 3]), np.array([1, 1]))
    assert [*count_rows([none, some])[0].values()] == [1, 0, 0, 0, 0, 0.0, 0.0, 0.0]
    assert [*count_rows([none, some])[1].values()][:5] == [2, 4, 2, 75.0, 25.0]


LAW = cut_law(4.0, 0.5, 8.0)


def histories(**fields: Any) -> HistoryFit:
    """Return a fit of histories whose lengths are as their law says."""
    lengths = np.rint(1e6 * np.diff([LAW.share_up_to(length) for length in range(9)], prepend=0.0)).astype(np.int64)
    usual: dict[str, Any] = {
        "fields": HistoryFields(0, (1,), in_rows=False), "cap": 8, "is_cap_given": False, "longest": 8, "mean": 4.0, "cv": 0.5,
        "law": LAW, "lengths": lengths, "users": 9, "user_rows": np.ones(9, np.int64), "batch": 4, "samples_per_user": 1.0,
        "is_user_major": True, "out_of_order": 0, "empty": 0, "going_on": None, "counted": Duplicates(1, 0.625, (0.625,)),
        "expected": Duplicates(1, 0.625, (0.625,)),
    }  # fmt: skip
    return HistoryFit(**{**usual, **fields})


IN_ROWS = HistoryFields(0, (1,), in_rows=True)
OF_HISTORIES: dict[str, tuple[HistoryFit, str]] = {
    "none": (histories(), ""),
    "times that go back": (histories(out_of_order=1), "Times go back within a user at 1 event;"),
    "no times": (histories(out_of_order=None), ""),
    "a longer one": (histories(longest=9), "Histories are cut at 4,096 events, as no cap is given"),
    "a longer one than a given cap": (histories(longest=9, is_cap_given=True), ""),
    "an empty one": (histories(empty=1), "The empty history of 1 sample counts as one event"),
    "no users": (histories(fields=IN_ROWS._replace(user=None)), "No column of users is named"),
    "rows that go on": (histories(fields=IN_ROWS, going_on=1.0), ""),
    "rows that do not": (histories(fields=IN_ROWS, going_on=0.99), "of the later rows of users do not go on by one event"),
    "a spread nearly a tenth wider": (histories(cv=0.555), ""),
    "a wider spread": (histories(cv=0.556), "wider than any cut log-normal law"),
    "a tenth fewer rows": (histories(expected=Duplicates(1, 0.625, (0.5625,))), ""),
    "a tenth more rows": (histories(expected=Duplicates(1, 0.625, (0.6875,))), ""),
    "more rows": (histories(expected=Duplicates(1, 0.625, (0.69,))), "events of a user or a time repeat ids more"),
    "fewer rows": (histories(expected=Duplicates(1, 0.625, (0.56,))), "ids repeat less than the popularity says"),
    "more rows and events": (histories(expected=Duplicates(1, 0.69, (0.69,))), "histories of a batch overlap more"),
    "more rows, a tenth more events": (histories(expected=Duplicates(1, 0.6875, (0.69,))), "repeat ids more"),
    "fewer rows and events": (histories(expected=Duplicates(1, 0.56, (0.56,))), "histories overlap less than such windows"),
    "other lengths": (histories(lengths=np.array([0, 10, 0, 0, 0, 0, 0, 0, 0])), "Lengths follow another law"),
}


@each("what", OF_HISTORIES)
def test_a_fit_of_histories_warns_where_it_is_too_far_off(what: str) -> None:
    fit, words = OF_HISTORIES[what]
    found = "\n".join(history_warnings(fit, ("user", "item")))
    assert words in found and bool(found) == bool(words)


@each(("share", "is_told"), [(0.1, False), (0.12, True)])
def test_lengths_are_off_from_a_tenth_on(share: float, is_told: bool) -> None:
    lengths = histories().lengths.copy()
    moved = round(share * lengths.sum())
    lengths[1] += moved
    lengths[8] -= min(moved, lengths[8])
    lengths[4] -= max(moved - histories().lengths[8], 0)
    fit = histories(lengths=lengths)
    assert (fit.largest_length_gap > 0.1) == is_told == ("another law" in "\n".join(history_warnings(fit, ("user", "item"))))


def test_ranges_of_lengths_have_all_shares() -> None:
    rows = histories().length_rows()
    assert [low for low, *_ in rows] == [1, *(high + 1 for _, high, *_ in rows[:-1])] and rows[-1][1] == 8
    assert sum(share for _, _, share, _ in rows) == pytest.approx(1) == sum(share for *_, share in rows)
    assert histories(cap=1, lengths=np.array([0, 5])).length_rows()[0][:3] == (1, 1, 1.0)


@each(
    ("longest", "words"),
    [(8, "; the file's longest has 8"), (9, " of them are at the cap of 8, and the file's longest has 9")],
)
def test_histories_at_the_cap_are_told_where_some_are_longer(longest: int, words: str) -> None:
    assert words in length_sentence(histories(longest=longest))


@each(("per_user", "words"), [(1.0, "has 1 sample of each"), (2.0, "has 2 samples of each"), (1.5, "has 1.5 samples of each")])
def test_samples_of_a_user_are_told(per_user: float, words: str) -> None:
    assert words in batch_sentence(histories(samples_per_user=per_user))
    assert "stand together" in batch_sentence(histories()) and "in the file's order" in batch_sentence(
        histories(is_user_major=False)
    )
    assert conclusion(histories(is_user_major=False), ("user", "item")).endswith(" Users are mixed in the file.")


@each(("values", "is_told"), [(2, False), (3, True)])
def test_a_label_with_a_third_value_further_down_is_told(values: int, is_told: bool) -> None:
    counts = ColumnCounts("", True)
    counts.index.add(np.arange(values, dtype=np.uint64))
    for guess, may_be_told in (
        (Guess("y", "label", rule="== 1", withheld=True), True),
        (Guess("y", "label", rule="== 1"), False),
        (Guess("y", "label", rule=">= 1", withheld=True), False),
        (Guess("y", "id", rule="== 1", withheld=True), False),
    ):
        assert bool(_late_values([guess], {"y": counts})) == (is_told and may_be_told)


def test_examples_are_five_different_cells_of_sixty_letters() -> None:
    assert _examples([" a ", "a", "", "b", "c", "d", "e", "f"]) == ("a", "b", "c", "d", "e")
    assert _examples(["x" * 60, "y" * 61]) == ("x" * 60, "y" * 60)
