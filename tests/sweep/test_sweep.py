"""Is a sweep the points that its axes span, each made when looked at, and the same in every process?"""

import tracemalloc

import numpy as np
import pytest

from engine.core.memo import Reads, Recorder
from engine.errors import BadKnob
from engine.scenario.presets import preset
from engine.scenario.scenario import GROUPS, KNOBS, KNOBS_WITH_RULES, Scenario, _check_rules, values, with_values
from engine.sweep import links
from engine.sweep.axes import parse
from engine.sweep.sweep import KINDS, RefusedPlace, Sampling, Sweep, sampling
from tests.cases import each

BOX = tuple(map(parse, ("machine.cxl_bandwidth_GBps=0.5:64:4:log", "system=cxl-d,cxl-b,cxl", "data.batch_size=16:4096:5:log")))
FITS = "model.embedding_dim=16,32"  # 32 contradicts the bottom MLP of the default model


def grid(*texts: str, **more: object) -> Sweep:
    return Sweep(Scenario(), tuple(map(parse, texts)), **more)  # type: ignore[arg-type]


def test_the_grid_is_every_combination_with_the_first_axis_slowest() -> None:
    found = grid("data.batch_size=1,2", "system=pmem,cxl,ssd")
    assert [(one.data.batch_size, one.system) for one in found] == [
        (1, "pmem"), (1, "cxl"), (1, "ssd"), (2, "pmem"), (2, "cxl"), (2, "ssd")
    ]  # fmt: skip
    assert list(grid()) == [Scenario()]
    assert found[1:3] == (found[1], found[2]) and found[-1] == found[5]


def test_a_swept_model_is_set_whole_before_the_settings_and_the_other_axes() -> None:
    settings = (("model.learning_rate", 0.25), ("data.batch_size", 7))
    tiny, rm1 = grid("model.optimizer=adagrad", "model.name=tiny,rm1", settings=settings)
    for found, name in ((tiny, "tiny"), (rm1, "rm1")):
        changes = {"model.name": name, "model.optimizer": "adagrad", **dict(settings)}
        assert found == with_values(Scenario(), changes)
        assert (found.model.learning_rate, found.data.batch_size, found.model.optimizer) == (0.25, 7, "adagrad")
    assert tiny.model.num_tables == values(with_values(Scenario(), {"model.name": "tiny"}))["model.num_tables"]


def test_an_axis_comes_after_a_setting_of_the_same_knob() -> None:
    found = grid("data.batch_size=1,2", settings=(("data.batch_size", 7), ("run.batches", 3)))
    assert [(one.data.batch_size, one.run.batches) for one in found] == [(1, 3), (2, 3)]
    assert found.place(1) == {"data.batch_size": 2} and found.changes(1) == {"data.batch_size": 2, "run.batches": 3}


def test_a_combination_that_no_scenario_can_take_is_a_sentence_beside_the_others() -> None:
    found = grid("system=cxl,pmem", FITS)
    assert [(one.system, one.model.embedding_dim) for one in found] == [("cxl", 16), ("pmem", 16)]
    assert [one.sentence[:66] for one in found.refused] == [
        "At system=cxl, model.embedding_dim=32: model.bottom_mlp ends in 16",
        "At system=pmem, model.embedding_dim=32: model.bottom_mlp ends in 1",
    ]
    assert [isinstance(point, RefusedPlace) for point in found.points()] == [False, True, False, True]
    assert found.refused[0].place == {"system": "cxl", "model.embedding_dim": 32}


def test_knobs_of_the_data_contradict_each_other_point_by_point_too() -> None:
    """What hot rows and rows used once take of a table's lookups must leave 0.01 to the others."""
    found = grid("data.once_share=0.1,0.9,0.69,0.7", settings=(("data.hottest_shares", (0.3,)),))
    assert [one.place for one in found.refused] == [{"data.once_share": 0.9}, {"data.once_share": 0.7}]
    assert [one.data.once_share for one in found] == [0.1, 0.69]


def test_a_sweep_of_nothing_but_contradictions_is_refused() -> None:
    with pytest.raises(BadKnob, match=r"At model.embedding_dim=32: model.bottom_mlp ends in 16"):
        grid("model.embedding_dim=32,64")
    with pytest.raises(BadKnob, match=r"model.bottom_mlp ends in 16"):
        grid("system=cxl,pmem", settings=(("model.embedding_dim", 32),))


@pytest.mark.parametrize("name", ["tiny", "meta-856", "optane-rm1"])
def test_knobs_that_no_rule_names_never_contradict_one_another(name: str) -> None:
    base, rng = preset(name).scenario, np.random.default_rng(5)
    free = [knob for path, knob in KNOBS.items() if path not in KNOBS_WITH_RULES and knob.kind != "text"]
    ends = {knob.path: knob.allowed or [end for end in (knob.low, knob.high) if end is not None] for knob in free}
    for _ in range(40):  # any values together, each allowed alone
        with_values(base, {path: some[rng.integers(len(some))] for path, some in ends.items() if some and KNOBS[path].kind in
                           ("float", "int", "choice")})  # fmt: skip


def test_too_many_points_repeated_axes_and_ranges_without_a_count_are_refused_before_any_is_made() -> None:
    many = "data.batch_size=1:1000:1000"
    with pytest.raises(BadKnob, match="have 1,000,000 points in all, but at most 100,000"):
        grid(many, "run.batches=1:1000:1000")
    with pytest.raises(BadKnob, match="given twice"):
        grid(many, many)
    with pytest.raises(BadKnob, match="range without COUNT"):
        grid("machine.cxl_bandwidth_GBps=1:8")
    assert len(grid(many, "run.batches=1:1000:1000", sampling=Sampling("sobol", 16))) == 16


def test_a_sample_is_a_part_of_the_grid_in_its_order_and_follows_the_seed() -> None:
    axes = ("data.batch_size=1:100:100", "run.batches=1,2")
    whole, some = list(grid(*axes)), list(grid(*axes, sampling=Sampling("grid", 20)))
    places = [whole.index(one) for one in some]
    assert len(places) == 20 and places == sorted(set(places))
    assert some == list(grid(*axes, sampling=Sampling("grid", 20)))
    other = grid(*axes, sampling=Sampling("grid", 20), settings=(("data.seed", 2),))
    assert [one.data.batch_size for one in some] != [one.data.batch_size for one in other]
    assert list(grid(*axes, sampling=Sampling("grid", 500))) == whole


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "grid"])
def test_every_sampled_point_has_a_link_that_reproduces_it(kind: str) -> None:
    base = preset("trainingcxl-rm1").scenario
    found = Sweep(base, BOX, sampling=Sampling(kind, 33))  # type: ignore[arg-type]
    assert len(found) == len(set(found)) == 33 and found == Sweep(base, BOX, sampling=sampling(f"{kind}:33"))
    for point in found:
        assert links.open_link(links.link(point, "trainingcxl-rm1")).scenario == point
        assert 0.5 <= (point.machine.cxl_bandwidth_GBps or 0) <= 64 and 16 <= point.data.batch_size <= 4096
    assert [found.place(3)] == [Sweep(base, BOX, sampling=Sampling(kind, 33)).place(3)]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["sobol", "lhs"])
def test_an_even_sampling_meets_every_eighth_of_every_axis_equally_often(kind: str) -> None:
    axes = tuple(map(parse, ("machine.cxl_latency_ns=0:800", "machine.pcie_bandwidth_GBps=10:90")))
    found = Sweep(Scenario(), axes, sampling=Sampling(kind, 64))  # type: ignore[arg-type]
    latencies = [point.machine.cxl_latency_ns for point in found]
    rates = [point.machine.pcie_bandwidth_GBps for point in found]
    assert np.histogram(latencies, 8, (0, 800))[0].tolist() == np.histogram(rates, 8, (10, 90))[0].tolist() == [8] * 8


def test_more_points_of_a_sobol_sequence_begin_with_the_fewer() -> None:
    few, more = (Sweep(Scenario(), BOX, sampling=Sampling("sobol", count)) for count in (10, 50))
    assert list(more[:10]) == list(few)


def test_a_sampling_of_a_few_levels_gives_each_once() -> None:
    found = grid("system=cxl,pmem", "data.batch_size=1:3", sampling=Sampling("random", 1000))
    assert len(found) == len(set(found)) == 6


@each(
    ("text", "sentence"),
    [
        ("sobol", "needs a number of points"),
        ("sobol:0", "sample=0"),
        ("sobol:100001", "sample=100001"),
        ("sobol:²", "cannot be read"),
        ("sobel:64", "did you mean sobol"),
        ("x" * 5000, "is not known"),
    ],
)
def test_a_bad_sampling_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadKnob, match=sentence) as refusal:
        sampling(text)
    assert len(str(refusal.value)) < 300


def test_a_digest_tells_sweeps_apart_and_depends_on_the_seed_only_where_it_draws() -> None:
    one = Sweep(Scenario(), BOX)
    reseeded = with_values(Scenario(), {"data.seed": 2})
    many = [one, Sweep(Scenario(), BOX[:2]), Sweep(reseeded, BOX), Sweep(Scenario(), BOX, (("run.batches", 7),))]
    many += [Sweep(Scenario(), BOX, sampling=Sampling(kind, 20)) for kind in KINDS]
    assert len({sweep.digest for sweep in many}) == len(many)
    assert one.digest == Sweep(Scenario(), BOX).digest


def test_a_sweep_of_100_000_points_costs_a_few_numbers_a_point() -> None:
    axes = tuple(map(parse, ("machine.cxl_bandwidth_GBps=1:64:1000", "machine.cxl_latency_ns=1:100:100")))
    tracemalloc.start()
    found = Sweep(Scenario(), axes)
    assert len(found) == 100_000 and found[99_999].machine.cxl_latency_ns == 100
    used, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 60 * 100_000 and peak < 200 * 100_000, (used, peak)


@each("name", ["tiny", "optane-rm1", "meta-856"])
@each("interaction", ["dot", "concat"])
def test_rules_between_knobs_look_at_those_alone_that_a_sweep_tries_together(name: str, interaction: str) -> None:
    notes = Reads()
    base = with_values(preset(name).scenario, {"model.bottom_mlp": (13, 64), "model.embedding_dim": 64})
    _check_rules(Recorder(with_values(base, {"model.interaction": interaction}), notes), GROUPS)  # type: ignore[arg-type]
    assert notes and set(notes) <= KNOBS_WITH_RULES
