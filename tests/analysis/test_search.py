"""Does a search find the front that the whole grid has?"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.analysis import search, suggested_axes
from engine.analysis.objective import read_constraint, read_objectives
from engine.errors import BadInput
from engine.estimates import estimates
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, values, with_values
from engine.sweep.axes import parse
from engine.sweep.sweep import Sweep
from tests.machines import TINY

TIME, COST = "Step time [ms]", "Capital cost [USD]"
BOTH = read_objectives(f"{TIME},{COST}")
LATENCY = "machine.cxl_latency_ns"
KINDS = tuple(
    map(
        parse,
        (
            "machine.num_ssds=1:8:8",
            "machine.host_dram_channels=1:8:8",
            "system=cxl,pmem,ssd,dram",
            "machine.cxl_lanes=1,2,4,8,16",
        ),
    )
)


def shallow(scenario: Scenario) -> dict[str, float | None]:
    """A made-up machine with a bent front: the system and the drives trade time for cost, lanes and channels can be wrong."""
    m = scenario.machine
    drives, channels = m.num_ssds or 1, m.host_dram_channels or 6
    order = ("ssd", "pmem", "dram", "cxl").index(scenario.system)
    wrong = (channels - 5) ** 2 + (m.cxl_lanes - 8) ** 2 / 4
    return {TIME: 10 / (drives + 3 * order + 1) + wrong / 8, COST: (drives + 4.0 * order) ** 1.5 + wrong}


def faked(monkeypatch: pytest.MonkeyPatch, of: Callable[[Scenario], dict[str, float | None]], counted: list[Scenario]) -> None:
    def estimates(scenarios: Sequence[Scenario]) -> list[Result]:
        counted.extend(scenarios)
        return [Result(one, ran=True, outcome="", results=of(one)) for one in scenarios]

    monkeypatch.setattr("engine.analysis.search.estimates", estimates)


def covered(points: Sequence[tuple[float, float]], reference: tuple[float, float]) -> float:
    """The area that two-dimensional points dominate up to a reference: a staircase, from the left."""
    area, lowest = 0.0, reference[1]
    for x, y in sorted(points):
        if y < lowest and x < reference[0]:
            area, lowest = area + (reference[0] - x) * (lowest - y), y
    return area


@pytest.mark.slow
def test_two_hundred_real_estimates_cover_the_front_of_a_default_grid() -> None:
    """A tenth of 2,016 points, before six modules hid the log: its bound is no axis of tiny any more."""
    base = TINY
    axes = suggested_axes.suggested_axes(base)
    whole = [one.results for one in estimates(list(Sweep(base, axes))) if one.ran]
    points = {(row[TIME] or 0, row[COST] or 0) for row in whole}
    best = [one for one in points if not any(a <= one[0] and b <= one[1] and (a, b) != one for a, b in points)]
    corner = (max(x for x, _ in best) * 1.05, max(y for _, y in best) * 1.05)
    found = search.search(base, axes, BOTH, evaluations=200)
    assert len(whole) > 1000 and len(found.results) <= 200
    reached = [(one.results[TIME] or 0, one.results[COST] or 0) for one in found.front]
    assert covered(reached, corner) >= 0.99 * covered(best, corner)


@pytest.mark.parametrize("name", ["tiny", "bagpipe-kaggle"])
def test_the_grid_to_begin_with_holds_the_base_and_only_knobs_that_act(name: str) -> None:
    base = preset(name).scenario
    axes = suggested_axes.suggested_axes(base)
    grid = Sweep(base, axes)
    assert 500 <= len(grid) <= suggested_axes.MAX_POINTS and not grid.refused
    assert all(values(base)[axis.path] in axis.values for axis in axes) and axes[0].path == "system"
    for axis in axes[1:]:  # each changes time or cost somewhere
        tried = [
            estimates([with_values(base, {"system": system, axis.path: value}) for value in axis.values])
            for system in axes[0].values
        ]
        seen = [{(one.results[TIME], one.results[COST]) for one in some if one.ran} for some in tried]
        assert any(len(some) > 1 for some in seen), axis.path


def test_a_search_is_the_same_each_time_and_another_with_another_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    faked(monkeypatch, shallow, [])
    base = Scenario()
    once, again = (search.search(base, KINDS, BOTH, evaluations=60) for _ in range(2))
    other = search.search(base, KINDS, BOTH, evaluations=60, settings=(("data.seed", 2),))
    assert once.results == again.results != other.results


def test_an_interrupted_search_writes_the_front_of_what_it_has_estimated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counted: list[Scenario] = []

    def at_first(scenario: Scenario) -> dict[str, float | None]:
        if len(counted) > most:
            raise KeyboardInterrupt
        return shallow(scenario)

    faked(monkeypatch, at_first, counted)
    out, words = tmp_path / "front.csv", ("--axis", f"{LATENCY}=10:500", "--axis", "system=cxl,pmem,ssd,dram")
    most = 20
    assert main(["search", "--preset", "tiny", *words, "--evaluations", "64", "--confirm", "3", "--csv", str(out)]) == 130
    assert capsys.readouterr().err.startswith("Interrupted; run the command again for the whole search. 16 estimates.")
    assert 1 < len(out.read_text().splitlines()) <= 17
    out.unlink()
    most = 0
    assert main(["search", "--preset", "tiny", *words, "--csv", str(out)]) == 130
    assert not out.exists() and not capsys.readouterr().err


def test_the_front_keeps_the_bounds_and_a_point_that_cannot_run_is_on_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def partly(scenario: Scenario) -> dict[str, float | None]:
        return {TIME: None, COST: None} if scenario.machine.cxl_lanes == 8 else shallow(scenario)

    faked(monkeypatch, partly, [])
    bounds = [read_constraint("machine.num_ssds<=3"), read_constraint(f"{TIME}<=2")]
    found = search.search(Scenario(), KINDS, BOTH, bounds, evaluations=120)
    assert found.front
    for one in found.front:
        assert one.scenario.machine.num_ssds <= 3 and (one.results[TIME] or 9) <= 2 and one.scenario.machine.cxl_lanes != 8
    times = [one.results[TIME] or 0 for one in found.front]
    assert times == sorted(times) and len(set(times)) == len(times)


def test_ranges_are_searched_anywhere_and_a_small_box_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Scenario] = []

    def bent(one: Scenario) -> dict[str, float | None]:
        latency = one.machine.cxl_latency_ns
        return {TIME: ((250.0 if latency is None else latency) - 77.7) ** 2, COST: 1.0}

    faked(monkeypatch, bent, counted)
    found = search.search(Scenario(), [parse(f"{LATENCY}=0:1000")], BOTH, evaluations=150)
    assert found.front[0].scenario.machine.cxl_latency_ns == pytest.approx(77.7, abs=15)
    small = search.search(Scenario(), [parse("system=cxl,pmem"), parse("machine.num_ssds=1:3")], BOTH, evaluations=300)
    assert len(small.results) == 6


def test_contradictions_cost_nothing_and_a_box_of_nothing_else_is_refused() -> None:
    base = preset("optane-kaggle").scenario
    found = search.search(base, [parse("model.embedding_dim=16,32"), parse("machine.gpu=v100,a100-80")], BOTH, evaluations=20)
    assert {one.scenario.model.embedding_dim for one in found.results} == {16} and len(found.results) == 2
    with pytest.raises(BadInput, match="bottom_mlp ends in 16"):
        search.search(base, [parse("model.embedding_dim=32,64")], BOTH, evaluations=20)
    with pytest.raises(BadInput, match="needs at least one axis"):
        search.search(base, [], BOTH)
