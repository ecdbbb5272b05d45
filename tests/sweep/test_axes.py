"""Do sweep axes mean what they say, and is everything else refused with a sentence?"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.errors import BadKnob
from engine.sweep.axes import Span, parse
from tests.cases import each

BANDWIDTH = "machine.cxl_bandwidth_GBps"


@each(
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
    assert (axis.path, axis.values) == (text.strip().split("=")[0].split(":")[0].strip(), expected)
    assert parse(str(axis)) == axis


@each(
    ("text", "span"),
    [
        (f"{BANDWIDTH}=8:64", Span(8.0, 64.0)),
        (f"{BANDWIDTH}=8:64:log", Span(8.0, 64.0, log=True)),
        (f"{BANDWIDTH}:0.1:64:5:log", Span(0.1, 64.0, 5, log=True)),
        ("data.batch_size=8:64", Span(8.0, 64.0)),
        (f"{BANDWIDTH}=8,64", None),
    ],
)
def test_a_range_keeps_its_ends_for_samplings(text: str, span: Span | None) -> None:
    axis = parse(text)
    assert axis.span == span and bool(axis.values) == (span is None or span.count is not None)
    assert parse(str(axis)) == axis


def test_a_grid_and_a_sampling_of_lanes_find_only_lanes_that_exist() -> None:
    axis = parse("machine.cxl_lanes=1:16:16")
    assert set(axis.values) == {1, 2, 4, 8, 16}
    assert {axis.setting(number) for number in axis.axis_numbers(np.linspace(0, 1, 50))} == {1, 2, 4, 8, 16}


def test_shares_of_an_axis_reach_its_ends_and_give_each_level_equal_room() -> None:
    shares = (np.arange(1200) + 0.5) / 1200
    for text, levels in (("data.batch_size=1:3", [1, 2, 3]), ("system=cxl,pmem,ssd", ["cxl", "pmem", "ssd"])):
        axis = parse(text)
        assert Counter(axis.setting(number) for number in axis.axis_numbers(shares)) == dict.fromkeys(levels, 400)
    ratios = parse(f"{BANDWIDTH}=1:100:log")
    assert [ratios.setting(number) for number in ratios.axis_numbers(np.array([0, 0.5, 1]))] == [1, 10, 100]


@each(
    ("text", "sentence"),
    [
        ("", "cannot be read"),
        ("=1,2", "cannot be read"),
        ("machine.cxl_bandwith_GBps=1", "is not a knob"),
        (f"{BANDWIDTH}=", "empty value"),
        (f"{BANDWIDTH}=1,,2", "empty value"),
        (f"{BANDWIDTH}=1,2,1.0", "twice"),
        (f"{BANDWIDTH}=5:5:2", "twice"),
        (f"{BANDWIDTH}=5:1:3", "goes from 5 down to 1"),
        (f"{BANDWIDTH}=1:5:0", "COUNT '0'"),
        (f"{BANDWIDTH}=1:5:²", "COUNT '²'"),
        (f"{BANDWIDTH}=1:5:100001", "COUNT '100001'"),
        (f"{BANDWIDTH}=1:5:3:lin", "scale 'lin'"),
        (f"{BANDWIDTH}=1:5:3:log:log", "not a number"),
        (f"{BANDWIDTH}=nan:5:3", "not finite"),
        (f"{BANDWIDTH}=0:5:3", "out of range"),
        (f"{BANDWIDTH}=1,x", "is not a number"),
        ("machine.cxl_latency_ns=0:5:3:log", "starts at 0"),
        ("machine.pmem_capacity_GB=auto:5:3", "which is not a number; write LOW and HIGH"),
        ("model.num_embeddings=1;2:5:3", "which is not a number; write LOW and HIGH"),
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
