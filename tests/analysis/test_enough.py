"""Is the smallest machine the smallest, against every smaller one estimated alone, and its band that of each draw alone?"""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.__main__ import main
from engine.analysis.enough.bands import Bands, DrawBand, bands
from engine.analysis.enough.ladder import card_link, links_of, module_knobs, modules_of, search_ladder, search_near, spread_rungs
from engine.analysis.enough.question import Candidate, Target, baseline_of, make_question
from engine.analysis.enough.sentences import answer_sentences
from engine.analysis.enough.smallest import Explorer, changes_of, cheapest_by_choice, choices_of, find_smallest, first_on_ladder
from engine.analysis.uncertainty import draws
from engine.errors import BadInput, CannotRun
from engine.estimate import estimate
from engine.insight.knobs.stops import CAPACITY
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import sized_scenario
from tests.cases import SELECTION, each, examples
from tests.machines import TINY

STEP, DOLLARS = "Step time [ms]", "Capital cost [USD]"
NEAR, RELAXED, BOUND = "machine.near_data_compute", "policy.relaxed_lookup", "policy.mlp_staleness_bound_batches"
CASES = [
    ("optane-rm3", {}, "dram", Target(0.1)),
    ("optane-rm4", {"machine.cxl_bandwidth_GBps": 6.0}, "dram", Target(0.25)),
    ("trainingcxl-rm2", {CAPACITY: 900.0}, "pmem", Target(-0.8)),
    ("dlrm-terabyte", {"machine.num_expanders": 2, CAPACITY: 1000.0}, "dram", Target(1.0)),
]


@cache
def answered(number):
    name, knobs, baseline, target = CASES[number]
    scenario = with_values(preset(name).scenario, {"system": "cxl", **knobs})
    return find_smallest(make_question(scenario, baseline_of(scenario, baseline), target))


def alone(question, modules, gbps, choice=()):
    """Return the seconds and USD of one machine, estimated by itself; infinite where it cannot run."""
    found = estimate(with_values(question.scenario, changes_of(question, modules, gbps, choice)))
    return (found.results[STEP] / 1e3, found.results[DOLLARS]) if found.ran else (np.inf, np.inf)


def first(values, meets):
    return next((value for value in values if meets(value)), None)


@pytest.mark.slow
@each("number", range(len(CASES)), few=1)
def test_no_smaller_capacity_and_no_slower_link_meets_the_target(number):
    answer = answered(number)
    q, counts = answer.question, range(1, modules_of(answer.question.scenario) + 1)
    base = estimate(q.baseline.scenario).results[STEP] / 1e3
    goal = (q.target.milliseconds or 0) / 1e3 or (1 + q.target.tolerance) * base
    assert q.goal == pytest.approx(goal, rel=1e-8)
    if answer.capacity.meets:
        assert answer.capacity.machine.modules == first(counts, lambda count: alone(q, count, None)[0] <= goal)
    else:
        nearest = min(alone(q, count, None)[0] for count in (*range(1, 200, 7), *range(200, counts[-1], 500)))
        assert goal < answer.capacity.machine.seconds <= 1.0101 * nearest
    links = links_of(q.scenario)
    if answer.bandwidth.meets:
        assert answer.bandwidth.machine.gbps == first(links, lambda gbps: alone(q, None, gbps)[0] <= goal)
    else:
        steps = [alone(q, None, gbps)[0] for gbps in links[::5]]
        assert goal < answer.bandwidth.machine.seconds <= 1.0101 * min(steps)


@each("number", range(len(CASES)), few=1)
def test_no_cheaper_machine_meets_the_target_over_any_link_and_with_any_choice(number):
    answer = answered(number)
    q, best = answer.question, answer.cheapest.machine
    assert answer.cheapest.meets and len(choices_of(q)) == 4
    links = links_of(q.scenario)
    choice = tuple((path, best.changes[path]) for path in answer.switched)
    assert alone(q, best.modules, best.gbps, choice) == pytest.approx((best.seconds, best.dollars), rel=1e-12)
    assert best.seconds <= q.goal
    for other in choices_of(q):
        for count in {*range(1, best.modules + 12, 1 if SELECTION.all else 5), best.modules - 1 or 1, best.modules}:
            for gbps in (*links[len(links) % 40 :: 40], links[-1]):
                seconds, dollars = alone(q, count, gbps, other)
                assert seconds > q.goal or dollars >= best.dollars * (1 - 1e-12)
    slower = [gbps for gbps in links if gbps < best.gbps]
    assert not [gbps for gbps in slower if alone(q, best.modules, gbps, choice)[0] <= q.goal]


def test_modules_with_links_of_their_own_bring_as_many_and_the_links_are_paid():
    scenario = preset("dlrm-terabyte").scenario  # four modules of nv-cmm hold its tables
    q = make_question(scenario, baseline_of(scenario, "dram"), Target(0.1))
    for count in (4, 5, 9):
        eased = estimate(with_values(scenario, {CAPACITY: 32.0 * count})).results
        assert alone(q, count, None) == pytest.approx((eased[STEP] / 1e3, eased[DOLLARS]), rel=1e-12)
    few = estimate(with_values(scenario, {CAPACITY: 32.0 * 9, "machine.num_expanders": 4})).results
    assert alone(q, 9, None)[0] <= few[STEP] / 1e3 and alone(q, 9, None)[1] == pytest.approx(few[DOLLARS] + 5 * (500 + 4000))
    assert modules_of(q.scenario) == 1024


@pytest.mark.slow
def test_out_of_reach_the_machine_is_the_cheapest_of_those_as_near_as_any():
    scenario = with_values(preset("optane-rm3").scenario, {"system": "cxl", NEAR: False})
    answer = find_smallest(make_question(scenario, baseline_of(scenario, "dram"), Target(milliseconds=0.01)))
    best, choice = answer.cheapest.machine, tuple((path, answer.cheapest.machine.changes[path]) for path in answer.switched)
    assert not answer.cheapest.meets
    fastest = min(alone(answer.question, best.modules, gbps, choice)[0] for gbps in links_of(scenario)[::7])
    assert best.seconds <= 1.0101 * fastest and best.gbps < links_of(scenario)[-1]


@given(st.lists(st.floats(0, 10), min_size=1, max_size=60), st.floats(0, 10), st.integers(1, 7), st.integers(0, 59))
@examples(60)
def test_of_falling_steps_the_first_that_meets_the_goal_is_found_and_of_others_one_whose_last_fails(steps, goal, between, start):
    for values in (sorted(steps, reverse=True), steps, [np.nan, *steps]):
        meeting = [rung for rung, value in enumerate(values) if value <= goal]

        def seconds(pairs, values=values):
            return [values[rung] for _, rung in pairs]

        (wide,) = search_ladder(spread_rungs(0, len(values) - 1, 8), seconds, [goal], between)
        (near,) = search_near(start % len(values), range(1, len(values) + 1), seconds, [goal])
        for found in (wide, near):
            if sorted(steps, reverse=True) == values:
                assert found.first_rung == (meeting[0] if meeting else None)
            elif found.first_rung is not None:
                assert found.first_rung in meeting and (found.first_rung == 0 or found.first_rung - 1 not in meeting)
            else:
                assert not {0, len(values) - 1} & {*meeting}


def test_rungs_far_from_the_first_are_found_in_few_steps_where_rates_make_the_seconds():
    for first in (3, 61, 500, 2000):
        trace = search_near(61, range(1, 3000), lambda pairs, n=first: [4 + n / (rung + 1) for _, rung in pairs], [5.0])[0]
        assert trace.first_rung == first - 1 and len(trace.seconds) <= 7


def test_where_more_is_worse_the_answer_says_so_and_stays_the_smallest():
    scenario = with_values(TINY, {"system": "cxl"})
    q = make_question(scenario, baseline_of(scenario, "dram"), Target(milliseconds=4.0))
    steps = [9.0, 5.0, 3.9, 3.0, 6.0, 6.6]
    ladder = [(count + 1, None, ()) for count in range(len(steps))]
    made = {
        one: Candidate({}, one[0], None, Result(scenario, True, "", {STEP: step, DOLLARS: 1.0, "Energy per batch [J]": 1.0}))
        for one, step in zip(ladder, steps, strict=True)
    }
    explorer = Explorer(q, made, {one: candidate.seconds for one, candidate in made.items()})
    found = first_on_ladder(explorer, ladder)
    assert found.meets and found.machine.modules == 3 and found.next_smaller.modules == 2
    assert [one.modules for one in found.larger_but_slower] == [4, 6]
    assert first_on_ladder(explorer, ladder[:4]).larger_but_slower is None


def test_a_machine_of_a_module_less_misses_the_target_by_the_stage_that_waits_longest_for_it():
    smallest = answered(0).cheapest
    machine, smaller = smallest.machine, smallest.next_smaller
    exposed, longer = (
        {(row["Stage"], row["Device"]): row["Exposed [s]"] for row in estimate(found.result.scenario).breakdown}
        for found in (machine, smaller)
    )
    grown = {cell: seconds - exposed.get(cell, 0.0) for cell, seconds in longer.items()}
    assert max(grown, key=grown.get) == ("Checkpoint", "pmem") and smaller.modules == machine.modules - 1
    growth = f"{1e3 * grown['Checkpoint', 'pmem']:.3g} ms"
    reason = answer_sentences(answered(0), Bands(None, None, None)).reason
    assert f"misses the target, since Checkpoint on PMEM is exposed for {growth} longer." in reason


def test_fewer_modules_are_found_where_a_single_one_of_the_fast_links_lets_them_meet_the_target():
    scenario = with_values(TINY, {"system": "cxl"})
    q, link = make_question(scenario, baseline_of(scenario, "dram"), Target(milliseconds=4.0)), links_of(scenario)[-2]

    class MadeUp(Explorer):
        """Over one link three modules take 3 ms, over all others seven; fewer take 5 ms."""

        def steps(self, specs):
            return [3e-3 if count >= (3 if gbps == link else 7) else 5e-3 for count, gbps, _ in specs]

        def candidates_of(self, specs):
            results = [{STEP: 1e3 * seconds, DOLLARS: 1.0, "Energy per batch [J]": 1.0} for seconds in self.steps(specs)]
            return [Candidate({}, *spec[:2], Result(scenario, True, "", made)) for spec, made in zip(specs, results, strict=True)]

    for smallest in cheapest_by_choice(MadeUp(q)).values():
        assert smallest.meets and (smallest.machine.modules, smallest.machine.gbps) == (3, link)
        assert smallest.next_smaller.modules == 2


@pytest.mark.slow
@each("number", [0, 1], few=2)
def test_a_band_is_that_of_each_draw_searched_alone(number):
    answer, samples = answered(number), 6
    q, found = answer.question, bands(answer, samples)
    best = with_values(q.scenario, answer.cheapest.machine.changes)
    base = q.baseline.scenario
    counts = []
    for draw in draws(q.scenario, samples, best, base):
        assumed = {"machine.assume": tuple(draw.items())}
        goal = (1 + q.target.tolerance) * estimate(with_values(base, assumed)).results[STEP]
        steps = (estimate(with_values(best, {CAPACITY: None, **changes_of(q, n, None, ()), **assumed})) for n in range(1, 1500))
        counts.append(next((n + 1 for n, one in enumerate(steps) if one.ran and one.results[STEP] <= goal), np.inf))
    low, high = np.quantile(counts, (0.05, 0.95), method="nearest")
    assert (found.cheapest.low, found.cheapest.high) == (low, high)


def test_draws_are_those_of_the_bands_and_others_add_their_own_constants():
    scenario = with_values(preset("optane-rm3").scenario, {"system": "cxl"})
    own, wider = draws(scenario, 5), draws(scenario, 5, baseline_of(scenario, "dram"))
    for one, more in zip(own, wider, strict=True):
        assert more.items() > one.items() and {name.split(".")[0] for name in more.keys() - one.keys()} == {"expander-dram"}


def test_a_target_out_of_reach_says_how_near_one_gets_and_what_limits():
    scenario = with_values(preset("optane-rm3").scenario, {"system": "cxl"})
    q = make_question(scenario, baseline_of(scenario, "dram"), Target(milliseconds=0.01))
    answer = find_smallest(q)
    said, machine = answer_sentences(answer, bands(answer, 4)), answer.cheapest.machine
    assert not (answer.capacity.meets or answer.bandwidth.meets or answer.cheapest.meets) and said.reason == ""
    assert f"{machine.seconds / 1e-5:.3g} times the target" in said.cheapest and "9 of 10 draws" in said.cheapest
    assert machine.result.finding in said.cheapest and "no capacity up to" in said.capacity and "no link up to" in said.bandwidth


def test_a_baseline_that_cannot_run_is_refused_unless_the_step_is_given():
    scenario = with_values(preset("torchrec-terabyte").scenario, {"machine.num_gpus": 16})
    with pytest.raises(CannotRun, match=r"The baseline, system dram, cannot run: machine.num_gpus=16"):
        make_question(scenario, baseline_of(scenario, "dram"), Target(0.1))
    answer = find_smallest(make_question(scenario, baseline_of(scenario, "dram"), Target(milliseconds=1e4)))
    assert answer.cheapest.meets and answer_sentences(answer, bands(answer, 4)).cheapest.startswith(
        "Cheapest at 10,000 ms a batch or less: "
    )


def test_a_baseline_gets_the_dram_that_its_tables_take_and_its_own_policies():
    """Three tables of ten billion rows of 16 B are 447 GiB, which six DIMMs of 96 GiB hold, and no fewer or smaller ones."""
    own = {"model.num_embeddings": (10_000_000_000,), BOUND: 7, "machine.expander_dram_GiB": 16.0, "machine.num_ssds": 9}
    scenario = with_values(TINY, {"system": "cxl", **own})
    base = baseline_of(scenario, "dram")
    assert base.policy.mlp_staleness_bound_batches is base.machine.expander_dram_GiB is base.machine.num_ssds is None
    assert estimate(base).ran and sized_scenario(base).machine.expander_dram_GiB == 6 * 96
    assert not estimate(with_values(base, {"machine.expander_dram_GiB": 6.0 * 64})).ran
    assert (
        "; the baseline, system dram, takes "
        in answer_sentences(find_smallest(make_question(scenario, base, Target(5.0)))).present
    )


@each(
    ("system", "neither"),
    [("pmem", ("bandwidth",)), ("dram", ("capacity",)), ("cached-embedding", ("capacity", "bandwidth"))],
    few=3,
)
def test_a_knob_that_the_system_has_not_does_not_apply(system, neither):
    scenario = with_values(preset("optane-rm3").scenario, {"system": system})
    answer = find_smallest(make_question(scenario, baseline_of(scenario, "dram"), Target(1.0)))
    said = vars(answer_sentences(answer, bands(answer, 4)))
    for name in ("capacity", "bandwidth"):
        assert (getattr(answer, name) is None) == (name in neither) == ("does not apply" in said[name])
    assert said["relaxed_lookup"] == "" == said["staleness"]


def test_modules_of_several_nodes_are_told_for_each():
    scenario = with_values(preset("mtrains-capacity").scenario, {"machine.target_throughput": None, "machine.num_gpus": 16})
    q = make_question(scenario, baseline_of(scenario, "dram-hbm-nodes"), Target(9.0))
    answer = find_smallest(q)
    count = answer.capacity.machine.modules
    assert "on each of 2 nodes" in answer_sentences(answer).capacity
    assert answer.capacity.machine.result.results["PMEM modules"] == 2 * count
    assert count == 1 or alone(q, count - 1, None)[0] > q.goal


@each("number", range(len(CASES)), few=1)
def test_the_smallest_age_of_the_log_and_each_choice_are_as_estimates_say(number):
    answer = answered(number)
    q, best = answer.question, answer.cheapest.machine
    for bound, one in answer.staleness.items():
        step = estimate(with_values(q.scenario, {**best.changes, BOUND: bound})).results[STEP]
        assert one.seconds == pytest.approx(step / 1e3, rel=1e-12)
    for path, one in answer.switched.items():
        step = estimate(with_values(q.scenario, {**best.changes, path: not best.changes[path]})).results[STEP]
        assert one.seconds == pytest.approx(step / 1e3, rel=1e-12)
        others = [found for choice, found in answer.choices.items() if dict(choice)[path] != best.changes[path]]
        said = vars(answer_sentences(answer))[{NEAR: "near_data", RELAXED: "relaxed_lookup"}[path]]
        assert ("not needed" in said or "may be on" in said) == any(found.meets for found in others)


@each("target", [{"tolerance": -1.0}, {"tolerance": float("nan")}, {"milliseconds": 0.0}, {"milliseconds": float("inf")}], few=4)
def test_a_target_that_no_step_can_meet_is_refused(target):
    with pytest.raises(BadInput, match="not possible; choose"):
        Target(**target)


@each(
    ("low", "high", "said"),
    [
        (55, 283, "55 to 283 modules"),
        (1, 1, "1 module"),
        (1, 1131, "1 to 1,131 modules"),
        (1, np.inf, "1 module or more, some beyond its range,"),
        (np.inf, np.inf, "more than is in range"),
    ],
    few=5,
)
def test_a_band_is_told_beside_its_modules_and_what_is_out_of_range_in_words(low, high, said):
    answer = answered(0)
    assert f"; {said} in 9 of 10 draws)" in answer_sentences(answer, Bands(None, None, DrawBand(low, high))).cheapest


@each(
    ("target", "said"),
    [
        (Target(0.1), "within 10 % of DRAM"),
        (Target(0.0), "as fast as DRAM"),
        (Target(-0.5), "at 50 % of DRAM's step or less"),
        (Target(milliseconds=3.5), "at 3.5 ms a batch or less"),
    ],
    few=4,
)
def test_a_target_is_told_against_the_baseline_by_its_title(target, said):
    assert target.target_text("dram") == said


def test_a_link_as_fast_as_a_card_is_told_as_that_card():
    answer = answered(3)
    found = answer.bandwidth
    name, own = card_link(answer.question.scenario, 13.0 / 1.02)
    for gbps, said in ((own, f"{own:.3g} GB/s each ({name})"), (own / 4, f"({name} has {own:.3g} GB/s)")):
        machine = replace(found.machine, gbps=gbps)
        assert (
            said in answer_sentences(replace(answer, bandwidth=replace(found, machine=machine, larger_but_slower=None))).bandwidth
        )


@pytest.mark.slow
def test_the_command_says_it_all(capsys):
    own = (
        "name=dlrm-kaggle",
        "num_tables=40",
        "num_embeddings=5000000",
        "embedding_dim=64",
        "pooling=20",
        "bottom_mlp=13-512-256-64",
    )
    sets = [
        word
        for one in (*(f"model.{one}" for one in own), "data.batch_size=4096", "machine.prices=2026")
        for word in ("--set", one)
    ]
    assert main(["enough", "--preset", "optane-kaggle", *sets, "--within", "10"]) == 0
    out = capsys.readouterr().out
    cheapest = re.search(
        r"Cheapest within 10 % of DRAM: 41 × 128 GB of PMEM \(5,248 GB; (\d+) to (\d+) modules in 9 of 10 draws\)", out
    )
    assert cheapest and 24 < int(cheapest[1]) < 41 < int(cheapest[2]) < 65  # draws change with each new constant
    machine = r"and a CXL link of 26\.0 GB/s, with near-data compute on and relaxed lookup off: 11\d,000 USD \(2026\), 6\.69 ms"
    assert re.search(machine, out)
    assert "6.69 ms and 10.3 J a batch, of which 86 % is static power." in out
    assert "a CXL link of 17.0 GB/s (×16 Gen4 has 25.8 GB/s) comes nearest with" in out and "Near-data compute is needed" in out
    assert "for a billion samples" in out and "PMEM capacity: Beyond" in out
    assert main(["enough", "--within", "-100"]) == 2


@each(("medium", "own"), [("optane-200", False), ("nv-cmm", True)])
def test_more_modules_bring_more_links_only_where_each_has_its_own(medium, own):
    s = sized_scenario(with_values(preset("trainingcxl-rm1").scenario, {"machine.pmem": medium}))
    knobs = module_knobs(s, 4)
    assert knobs.get("machine.num_expanders") == (4 if own else None) and knobs[CAPACITY] > 0
