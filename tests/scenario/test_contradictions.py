"""Is a scenario refused that sets two knobs of which only one can act, and does every page and old link find a way out?"""

import pytest

from engine import version
from engine.analysis.verdict.space import free_base
from engine.campaign.monthly import failure_row
from engine.commands.scenario_arguments import ScenarioSelection
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.insight.knobs.effect import effect
from engine.insight.knobs.strips import strips
from engine.registry import variant_names
from engine.scenario.contradictions import CONTRADICTIONS
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, Scenario, clear_contradictions, values, with_checked_values, with_values
from engine.schedule.machine import sized_scenario
from engine.sweep import links
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.knob_changes import torchrec_scenario
from engine.validation.claims import claims
from tests.cases import each

COUNT, TARGET = "machine.num_gpus", "machine.target_throughput"
SHARDING, PLAN = "policy.sharding", "policy.plan"
AIMED, COUNTED = preset("meta-856").scenario, preset("torchrec-terabyte").scenario  # one has a target, one 8 GPUs
OLD = f"v={links.REFUSES_CONTRADICTIONS - 1}&model={version.MODEL}"


@each("count", [1, 8, 16, 64])
@each("system", ["mtrains", "torchrec-uvm", "all-hbm"])
def test_a_count_beside_a_presets_target_is_refused_with_both_values_and_the_remedy(count, system):
    with pytest.raises(BadKnob) as refusal:
        with_values(AIMED, {"system": system, COUNT: count})
    said = str(refusal.value)
    assert said.startswith(f"{COUNT}={count} and {TARGET}=200000.0 samples/s contradict each other")
    assert said.endswith(f"leave out {COUNT} or set {TARGET} to auto.")


@pytest.mark.parametrize(
    ("base", "changes", "remedy"),
    [
        (COUNTED, {TARGET: 1e5}, f"set {COUNT} to 1 or leave out {TARGET}."),
        (Scenario(), {COUNT: 4, TARGET: 1e5}, f"leave out {COUNT} or leave out {TARGET}."),
        (with_values(Scenario(), {SHARDING: "row-wise"}), {PLAN: "0"}, f"set {SHARDING} to auto or leave out {PLAN}."),
        (with_values(Scenario(), {PLAN: "0"}), {SHARDING: "row-wise"}, f"leave out {SHARDING} or set {PLAN} to nothing."),
    ],
)
def test_either_of_two_knobs_that_decide_the_same_is_refused_beside_the_other(base, changes, remedy):
    with pytest.raises(BadKnob, match="contradict each other") as refusal:
        with_values(base, changes)
    assert str(refusal.value).endswith(remedy)


def test_a_scenario_made_at_once_of_both_knobs_is_refused_too():
    with pytest.raises(BadKnob, match="contradict each other"):
        Scenario(machine=MachineKnobs(num_gpus=4, target_throughput=1e5))


def test_a_count_with_the_target_off_trains_on_that_count_and_a_target_alone_on_its_own():
    counted = with_values(AIMED, {COUNT: 8, TARGET: None})
    assert sized_scenario(counted).machine.num_gpus == 8
    assert sized_scenario(AIMED).machine.num_gpus == 16
    assert with_values(COUNTED, {COUNT: 1, TARGET: 1e5}).machine.target_throughput == 1e5
    assert with_values(Scenario(), values(AIMED)) == AIMED  # a row of a table has every knob, defaults too


@pytest.mark.parametrize(
    ("decided", "unused", "settings"),
    [({COUNT: 2, PLAN: "0"}, SHARDING, variant_names("plans")), ({TARGET: 1e6}, COUNT, (2, 64))],
)
def test_the_unused_knob_of_a_pair_changes_no_result_beside_the_other(decided, unused, settings):
    base = with_values(preset("tiny").scenario, {"system": "all-hbm", "run.training": False, **decided})
    for setting in settings:
        assert estimate(with_checked_values(base, {unused: setting})).results == estimate(base).results


def test_every_preset_and_its_claims_set_at_most_one_of_each_pair():
    for name in preset_names():
        base = preset(name)
        for claim in claims(name):
            with_values(base.scenario, dict(claim.knobs))  # refuses both
        for unused, deciding, _ in CONTRADICTIONS:
            both = [values(base.scenario)[path] != KNOBS[path].default for path in (unused, deciding)]
            assert not all(both), name


def test_a_change_on_a_page_sets_the_other_knob_back_and_says_so():
    changes, said = clear_contradictions(AIMED, {COUNT: 16})
    assert changes == {COUNT: 16, TARGET: None}
    assert said == f"{TARGET} is auto now, since {COUNT} decides the number of GPUs."
    changes, said = clear_contradictions(COUNTED, {TARGET: 1e5})
    assert changes == {TARGET: 1e5, COUNT: 1} and said.startswith(f"{COUNT} is 1 now")
    planned = with_values(Scenario(), {PLAN: "0"})
    assert clear_contradictions(planned, {SHARDING: "planner"})[0] == {SHARDING: "planner", PLAN: ""}
    for base, unmoved in ((planned, {SHARDING: None}), (COUNTED, {TARGET: None}), (COUNTED, {COUNT: 4}), (AIMED, {TARGET: 1.0})):
        assert clear_contradictions(base, unmoved) == (unmoved, "")


@pytest.mark.parametrize(
    ("text", "expected", "said"),
    [
        (f"preset=meta-856&{COUNT}=4", AIMED, f"Its {COUNT}=4, without effect beside {TARGET}, is {COUNT}=1 now."),
        (f"preset=meta-856&{COUNT}=1", AIMED, ""),
        (f"preset=torchrec-terabyte&{TARGET}=1e5", with_values(COUNTED, {COUNT: 1, TARGET: 1e5}), f"Its {COUNT}=8, without"),
        (
            f"preset=dlrm-kaggle&machine.framework=lean&{SHARDING}=row-wise&{PLAN}=0",
            None,
            f"Its {SHARDING}=row-wise, without effect beside {PLAN}, is",
        ),
        (f"preset=meta-856&{COUNT}=4&{TARGET}=auto", with_values(AIMED, {COUNT: 4, TARGET: None}), ""),
    ],
)
def test_an_older_link_with_both_opens_with_the_knob_that_decided_and_a_banner(text, expected, said):
    opened = links.open_link(f"/design?{text}&{OLD}")
    assert opened.banner.startswith(said) and bool(opened.banner) == bool(said)
    assert expected is None or opened.scenario == expected
    assert links.open_link(links.link(opened.scenario, opened.preset)).scenario == opened.scenario
    if said:
        with pytest.raises(BadKnob, match="contradict each other"):
            links.open_link(f"/design?{text}&v={version.LINK}")


def test_an_older_sweep_along_a_count_without_effect_opens_without_that_axis():
    text = f"/search?preset=meta-856&axis={COUNT}:8,16&axis=system:mtrains,all-hbm&{OLD}"
    opened = links.open_link(text)
    assert opened.axes == ("system:mtrains,all-hbm",)
    assert f"Its axis {COUNT}, without effect beside {TARGET}, is left out now." in opened.banner
    swept = links.open_link(f"/search?preset=torchrec-terabyte&axis={TARGET}:1e5,1e6&{OLD}")
    assert swept.axes and swept.scenario.machine.num_gpus == 1 and f"{COUNT}=8, without effect" in swept.banner


def test_a_sweep_along_a_count_is_refused_beside_a_target_and_runs_without():
    axis = Axis(COUNT, (8, 16))
    with pytest.raises(BadKnob, match=rf"At {COUNT}=8: .* set {TARGET} to auto"):
        Sweep(AIMED, (axis,))
    assert [point.machine.num_gpus for point in Sweep(AIMED, (axis,), ((TARGET, None),))] == [8, 16]
    mixed = Sweep(Scenario(), (Axis(COUNT, (1, 8)), Axis(TARGET, (None, 1e5))))
    assert [one.place for one in mixed.refused] == [{COUNT: 8, TARGET: 1e5}]


def test_strips_and_effects_of_a_count_show_what_pressing_it_would_bring():
    aimed = with_values(preset("tiny").scenario, {"system": "all-hbm", TARGET: 1000.0, "run.training": False})
    (strip,) = strips(aimed, [COUNT])
    assert strip.acts and not any(stop.refused for stop in strip.stops)
    assert strip.own_stop.knob_value == sized_scenario(aimed).machine.num_gpus
    assert effect(aimed, COUNT).acts


def test_a_row_of_failures_and_a_verdict_put_their_own_count_in_the_place_of_a_target():
    row = failure_row.FailureRow(2.0, "week", False, 4, 8)
    asked = failure_row.with_row(AIMED, row)
    assert (asked.machine.num_gpus, asked.machine.target_throughput) == (32, None)
    assert free_base(AIMED).machine.target_throughput is None


def test_torchrecs_ranks_take_the_place_of_a_presets_target_and_it_says_so():
    table = TorchRecTable("t", 1000, 64, "fp32", ("f",))
    choice = torchrec_scenario(AIMED, (table,), ((1.0,),), None, {})
    assert (choice.scenario.machine.num_gpus, choice.scenario.machine.target_throughput) == (8, None)
    assert any(sentence.startswith(f"{TARGET} is auto now") for sentence in choice.sentences)


def test_a_command_line_names_the_remedy():
    start = links.OpenedLink("meta-856", AIMED)
    with pytest.raises(BadKnob, match=f"leave out {COUNT} or set {TARGET} to auto"):
        assert ScenarioSelection(start, {COUNT: 16}, None).scenario
    assert ScenarioSelection(start, {COUNT: 16, TARGET: None}, None).scenario.machine.num_gpus == 16
