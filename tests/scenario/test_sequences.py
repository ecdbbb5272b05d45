"""Is a list of lookups too long for a bag called a sequence, once in each result, and nowhere else?"""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from engine import api as ep
from engine.__main__ import main
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.full_runs import full_runs
from engine.insight.fitting import reports
from engine.insight.fitting.bag_fit import bag_fit
from engine.insight.fitting.fit import fit_file, lookups_of
from engine.insight.fitting.shape import shape_of
from engine.registry import variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.scenario.sequences import sequence_note, sequence_note_of_points, sequence_notes
from engine.simulate import simulate
from engine.workload.readers.formats import digest_of, read_file
from tests.cases import each
from tests.machines import TINY
from tests.workload.readers.test_formats import a_trace

WORD = "sequence model"
SMALL = {"data.batch_size": 16, "run.batches": 4, "run.training": False, "data.held_out_samples": 20}
ARGUMENTS = ["--preset", "tiny", *(word for path, value in SMALL.items() for word in ("--set", f"{path}={value}"))]


def tiny(*pooling, **knobs):
    """Return preset tiny, of three tables, with so many lookups a sample."""
    return with_values(TINY, {**SMALL, "model.pooling": pooling, **knobs})


def notes(result):
    return [note for note in result.notes if WORD in note]


@each(
    ("lengths", "who"),
    [
        ((1000,), ""),
        ((1, 1000, 1000.0), ""),
        ((1001,), "The only table has 1,001 lookups a sample"),
        ((1000, 5, 1001), "Table 3 of 3 has 1,001 lookups a sample"),
        ((1000, 1000.4), "Table 2 of 2 has 1,000.4 lookups a sample"),
        ((1000.0001, 1), "Table 1 of 2 has 1,000.1 lookups a sample"),
        ((2000,) * 3, "All 3 tables have 2,000 lookups a sample"),
        ((1, 2627, 9, 1362), "2 of 4 tables, of which table 2 is the first, have 1,362 to 2,627 lookups a sample"),
    ],
)
def test_more_than_1000_lookups_a_sample_in_one_table_are_a_sequence_and_1000_are_none(lengths, who):
    note = sequence_note(lengths)
    assert note.startswith(who) and bool(note) == bool(who)
    words = "pooled here", "as a bag", "unpooled", "attention", "far too low", "model.pooling", "model.feature_kind=sequence"
    assert all((word in note) == bool(who) for word in words)


@each("answer", [estimate, simulate, lambda s: full_runs([s])[0]])
@each(
    ("pooling", "who"),
    [
        ((1000,), ""),
        ((1001,), "All 3 tables have 1,001 "),
        ((1000, 1, 1000), ""),
        ((3, 1001, 1), "Table 2 of 3 has 1,001 "),
    ],
)
def test_a_result_has_the_note_once_where_a_table_pools_a_sequence(answer, pooling, who):
    result = answer(tiny(*pooling))
    assert result.ran and [note.startswith(who) for note in notes(result)] == [True] * bool(who)
    assert [note for note in result.as_json()["warnings"] if WORD in note] == notes(result)


def test_a_run_that_trains_and_a_machine_that_is_too_small_have_the_note_too():
    trained = simulate(tiny(1001, 1, 1, **{"run.training": True, "run.batches": 1}))
    assert trained.training and len(notes(trained)) == 1
    small = {"system": "dram", "model.num_embeddings": (10**11,)}
    for refused in (estimate(tiny(1001, **small)), simulate(tiny(1001, **small)), *full_runs([tiny(1001, **small)])):
        assert not refused.ran and len(notes(refused)) == 1
    assert notes(estimate(tiny(1000, **small))) == []


def test_no_preset_and_no_model_of_ours_pools_a_sequence():
    assert [name for name in preset_names() if sequence_notes(preset(name).scenario)] == []
    assert [name for name in variant_names("models") if sequence_notes(with_values(TINY, {"model.name": name}))] == []


def test_a_history_stated_as_a_sequence_is_not_called_a_bag_and_a_long_bag_beside_it_is():
    stated = {"model.feature_kind": ("sequence", "sequence", "bag"), "model.interaction": "hstu"}
    assert sequence_notes(tiny(2000, 2000, 5, **stated)) == ()
    (note,) = sequence_notes(tiny(2000, 2000, 1500, **stated))
    assert note.startswith("Table 3 of 3 has 1,500 ")
    assert sequence_note_of_points([tiny(2000, 2000, 5, **stated)]) == ""
    assert sequence_note_of_points([tiny(2000, 2000, 5, **stated), tiny(1001)]).startswith("1 of 2 points pool sequences")


@pytest.mark.parametrize(
    ("knobs", "remedy"),
    [
        ({"model.interaction": "hstu"}, "set model.feature_kind=sequence"),
        ({"model.feature_kind": "sequence"}, "set model.interaction=hstu in place of"),
        ({"model.interaction": "hstu", "model.feature_kind": "sequence", "model.pooling": (5, 6, 7)}, "one number"),
        ({"model.interaction": "hstu", "model.feature_kind": ("sequence", "bag")}, "2 values for 3 tables"),
    ],
)
def test_histories_and_the_layers_that_read_them_are_stated_together(knobs, remedy):
    with pytest.raises(BadKnob, match=remedy):
        tiny(5, **knobs)


@pytest.mark.parametrize("more", [["--estimate"], []])
def test_the_command_run_says_it_once_to_people_and_in_its_json(more, capsys, tmp_path):
    target = tmp_path / "r.json"
    for pooling, count in (("1;1001;3", 1), ("1;1000;3", 0)):
        asked = [*ARGUMENTS, *more, "--set", f"model.pooling={pooling}"]
        assert main(["run", *asked]) == 0
        said = "".join(capsys.readouterr())
        assert said.count(WORD) == said.count("Note: Table 2 of 3 has 1,001 lookups") == count
        assert main(["run", *asked, "--json", str(target)]) == 0
        assert "".join(capsys.readouterr()).count(WORD) == count
        assert sum(WORD in note for note in json.loads(target.read_text())["warnings"]) == count


@pytest.mark.parametrize(
    ("words", "start"),
    [
        (
            ["--axis", "model.pooling=20,1001,1500"],
            "Note: 2 of 3 points pool sequences, the longest of them this: All 3 tables have 1,500 ",
        ),
        (["--axis", "data.batch_size=16,32", "--set", "model.pooling=1001"], "Note: All 3 tables have 1,001 "),
        (["--axis", "model.pooling=1000,1001"], "Note: 1 of 2 points pool sequences"),
        (["--axis", "model.pooling=1002,1001"], "Note: All 3 tables have 1,002 "),
        (["--axis", "model.name=rm1,tiny", "--axis", "data.batch_size=16,32", "--set", "model.pooling=1001"], "Note: All "),
        (["--axis", "model.pooling=20,1000"], ""),
        (["--axis", "data.batch_size=16,32"], ""),
    ],
)
def test_a_sweep_says_once_how_many_of_its_points_pool_sequences(words, start, capsys, tmp_path):
    assert main(["sweep", *ARGUMENTS, "--estimate", *words, "--csv", str(tmp_path / "t.csv")]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "sequence" in line]
    assert len(lines) == bool(start) and all(line.startswith(start) for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        ["search", "--axis", "machine.cxl_bandwidth_GBps=8,16", "--evaluations", "2"],
        pytest.param(["enough"], marks=pytest.mark.slow),
        pytest.param(
            ["campaign", "--mtbf", "gpu-crash=24", "--days", "1", "--seeds", "1", "--protection", "undo"], marks=pytest.mark.slow
        ),
    ],
)
def test_the_other_commands_on_a_scenario_say_it_once(words, capsys, tmp_path):
    table = ["--csv", str(tmp_path / "t.csv")] * (words[0] == "search")
    assert main([*words, *ARGUMENTS, *table, "--set", "model.pooling=1001"]) == 0
    assert capsys.readouterr().err.count(WORD) == 1


@pytest.mark.usefixtures("few_draws")
def test_scripts_find_the_note_in_each_result_and_as_a_warning_of_what_has_no_notes():
    for table in (ep.estimate(tiny(1), pooling=[1000, 1001]), ep.run(tiny(1), pooling=[1000, 1001])):
        assert [len(notes(result)) for result in table] == [0, 1]
    assert [len(notes(result)) for result in ep.sweep(tiny(1), "model.pooling=1000,1001")] == [0, 1]
    with pytest.warns(UserWarning, match=WORD):
        ep.enough(tiny(1001))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ep.enough(tiny(1000))


@pytest.fixture
def histories(tmp_path):
    """Write a file of 60 histories of so many events in the mean, beside a user, and return its path."""

    def written(lengths):
        random, path = np.random.default_rng(3), tmp_path / "own.parquet"
        lists = [random.integers(0, 50, size).tolist() for size in lengths]
        click = np.arange(60) % 2
        pd.DataFrame({"user": random.integers(0, 9, 60), "seen": lists, "click": click}).to_parquet(path, index=False)
        (tmp_path / "own.parquet.toml").write_text('label = "click"\nids = ["user", "seen"]\n')
        return path

    return written


# 1,000.4 in the mean is the pooling factor 1,000, which is no sequence by itself.
@pytest.mark.parametrize(
    ("lengths", "who"), [([998, 1002] * 30, ""), ([1000, 1000, 1000, 1000, 1002] * 12, "1,000.4"), ([900, 1201] * 30, "1,050.5")]
)
def test_a_run_on_a_file_whose_lists_are_longer_in_the_mean_has_the_note_once(lengths, who, histories):
    path = histories(lengths)
    shaped = with_values(tiny(1), shape_of(str(path), digest_of(path)).changes(tiny(1)))
    asked = with_values(shaped, {"data.digest": read_file(path).digest})
    for one in (asked, with_values(asked, {"run.training": True, "run.batches": 1})):
        said = [note.partition(" lookups a sample")[0] for note in notes(simulate(one, path))]
        assert said == [f"Table 2 of 2 has {who}"] * bool(who)


def test_a_fit_to_a_file_of_histories_says_it_in_report_json_and_script(histories, capsys):
    path = histories([1000, 1000, 1000, 1000, 1002] * 12)
    target = path.with_suffix(".json")
    assert main(["workload", "fit", str(path), "--preset", "tiny", "--json", str(target)]) == 0
    assert capsys.readouterr().out.count("Warning: Table 2 of 2 has 1,000.4 lookups a sample") == 1
    assert sum(WORD in note for note in json.loads(target.read_text())["warnings"]) == 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ep.fit(path, "tiny")
    assert sum(WORD in str(one.message) for one in caught) == 1


def test_copies_of_a_long_field_are_told_of_as_tables(histories):
    path = histories([1001] * 60)
    asked = tiny(
        1,
        1001,
        1,
        1001,
        **{"model.num_tables": 4, "model.num_embeddings": (90,), "model.field_copies": 2, "data.digest": read_file(path).digest},
    )
    asked = with_values(asked, {"model.bottom_mlp": (1, *asked.model.bottom_mlp[1:])})
    (note,) = notes(simulate(asked, path))
    assert note.startswith("2 of 4 tables, of which table 2 is the first, have 1,001 lookups")


def test_a_trace_of_histories_is_told_of_and_its_bags_of_1000_are_not(tmp_path):
    lengths = np.array([[1000] * 40, [1001] * 40])
    a_trace(tmp_path / "t.pt", lengths, np.random.default_rng(1).integers(0, 50, int(lengths.sum())))
    (note,) = [note for note in reports.fit_warnings(fit_file(lookups_of(tmp_path / "t.pt"))) if WORD in note]
    assert note.startswith("Table 2 of 2 has 1,001 ")


def test_the_mean_of_bag_lengths_is_kept_beside_the_whole_number():
    assert bag_fit(np.array([1000, 1001])).mean == 1000.5 and bag_fit(7).mean == bag_fit(np.full(3, 7)).mean == 7
    assert replace(TINY).model.pooling == TINY.model.pooling
    with pytest.raises(BadKnob):
        tiny(10_001)
