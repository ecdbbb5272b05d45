"""Do sentences on the smallest machine change their words just where the numbers do?"""

from math import inf, nan
from types import SimpleNamespace
from typing import Any

import pytest

from engine.analysis.enough import sentences
from engine.analysis.enough.bands import DrawBand
from engine.analysis.enough.question import Target
from engine.analysis.enough.sentences import band_words, machine_words, times_words, verb_form
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from tests.cases import each

SCENARIO = with_values(preset("tiny").scenario, {"machine.num_gpus": 1})
EXPANDERS = "machine.num_expanders"


def question(goal: float = 2.0, seconds: float | None = None, ms: float | None = None) -> Any:
    own = SimpleNamespace(ran=True, results={"Step time [ms]": seconds and 1000 * seconds})
    target = Target(milliseconds=ms)
    baseline = SimpleNamespace(scenario=SCENARIO)
    return SimpleNamespace(scenario=SCENARIO, goal=goal, reference=2.0, own_result=own, target=target, baseline=baseline)


def machine(modules: int | None = None, gbps: float | None = None, seconds: float = 1.0, links: int = 1, **fields: Any) -> Any:
    usual = {"changes": {EXPANDERS: links}, "dollars": 100.0, "result": SimpleNamespace(ran=True, scenario=SCENARIO)}
    return SimpleNamespace(modules=modules, gbps=gbps, seconds=seconds, **(usual | fields))


@each(("seconds", "words"), [(2.0, "which it meets"), (2.02, "of which it takes 1.01 times as much")])
def test_a_step_as_long_as_the_target_meets_it(seconds: float, words: str) -> None:
    assert sentences._present_sentence(question(seconds=seconds, ms=2000.0)).endswith(f"{words}.")


@each(
    ("modules", "gbps", "links", "words", "verb"),
    [
        (1, None, 1, "1 × ", "meets"),
        (2, None, 1, "2 × ", "meet"),
        (None, 32.0, 1, "a CXL link of 32.0 GB/s", "meets"),
        (None, 32.0, 2, "2 CXL links of 32.0 GB/s each", "meet"),
        (1, 32.0, 1, " and a CXL link of 32.0 GB/s", "meet"),
        (None, None, 1, "", "meets"),
    ],
)
def test_parts_of_a_machine_are_counted(modules: int | None, gbps: float | None, links: int, words: str, verb: str) -> None:
    found = machine(modules, gbps, links=links)
    text = machine_words(question(), found, "sure")
    assert words in text and bool(text) == bool(words)
    assert ("GB; sure)" in text) == (modules == 2) and text.count("sure") == bool(words)
    assert verb_form(question(), found, "meet") == verb


def test_a_machine_of_several_nodes_has_modules_on_each() -> None:
    asked = question()
    assert " on each of " not in machine_words(asked, machine(1))
    asked.scenario = with_values(SCENARIO, {"machine.num_gpus": 16, "machine.gpus_per_node": 8})
    assert machine_words(asked, machine(1)).endswith(" on each of 2 nodes")


@each(("rate", "words"), [(32.6, "a CXL link of 32.0 GB/s (a card)"), (32.7, "(a card has 32.7 GB/s)"), (32.0, "(a card)")])
def test_a_link_is_named_by_a_card_up_to_two_hundredths_faster(rate: float, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "card_link", lambda s, gbps: ("a card", rate))
    assert machine_words(question(), machine(None, 32.0), carded=True).endswith(words)
    monkeypatch.setattr(sentences, "card_link", lambda s, gbps: None)
    assert machine_words(question(), machine(None, 32.0), carded=True) == "a CXL link of 32.0 GB/s"


@each(
    ("low", "high", "unit", "words"),
    [
        (2.0, 2.0, " modules", "2 modules in 9 of 10 draws"),
        (1.0, 2.0, " modules", "1 to 2 modules in 9 of 10 draws"),
        (2.0, 3.0, " GB/s", "2.00 to 3.00 GB/s in 9 of 10 draws"),
        (2.0, inf, " GB/s", "2.00 GB/s or more, some beyond its range, in 9 of 10 draws"),
        (inf, inf, " GB/s", "more than is in range in 9 of 10 draws"),
    ],
)
def test_a_band_has_its_ends_and_one_unit(low: float, high: float, unit: str, words: str) -> None:
    assert band_words(DrawBand(low, high), unit) == words and band_words(None, unit) == ""


@each(("dollars", "words"), [(100.4, " at the same price"), (101.0, " for 1"), (nan, ""), (inf, "")])
def test_a_price_is_the_same_up_to_half_a_dollar(dollars: float, words: str) -> None:
    found = sentences._extra_price_clause(machine(dollars=dollars), machine())
    assert found.startswith(words) and bool(found) == bool(words)
    assert sentences._extra_price_clause(machine(), machine(dollars=nan)) == ""


@each(
    ("seconds", "flipped", "words"),
    [
        (2.0, 2.01, "by less than 1 %"),
        (2.0, 2.03, "On the machine above, off, the step takes 2.03 s instead of 2.00 s: why."),
        (2.03, 2.0, "On the machine above, off, the step takes 2.00 s instead of 2.03 s."),
        (2.0, 2.0, "by less than 1 %"),
    ],
)
def test_a_switch_that_changes_a_hundredth_of_the_step_is_told(
    seconds: float, flipped: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentences, "_cause", lambda q, fast, slow: "why")
    assert words in sentences._flip_sentence(question(), machine(seconds=seconds), machine(seconds=flipped), "off")
    for ran in ((True, False), (False, True)):
        both = (machine(seconds=step, result=SimpleNamespace(ran=one)) for step, one in zip((seconds, flipped), ran, strict=True))
        assert sentences._flip_sentence(question(), *both, "off") == ""


SLOWER: list[tuple[int | None, float | None, str]] = [
    (None, None, ""),
    (1, None, "At any capacity it costs time."),
    (2, None, "From 2 modules on it costs time."),
    (2, 32.0, "From 2 modules on over a link of 32.0 GB/s it costs time."),
]


@each(("count", "gbps", "words"), SLOWER)
def test_a_switch_costs_time_from_some_modules_on(count: int | None, gbps: float | None, words: str) -> None:
    cheapest = SimpleNamespace(machine=machine(gbps=gbps))
    answer: Any = SimpleNamespace(slower_from={"path": count}, cheapest=cheapest)
    assert sentences._slower(answer, "path") == words


@each(
    ("steps", "words"),
    [
        ({}, ""),
        ({0: 2.0, 4: 1.0}, " is not needed: a strict log's step takes 2.00 s."),
        ({0: 2.1, 4: 2.0, 8: 1.0}, " of at least 4 batches is needed: a strict log's step takes 2.10 s."),
        ({0: 4.0, 4: 2.5, 8: 3.0}, " up to 8 batches does not meet the target"),
        ({0: 4.0, 4: 2.5, 8: 3.0, 9: None}, "shortens the step by at most 37.5 %."),
    ],
)
def test_the_least_staleness_that_meets_the_target_is_told(steps: dict[int, float | None], words: str) -> None:
    machines = {bound: machine(seconds=step or 0.0, result=SimpleNamespace(ran=bool(step))) for bound, step in steps.items()}
    found = sentences._staleness(SimpleNamespace(question=question(), staleness=machines))  # type: ignore[arg-type]
    assert words in found and bool(found) == bool(words)


def test_a_step_is_told_as_a_multiple_of_the_reference() -> None:
    assert times_words(question(), machine(seconds=3.0), "sure").endswith("'s step (3.00 s; sure)")
    assert times_words(question(ms=2000.0), machine(seconds=3.0)) == "1.50 times the target (3.00 s)"
    assert sentences.lowered_label(EXPANDERS)[0].islower()
