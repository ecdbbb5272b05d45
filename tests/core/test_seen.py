"""Is a stage computed once for the values that it reads, and again for any other?"""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from engine.core.memo import clear_memos, is_given, memoised
from engine.errors import BadKnob
from engine.hardware.devices.gpu import memory_bytes
from engine.scenario.scenario import Scenario, with_values
from tests.machines import TINY

BASE = TINY
LANES, HOPS, BATCH = "machine.cxl_lanes", "machine.cxl_switch_hops", "data.batch_size"


def counted(stage, most=4096):
    """Return the stage, remembered, and the list of scenarios' batch sizes that it was computed for."""
    calls = []

    @memoised(most)
    def noted(scenario, *others):
        calls.append(others)
        return stage(scenario, *others)

    return noted, calls


def changed(**some):
    return with_values(BASE, {{"lanes": LANES, "hops": HOPS, "batch": BATCH}[name]: value for name, value in some.items()})


def test_what_a_stage_does_not_read_does_not_compute_it_again():
    stage, calls = counted(lambda s: s.machine.cxl_lanes * 2)
    assert [stage(changed(lanes=8, hops=hops)) for hops in (0, 1, 2)] == [16, 16, 16] and len(calls) == 1
    assert stage(changed(lanes=4)) == 8 and len(calls) == 2


def test_a_stage_that_reads_more_where_it_must_is_told_apart_there():
    stage, calls = counted(lambda s: s.machine.cxl_switch_hops if s.machine.cxl_lanes == 8 else -1)
    found = [stage(changed(lanes=lanes, hops=hops)) for lanes in (8, 4) for hops in (0, 1, 0)]
    assert found == [0, 1, 0, -1, -1, -1] and len(calls) == 3


def test_a_stage_within_a_stage_reads_for_both():
    inner, inner_calls = counted(lambda machine: machine.cxl_lanes)
    outer, outer_calls = counted(lambda s: inner(s.machine) + s.data.batch_size)
    assert outer(changed(lanes=8, batch=10)) == 18
    assert outer(changed(lanes=4, batch=10)) == 14
    assert outer(changed(lanes=4, batch=11)) == 15
    assert outer(changed(lanes=4, batch=11, hops=3)) == 15
    assert (len(inner_calls), len(outer_calls)) == (2, 3)


def given_link(scenario):
    return is_given(scenario.machine, "cxl_bandwidth_GBps")


def test_a_stage_that_asks_whether_a_knob_is_given_is_computed_once_for_all_its_values():
    stage, calls = counted(given_link)
    link = "machine.cxl_bandwidth_GBps"
    assert [stage(with_values(BASE, {link: speed})) for speed in (1.0, 2.0, None, 3.0, None)] == [True, True, False, True, False]
    assert len(calls) == 2


def test_a_stage_around_one_that_asks_whether_a_knob_is_given_is_computed_once_too():
    inner, inner_calls = counted(given_link)
    outer, outer_calls = counted(lambda s: (inner(s), s.machine.cxl_lanes))
    for lanes in (8, 4):
        for speed in (1.0, 2.0, None):
            scenario = with_values(changed(lanes=lanes), {"machine.cxl_bandwidth_GBps": speed})
            assert outer(scenario) == (speed is not None, lanes)
    assert (len(inner_calls), len(outer_calls)) == (2, 4)


def test_a_change_within_a_stage_decides_whether_a_knob_is_given():
    link = {"machine.cxl_bandwidth_GBps": 5.0}
    stage, calls = counted(lambda s: given_link(s.with_changes(link)))
    assert [stage(with_values(BASE, {"machine.cxl_bandwidth_GBps": speed})) for speed in (1.0, None)] == [True, True]
    assert len(calls) == 1


@dataclass(frozen=True, eq=False)
class Tool:
    """A dataclass that is equal to itself alone, as a system is."""

    weight: int


@dataclass(frozen=True)
class Pair:
    """A scenario with what follows from it, as a stage is given what is settled."""

    scenario: Scenario
    tool: Tool


def test_of_what_is_settled_knobs_are_read_one_by_one_and_a_thing_as_a_whole():
    stage, calls = counted(lambda pair: with_values(pair.scenario, {LANES: 4}).machine.cxl_lanes * pair.tool.weight)
    one, other = Tool(2), Tool(2)
    assert [stage(Pair(changed(hops=hops), one)) for hops in (0, 1)] == [8, 8] and len(calls) == 1
    assert stage(Pair(changed(lanes=8), one)) == 8 and len(calls) == 1, "what is changed is not read"
    assert stage(Pair(changed(), other)) == 8 and len(calls) == 2


def test_kinds_of_scenario_that_a_stage_tells_apart_are_not_searched_for_one_another():
    looked = []

    class Probe:
        def __init__(self, kind):
            self.kind = kind

        @property
        def own(self):
            looked.append(self.kind)
            return 1

    stage = memoised(by=lambda probe: probe.kind)(lambda probe: probe.own if probe.kind == "a" else 2)
    assert [stage(Probe(kind)) for kind in "abab"] == [1, 2, 1, 2]
    assert set(looked) == {"a"}


def test_changed_knobs_are_read_as_changed_and_no_longer_of_the_scenario():
    stage, calls = counted(lambda s: with_values(s, {LANES: 2 * s.data.batch_size}).machine.cxl_lanes)
    assert stage(changed(batch=4)) == 8 == stage(changed(batch=4, lanes=1)) and len(calls) == 1


def test_a_stage_depends_on_those_assumptions_alone_that_it_reads_and_changes_none():
    def assuming(**some):
        return with_values(
            BASE, {"machine.assume": tuple((name.replace("_", ".", 1).replace("_", "-"), value) for name, value in some.items())}
        )

    stage, calls = counted(lambda s: memory_bytes(s.machine))
    assert stage(assuming(gpu_memory=40.0)) == stage(assuming(gpu_memory=40.0, dram_price=9.0)) == 40e9 and len(calls) == 1
    assert stage(assuming(dram_price=9.0)) == stage(BASE) != 40e9 and len(calls) == 2
    with pytest.raises(RuntimeError, match="cannot change between points here"):
        counted(lambda s: with_values(s, {"machine.assume": ()}))[0](BASE)


def test_a_stage_that_hashes_or_compares_a_group_has_read_all_of_it():
    stage, calls = counted(lambda s: hash(s.machine) + (s.machine == BASE.machine))
    assert stage(BASE) == hash(BASE.machine) + 1
    assert stage(changed(batch=4)) == stage(BASE) and len(calls) == 1
    assert stage(changed(hops=3)) == hash(changed(hops=3).machine) and len(calls) == 2
    whole, calls = counted(lambda s: hash(with_values(s, {HOPS: 3})))
    assert whole(BASE) == hash(changed(hops=3)) == whole(changed(hops=2)) and whole(changed(batch=4)) != whole(BASE)


def test_others_are_part_of_what_is_asked_and_errors_are_not_kept():
    stage, calls = counted(lambda s, n: s.machine.cxl_lanes * n if n else with_values(s, {"no.knob": 1}))
    assert stage(BASE, 1) * 2 == stage(BASE, 2)
    for _ in range(2):
        with pytest.raises(BadKnob, match=r"no\.knob"):
            stage(BASE, 0)
    assert len(calls) == 4


def test_a_knob_read_after_the_stage_is_an_error_not_an_old_value():
    stage, _ = counted(lambda s: lambda: s.machine.cxl_lanes)
    with pytest.raises(RuntimeError, match=r"machine\.cxl_lanes is read after the memoised function has returned"):
        stage(BASE)()


def test_few_answers_are_kept_and_all_can_be_forgotten():
    stage, calls = counted(lambda s: s.data.batch_size, most=3)
    for batch in (1, 2, 3, 4, 4):
        assert stage(changed(batch=batch)) == batch
    assert len(calls) == 4
    clear_memos()
    stage(changed(batch=4))
    assert len(calls) == 5


def test_several_threads_may_ask_for_new_answers_at_once():
    stage, calls = counted(lambda s: s.data.batch_size * s.machine.cxl_lanes, most=1500)
    asked = [changed(batch=batch, lanes=lanes) for batch in range(1, 501) for lanes in (4, 8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda first: [stage(one) for one in asked[first:] + asked[:first]], (0, 250, 500, 750)))
    finally:
        sys.setswitchinterval(before)
    for first, answers in zip((0, 250, 500, 750), found, strict=True):
        assert answers == [one.data.batch_size * one.machine.cxl_lanes for one in asked[first:] + asked[:first]]
    known = len(calls)
    assert [stage(one) for one in asked] and len(calls) == known, "all thousand answers are kept"


def test_what_an_answer_hangs_on_cannot_be_given_by_name():
    @memoised()
    def stage(scenario, factor, *, watch=None):
        return scenario.machine.cxl_lanes * factor

    assert stage(changed(lanes=8), 2, watch=print) == 16 == stage(changed(lanes=8), 2)
    with pytest.raises(TypeError, match=r"remembers answers by \['factor'\]"):
        stage(changed(lanes=8), factor=3)
