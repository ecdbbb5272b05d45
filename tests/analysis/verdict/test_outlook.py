"""Does a verdict hold where its outlook says that it does, and change where it says that it changes?"""

from dataclasses import replace
from typing import Any

import pytest

from engine.analysis.verdict.decide import SystemSearch, Verdict, decide
from engine.analysis.verdict.outlook import axes, territory
from engine.analysis.verdict.outlook.bands import verdict_bands
from engine.analysis.verdict.outlook.outlook import Outlook
from engine.analysis.verdict.outlook.shortlist import NO_WINNER, Settings, Winner, shortlist
from engine.analysis.verdict.outlook.tipping import tipping_points
from engine.analysis.verdict.outlook.variants import DRAM, FAULTS, SIZE, VariedCase, usual_cases, vary_question
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.content import verdict_content
from engine.analysis.verdict.report.sentences import (
    draw_share_sentence,
    inputs_sentence,
    popularity_changes,
    popularity_words,
    tipping_words,
)
from engine.scenario.scenario import projection_dim, with_values
from engine.systems.kernels.densest import of_other_tables
from engine.systems.traffic import table_bytes
from engine.units import GB
from tests.analysis.verdict.test_decide import SOME, model, question

LARGE = {"model.num_embeddings": (60_000_000,)}  # 77 GB of tables: just over one GPU


@pytest.fixture(scope="module")
def asked() -> VerdictQuestion:
    return question(with_values(model(), LARGE))


@pytest.fixture(scope="module")
def verdict(asked: VerdictQuestion) -> Verdict:
    return decide(asked, SOME)


@pytest.fixture(scope="module")
def settings(asked: VerdictQuestion, verdict: Verdict) -> Settings:
    return {stack: some for stack, some in shortlist(asked, verdict.rows).items() if stack.system in SOME}


@pytest.mark.slow
def test_draws_are_shared_out_among_the_rows_and_are_the_same_again(verdict: Verdict, asked: VerdictQuestion) -> None:
    aim = SystemSearch(asked, SOME).aim
    bands = verdict_bands(verdict, aim, 40)
    assert verdict_bands(verdict, aim, 40) == bands
    assert sum(one.share for one in bands.rows.values()) == pytest.approx(1)
    for row in verdict.rows:
        if row.stack in bands.rows:
            assert bands.rows[row.stack].low <= row.objective_value * 1.001
            assert row.objective_value <= bands.rows[row.stack].high * 1.001
    assert "of 40 random draws" in draw_share_sentence(verdict, bands)


@pytest.mark.slow
def test_a_shortlist_finds_the_verdict_again_and_tips_where_it_says(
    verdict: Verdict, asked: VerdictQuestion, settings: Settings
) -> None:
    own = vary_question(asked, settings, SIZE, 1.0)
    best = verdict.best_row
    assert best is not None and own.winner.family == best.family
    assert own.winner.objective_value == pytest.approx(best.objective_value, rel=0.02)
    fastest = vary_question(replace(asked, objective="time"), settings, SIZE, 1.0).winner
    assert own.winner.cost == own.winner.objective_value and fastest.cost is not None and fastest.cost > fastest.objective_value
    points = list(tipping_points(asked, settings, (SIZE,)))
    moved = [one for one in points if one.changed_case]
    assert moved and {one.upwards for one in points} == {True, False}
    for one in moved:
        assert one.changed_case is not None and one.changed_case.winner.family != own.winner.family
        before = one.changed_case.factor / 1.4 if one.upwards else one.changed_case.factor * 1.4
        assert vary_question(asked, settings, SIZE, before).winner.family == own.winner.family
        assert "B of tables" in next(iter(tipping_words([one])))


def test_a_popularity_under_which_another_family_or_nothing_wins_is_told() -> None:
    verdict = decide(question(model()), ("all-hbm",))
    best = verdict.best_row
    assert best is not None
    same = Winner(best.stack, best.family, best.rank, best.objective_value)
    other, none = replace(same, family="Drives"), NO_WINNER
    cases = [VariedCase("popularity", name, 1.0, won) for name, won in (("avazu", same), ("meta", other), ("uniform", none))]
    cases.append(VariedCase("popularity", "no such popularity", 1.0, none))
    told = [*popularity_changes(verdict, cases)]
    assert told == [
        "With the popularity of rows of meta, the best family is Drives.",
        "With the popularity of rows of uniform, the best family is no machine that meets what is asked.",
    ]
    assert not [*popularity_changes(verdict, cases[:1])]
    assert "The verdict is the same for every popularity of rows" in popularity_words(verdict, cases[:1])
    said = popularity_words(verdict, [cases[0], cases[2]])
    assert "It holds" not in said and "uniform: no machine that meets what is asked" in said


@pytest.mark.slow
def test_cases_scale_what_they_name_on_every_machine(asked: VerdictQuestion, settings: Settings) -> None:
    cases = {(one.name, one.factor): one.winner for one in usual_cases(asked, settings)}
    assert (FAULTS.name, 4.0) not in cases and (SIZE.name, 4.0) in cases
    assert (
        cases[DRAM.name, 0.5].objective_value
        <= vary_question(asked, settings, DRAM, 1.0).winner.objective_value
        <= cases[DRAM.name, 2.0].objective_value
    )


def test_maps_and_variants_of_unlike_tables_keep_their_kinds_and_the_inputs_say_them() -> None:
    lists = {
        "model.num_tables": 4,
        "model.num_embeddings": (10**6,),
        "model.pooling": (20,),
        "model.features": (1, 4, 1, 1),
        "model.embedding_dim": (16, 64, 64, 128),
        "model.bottom_mlp": (13, 128),
        "model.optimizer": ("sgd", "sgd", "adam", "adam"),
    }
    asked = question(with_values(model(), lists))
    words = inputs_sentence(asked)
    assert "4 tables of 1,000,000 rows, 16 to 128 wide, 80 lookups a sample" in words and " sgd and adam, " in words
    few, _ = axes.AXES["lookups"].scenario_at(asked.base, 2.0)
    assert (few.model.num_tables, few.model.embedding_dim, few.model.optimizer) == (2, (16, 64), ("sgd", "adam"))
    assert projection_dim(few.model) == 128 and few.model.features == 1
    some, _ = axes.AXES["lookups"].scenario_at(asked.base, 8.0)
    assert some.model.pooling == (2, 4, 2, 2), "a feature keeps its lookup"
    assert table_bytes(axes.AXES["size"].scenario_at(asked.base, 10.0)[0]) == pytest.approx(10 * GB, rel=1e-3)


def test_a_map_computes_each_cell_at_a_border_and_no_cell_between_alike_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def family(place: tuple[int, int]) -> str:
        return "left" if place[0] < 6 else "right"

    computed: list[tuple[int, int]] = []

    def answer(*arguments: Any) -> Winner:
        computed.append(arguments[-1])
        return Winner(None, family(arguments[-1]), ())

    monkeypatch.setattr(territory, "cell_winner", answer)
    known = territory.extend_territory(question(model()), {}, "size", "lookups", most=3)
    assert len(known.cells) == len(computed) == 3 and not known.is_complete
    columns, rows = known.size
    known = territory.extend_territory(question(model()), {}, "size", "lookups", known, most=columns * rows)
    assert known.is_complete and len(computed) == len({*computed}) < columns * rows / 2
    assert {place: cell.winner.family for place, cell in known.cells.items()} == {
        (column, row): family((column, row)) for column in range(columns) for row in range(rows)
    }
    assert {place for place, cell in known.cells.items() if cell.answered} == {*computed}


@pytest.mark.slow
def test_a_map_answers_its_coarse_cells_and_fills_in_between_those_alike(
    asked: VerdictQuestion, settings: Settings, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: replace(axis, values=axis.values[:: len(axis.values) // 4][:5]) for name, axis in axes.AXES.items()}
    monkeypatch.setattr(territory, "AXES", few)
    last = territory.extend_territory(asked, settings, "size", "lookups", most=2)
    assert not last.is_complete and 0 < last.share < 1 and len(last.cells) == 2
    while not last.is_complete:
        last = territory.extend_territory(asked, settings, "size", "lookups", last)
    assert last.share == 1
    assert last.is_complete and any(not cell.answered for cell in last.cells.values())
    filled = next(place for place, cell in last.cells.items() if not cell.answered)
    assert territory.cell_winner(asked, settings, "size", "lookups", filled).family == last.cells[filled].winner.family
    for name, index in (("size", 0), ("lookups", 2)):
        value = few[name].values[index]
        there, _ = few[name].scenario_at(asked.base, value)
        assert few[name].value_of(there) == pytest.approx(value, rel=0.3)
    assert table_bytes(few["size"].scenario_at(asked.base, 100.0)[0]) == pytest.approx(100 * GB, rel=1e-3)
    told = verdict_content(verdict, "dlrm-kaggle", Outlook(map=last))["map"]
    assert len(told["cells"]) == 25 and [axis["name"] for axis in told["axes"]] == ["size", "lookups"]


def test_a_map_of_fewer_tables_keeps_as_much_in_hbm_where_tables_have_kernels() -> None:
    rows = (400_000_000, *(1_000_000,) * 7)
    knobs = {"model.num_tables": 8, "model.num_embeddings": rows, "model.pooling": (2, *(10,) * 7), "data.batch_size": 8192}
    asked = question(with_values(model(), knobs))
    (row,) = decide(asked, ("cpu-gpu",)).rows
    assert isinstance(dict(row.setting)["policy.kernel"], tuple)
    found = territory.extend_territory(asked, {row.stack: (row.setting,)}, "size", "lookups", None, 30)
    assert len(found.cells) >= 30 and any(cell.winner.system == "cpu-gpu" for cell in found.cells.values())
    fewer = with_values(asked.base, {"model.num_tables": 2, "model.num_embeddings": (100, 10), "model.pooling": (1, 1)})
    assert of_other_tables(("host", *("hbm",) * 7), asked.base, fewer) == ("host", "host")
    assert of_other_tables(("hbm", *("host",) * 7), asked.base, fewer) == ("host", "hbm")
