"""Do sweep axes mean what they say, and is everything else refused with a sentence?"""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.axes import Axis, grid, parse
from engine.errors import BadKnob
from engine.scenario import Scenario, values, with_values

BANDWIDTH = "machine.cxl_bandwidth_GBps"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{BANDWIDTH}=8,16.5,64", (8.0, 16.5, 64.0)),
        (f"{BANDWIDTH}:8,16.5,64", (8.0, 16.5, 64.0)),
        (f" {BANDWIDTH} = 8 , 16 ", (8.0, 16.0)),
        (f"{BANDWIDTH}=1:1000:4:log", (1.0, 10.0, 100.0, 1000.0)),
        (f"{BANDWIDTH}:0.1:0.5:5", (0.1, 0.2, 0.3, 0.4, 0.5)),
        (f"{BANDWIDTH}=7:7:1", (7.0,)),
        ("data.batch_size=1:3:10", (1, 2, 3)),
        ("data.batch_size=8:64:4", (8, 27, 45, 64)),
        ("model.num_embeddings=10:1000:3:log", ((10,), (100,), (1000,))),
        ("faults.power_loss_at_seconds=1;2,3", ((1.0, 2.0), (3.0,))),
        ("model.bottom_mlp=13-512-16,13-16", ((13, 512, 16), (13, 16))),
        ("policy.mlp_staleness_bound_batches=auto,0,100", (None, 0, 100)),
        ("machine.near_data_compute=on,off", (True, False)),
        ("model.name=tiny,rm1", ("tiny", "rm1")),
    ],
)
def test_an_axis_reads_as_its_values(text: str, expected: tuple[object, ...]) -> None:
    axis = parse(text)
    assert axis == Axis(text.strip().split("=")[0].split(":")[0].strip(), expected)
    assert parse(str(axis)) == axis


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "cannot be read"),
        ("x", "cannot be read"),
        ("=1,2", "cannot be read"),
        ("machine.cxl_bandwith_GBps=1", "is not a knob"),
        (f"{BANDWIDTH}=", "empty value"),
        (f"{BANDWIDTH}=1,,2", "empty value"),
        (f"{BANDWIDTH}=1,2,1.0", "twice"),
        (f"{BANDWIDTH}=5:5:2", "twice"),
        (f"{BANDWIDTH}=5:1:3", "goes from 5 down to 1"),
        (f"{BANDWIDTH}=1:5:0", "COUNT '0'"),
        (f"{BANDWIDTH}=1:5:-1", "COUNT '-1'"),
        (f"{BANDWIDTH}=1:5:2.5", "COUNT '2.5'"),
        (f"{BANDWIDTH}=1:5:²", "COUNT '²'"),
        (f"{BANDWIDTH}=1:5:99999999999999999999", "COUNT '9999"),
        (f"{BANDWIDTH}=1:5:100001", "COUNT '100001'"),
        (f"{BANDWIDTH}=1:5:3:lin", "scale 'lin'"),
        (f"{BANDWIDTH}=1:5:3:log:log", "not a number"),
        (f"{BANDWIDTH}=nan:5:3", "not finite"),
        (f"{BANDWIDTH}=1:inf:3", "not finite"),
        (f"{BANDWIDTH}=0:5:3", "out of range"),
        (f"{BANDWIDTH}=1,x", "is not a number"),
        ("machine.cxl_latency_ns=0:5:3:log", "starts at 0"),
        ("machine.pmem_capacity_GiB=auto:5:3", "must each be one number"),
        ("model.num_embeddings=1;2:5:3", "must each be one number"),
        ("system=cxl:pmem:2", "not known"),
        ("system=cxl,nope", "not known"),
        (f"{BANDWIDTH}={','.join(map(str, range(1, 100_003)))}", "more than 100,000"),
    ],
)
def test_a_bad_axis_is_refused_with_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadKnob, match=sentence) as refusal:
        parse(text)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@given(some.text(max_size=40))
def test_whatever_is_written_is_an_axis_or_a_sentence(text: str) -> None:
    for prefix in ("", f"{BANDWIDTH}=", "data.batch_size:", "system="):
        try:
            axis = parse(prefix + text)
        except BadKnob:
            continue
        assert parse(str(axis)) == axis


def test_the_grid_is_every_combination_with_the_first_axis_slowest() -> None:
    found = grid(Scenario(), [parse("data.batch_size=1,2"), parse("system=pmem,cxl,ssd")])
    assert [(one.data.batch_size, one.system) for one in found] == [
        (1, "pmem"), (1, "cxl"), (1, "ssd"), (2, "pmem"), (2, "cxl"), (2, "ssd")
    ]  # fmt: skip
    assert grid(Scenario(), []) == (Scenario(),)


def test_a_swept_model_is_set_whole_before_the_settings_and_the_other_axes() -> None:
    settings = {"model.learning_rate": 0.25, "data.batch_size": 7}
    tiny, rm1 = grid(Scenario(), [parse("model.optimizer=adagrad"), parse("model.name=tiny,rm1")], settings)
    for found, name in ((tiny, "tiny"), (rm1, "rm1")):
        changes = {"model.name": name, "model.optimizer": "adagrad", **settings}
        assert found == with_values(Scenario(), changes)
        assert (found.model.learning_rate, found.data.batch_size, found.model.optimizer) == (0.25, 7, "adagrad")
    assert tiny.model.num_tables == values(with_values(Scenario(), {"model.name": "tiny"}))["model.num_tables"]


def test_an_axis_comes_after_a_setting_of_the_same_knob() -> None:
    found = grid(Scenario(), [parse("data.batch_size=1,2")], {"data.batch_size": 7, "run.batches": 3})
    assert [(one.data.batch_size, one.run.batches) for one in found] == [(1, 3), (2, 3)]


def test_a_combination_that_no_scenario_can_take_is_named() -> None:
    with pytest.raises(BadKnob, match=r"At model.embedding_dim=32: model.bottom_mlp ends in 16"):
        grid(Scenario(), [parse("model.embedding_dim=16,32")])


def test_too_many_points_and_repeated_axes_are_refused_before_any_is_made() -> None:
    many = parse("data.batch_size=1:1000:1000")
    with pytest.raises(BadKnob, match="span 1,000,000 points; at most 100,000"):
        grid(Scenario(), [many, parse("run.batches=1:1000:1000")])
    with pytest.raises(BadKnob, match="given twice"):
        grid(Scenario(), [many, many])


def test_a_sample_is_a_part_of_the_grid_in_its_order_and_follows_the_seed() -> None:
    axes = [parse("data.batch_size=1:100:100"), parse("run.batches=1,2")]
    whole = grid(Scenario(), axes)
    some_points = grid(Scenario(), axes, sample=20)
    places = [whole.index(one) for one in some_points]
    assert len(places) == 20 and places == sorted(set(places))
    assert some_points == grid(Scenario(), axes, sample=20)
    assert [one.data.batch_size for one in some_points] != [
        one.data.batch_size for one in grid(with_values(Scenario(), {"data.seed": 2}), axes, sample=20)
    ]
    assert grid(Scenario(), axes, sample=500) == whole
    with pytest.raises(BadKnob, match="sample=0"):
        grid(Scenario(), axes, sample=0)
