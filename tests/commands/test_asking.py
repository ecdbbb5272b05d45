"""Does the command rank, bound, order and explain what a sweep found, and does a search end in a table?"""

import csv
import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.analysis.objective import read_objectives
from engine.campaign.fault_stream import hazards_of
from engine.campaign.simulate import run_campaign
from engine.commands import sweep, sweep_arguments, sweep_tables
from engine.core.figures import figure
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.sweep.axes import parse
from engine.sweep.links import link
from engine.sweep.questions import LinkQuestions
from engine.sweep.sweep import Sweep
from tests.machines import TINY
from tests.service_fakes import ask

GRID = ("--axis", "system=pmem,cxl", "--axis", "machine.gpu=v100,a100-80,h100-sxm", "--axis", "machine.num_gpus=1,16")
TIME, COST = "Step time [ms]", "Capital cost [USD]"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asked") / "store.sqlite"


def swept(store: Path, *words: str) -> list[dict[str, str]]:
    target = store.with_suffix(".csv")
    assert main(["sweep", "--estimate", "--csv", str(target), *words]) == 0
    return table(target)


def table(target: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_rows_are_ranked_bounded_ordered_and_cut_and_the_answers_are_said(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    preset_words = ("--preset", "optane-rm1", *GRID)
    plain = swept(store, *preset_words)
    assert len(plain) == 12 and "Pareto rank" not in plain[0] and capsys.readouterr().err == ""
    ranked = swept(store, *preset_words, "--pareto")
    assert {row["scenario key"] for row in ranked} == {row["scenario key"] for row in plain}
    ranks = [row["Pareto rank"] for row in ranked]
    assert ranks[6:] == [""] * 6  # two nodes cannot run, and come last with their reason
    assert all("num_gpus" in row["outcome"] for row in ranked[6:]) and ranks[:6] == sorted(ranks[:6])
    for row in ranked[:6]:  # rank 1 is who nobody beats in both
        mine = [float(row[name]) for name in (TIME, COST)]
        others = [[float(other[name]) for name in (TIME, COST)] for other in ranked[:6]]
        beaten = any(other != mine and other[0] <= mine[0] and other[1] <= mine[1] for other in others)
        assert (row["Pareto rank"] == "1") == (not beaten)
    assert "on the Pareto front of Step time and Capital cost" in capsys.readouterr().err
    bound = sorted(float(row[TIME]) for row in plain if row[TIME])[3]
    kept = swept(store, *preset_words, "--where", f"{TIME}<={bound!r}", "--by", COST, "--top", "2", "--matters", "step time")
    prices = sorted(float(row[COST]) for row in plain if row[TIME] and float(row[TIME]) <= bound)
    assert [float(row[COST]) for row in kept] == prices[:2]
    said = capsys.readouterr().err
    own = "USD of each part's own year (machine.prices=recorded)"
    assert f"the cheapest costs {figure(prices[0], own)}. It is at system=" in said
    left = len([row for row in plain if row[TIME] and float(row[TIME]) <= bound])
    assert "Training system explains" in said and f"of the variance of step time among the {left} points that keep the" in said


def test_points_are_judged_over_weeks_of_the_same_faults_under_their_own_protection(store: Path) -> None:
    weeks, lost = "Effective training time ratio over weeks", "Lost work over weeks [h]"
    words = ("--set", "faults.rates=llama3", "--set", "faults.machines=512", "--axis", "system=pmem,cxl", "--top", "4")
    rows = swept(store, "--preset", "trainingcxl-rm1", *words, "--axis", "policy.protection=periodic-full,relaxed", "--by", weeks)
    scenario = with_values(
        preset("trainingcxl-rm1").scenario,
        {"faults.rates": "llama3", "faults.machines": 512, "system": "cxl", "policy.protection": "relaxed"},
    )
    done = run_campaign(scenario, "relaxed", hazards_of(scenario), scenario.faults.campaign_days * 24, scenario.faults.seed)
    assert (rows[0]["system"], rows[0]["policy.protection"]) == ("cxl", "relaxed")
    assert float(rows[0][weeks]) == done.ettr and done.faults > 0 and lost not in rows[0]
    shares = [float(row[weeks]) for row in rows[:3]]
    assert shares == sorted(shares, reverse=True)
    assert (rows[3]["system"], rows[3]["policy.protection"], rows[3][weeks]) == (
        "pmem",
        "relaxed",
        "",
    )  # it has no place for that log


def test_a_link_asks_the_same_as_the_words(store: Path) -> None:
    asked = LinkQuestions("grid:4", (f"{TIME}<=1e9",), f"{TIME},{COST}")
    axes = ("system:pmem,cxl", "machine.gpu:v100,a100-80,h100-sxm", "machine.num_gpus:1,16")
    shared = swept(store, "--link", link(preset("optane-rm1").scenario, "optane-rm1", "sweep", axes, questions=asked))
    words = ("--preset", "optane-rm1", *GRID, "--sample", "4", "--where", f"{TIME}<=1e9", "--pareto")
    assert shared == swept(store, *words) and 0 < len(shared) <= 4


def test_points_that_contradict_themselves_are_rows_with_their_sentence(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = store.with_suffix(".csv")
    words = ["--axis", "system=pmem,cxl", "--axis", "model.embedding_dim=16,32", "--csv", str(target)]
    assert main(["sweep", "--estimate", *words]) == 2
    rows = table(target)
    assert [(row["system"], row["model.embedding_dim"], bool(row[TIME])) for row in rows] == [
        ("pmem", "16", True), ("pmem", "32", False), ("cxl", "16", True), ("cxl", "32", False)
    ]  # fmt: skip
    assert rows[1]["outcome"].startswith("At system=pmem, model.embedding_dim=32: model.bottom_mlp ends in 16")
    assert capsys.readouterr().err.startswith("2 of 4 points failed; the first: At system=pmem")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sweep --csv - --estimate --top 3", "needs an order"),
        ("sweep --csv - --estimate --where x<1", "neither a result nor a numeric knob"),
        ("sweep --csv - --preset tiny", "too many for full runs"),
        ("sweep --csv - --estimate --link ?axis=system:cxl,pmem&only=system:cxl", "give --axis these values"),
        ("search --csv - --preset tiny --objective AUC", "An estimate has no AUC"),
        ("search --csv - --preset tiny --where AUC>=0.7", "add --confirm K"),
        ("search --csv - --preset tiny --evaluations 0", "not a number of points"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(words: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.err.count("\n") == 1 and said.out == ""


@pytest.mark.usefixtures("computed_here")
def test_a_search_writes_the_front_and_confirms_some_of_it_by_full_runs(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = store.with_suffix(".csv")
    words = ["--axis", "system=pmem,cxl-b", "--axis", "machine.gpu=v100,a100-80", "--set", "run.batches=20", "--where", "auc>=0"]
    words += ["--evaluations", "40", "--confirm", "2", "--store", str(store), "--csv", str(target), "--jobs", "1"]
    assert main(["search", "--preset", "tiny", *words]) == 0
    rows = table(target)
    confirmed = [row for row in rows if row["full run"]]
    assert 0 < len(confirmed) <= 2
    for row in confirmed:
        gap = float(row[f"{TIME}, gap of the estimate [%]"])
        real = float(row[f"{TIME}, full run"])
        assert gap == pytest.approx(100 * (float(row[TIME]) - real) / real) and abs(gap) < 5
    said = capsys.readouterr().err
    assert said.startswith("4 estimates. ") and "full runs: Step time [ms] of the estimate is at most" in said


@pytest.mark.usefixtures("computed_here")
def test_a_short_sweep_estimates_each_point_once_for_the_table_of_a_kept_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("sweep", "--estimate", "--preset", "optane-rm1", *GRID, "--axis", "model.top_mlp=256-1,256-2", "--pareto")
    kept, short = tmp_path / "kept.csv", tmp_path / "short.csv"
    refused = main([*words, "--csv", str(kept), "--jobs", "1", "--store", str(tmp_path / "kept.sqlite")])
    estimated: list[Scenario] = []
    estimates = sweep_tables.estimates
    monkeypatch.setattr(sweep_tables, "estimates", lambda group: estimated.extend(group) or estimates(group))
    assert main([*words, "--csv", str(short)]) == refused != 0
    assert short.read_bytes() == kept.read_bytes() and len(estimated) == len(set(estimated)) == 12


def test_a_target_out_of_reach_ends_with_how_near_one_comes(capsys: pytest.CaptureFixture[str]) -> None:
    words = "search --csv - --preset tiny --evaluations 20 --where Nodes>=5"
    assert main(words.split()) == 3
    assert "None of 20 points has Nodes >= 5: the nearest has 1." in capsys.readouterr().err


@pytest.mark.slow
def test_a_long_sweep_of_estimates_that_is_interrupted_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    words, store = ["sweep", "--estimate", "--preset", "tiny", "--axis", "data.seed=1,2,3", "--csv"], tmp_path / "kept.sqlite"
    monkeypatch.setattr(sweep, "DEFAULT", store)
    assert main([*words, str(tmp_path / "forgotten.csv")]) == 0 and not store.exists()
    monkeypatch.setattr(sweep, "KEPT_SECONDS", 0.0)
    with monkeypatch.context() as early:
        early.setattr(sweep.sweep_tables, "survey", interrupted)
        assert main([*words, str(tmp_path / "table.csv")]) == 130
    assert ask(store, "SELECT count(*) FROM claims") == [(3,)]
    assert main([*words, str(tmp_path / "table.csv")]) == 0
    assert ask(store, "SELECT count(*) FROM claims") == [(3,)]
    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "forgotten.csv").read_bytes()


@pytest.mark.slow
def test_a_look_at_many_points_holds_a_few_numbers_of_each() -> None:
    def peak(points: Sweep) -> int:
        def outcomes(scenarios: Iterator[Scenario]) -> Iterator[Result]:
            return (Result(one, True, "", {TIME: float(one.data.seed), COST: 1.0}) for one in scenarios)

        tracemalloc.start()
        found = sweep_tables.survey(
            points, "estimate", outcomes, sweep_arguments.SweepQuestions(objectives=read_objectives(f"{TIME},{COST}"))
        )
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found and found.any_ran and found.columns[TIME][-1] == 90_000
        return used

    base = TINY
    few, many = (Sweep(base, (parse(f"data.seed=1:90000:{count}"),)) for count in (200, 1000))
    gc.disable()  # a collection gives the interpreter's spare tuples and numbers back, which count again
    try:
        for _ in range(3):  # until they, and what is remembered for all, are there
            peak(many)
        assert peak(many) - peak(few) < 250 * 800
    finally:
        gc.enable()
