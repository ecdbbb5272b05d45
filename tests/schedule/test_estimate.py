"""Does the instant estimate say what a full run then measures?"""

import numpy as np
import pytest

from engine.amounts.expected import expected_traffic
from engine.core.memo import clear_memos
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.estimates import _planned_batches, estimates
from engine.registry import variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import per_table, with_values
from engine.schedule.machine import schedule
from engine.schedule.timeline import work_done
from engine.simulate import simulate
from engine.validation.chance import FORM, _uneven_traffic, error_bar
from engine.validation.validate import gaps, system_lengths
from tests.cases import draw, each
from tests.machines import line, ready, scenario

STEP, JOULES = "Step time [ms]", "Energy per batch [J]"
LEAST = 0.1  # percent: rounding of what a bar is of
DRAWN, MOST_DRAWN = 25, 1e6
RUNS = 3  # of each preset, and of long ones
MOST_SHORT = 1e7  # lookups of a short run
MOST_RUN = 2e9  # lookups of a preset's run: to count more of them takes hours, or more memory than the computer has


def batch_lookups(name):
    s = preset(name).scenario
    return s.data.batch_size * sum(per_table(s.model, "pooling"))


def within_its_error_bar(name, system, batches):
    for gap in gaps(name, system, batches):
        assert abs(gap.percent) <= gap.error_bar + LEAST, gap


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in preset_names() if 3 * batch_lookups(name) < MOST_SHORT])
def test_an_estimate_of_a_short_run_is_its_full_run_but_for_chance_under_any_system(name):
    short = [run for run in system_lengths(name) if run[1] * batch_lookups(name) < MOST_SHORT]
    for system, batches in draw(short, RUNS, name):
        within_its_error_bar(name, system, batches)


@pytest.mark.slow
def test_an_estimate_of_a_long_run_is_its_full_run_but_for_chance_under_any_system():
    lookups = {name: preset(name).scenario.run.batches * batch_lookups(name) for name in preset_names()}
    for name in draw([name for name in lookups if MOST_SHORT <= lookups[name] < MOST_RUN], RUNS):
        ((system, batches),) = draw([run for run in system_lengths(name) if run[1] * batch_lookups(name) >= MOST_SHORT], 1)
        within_its_error_bar(name, system, batches)


@pytest.mark.slow
def test_a_draw_of_estimates_are_their_full_runs_but_for_chance():
    each_batch = {name: batch_lookups(name) for name in preset_names()}
    every = [
        (name, system, batches)
        for name in preset_names()
        for system in variant_names("systems")
        for batches in (1, 3, 10, 60, 300)
    ]
    held = [one for one in every if one[2] * each_batch[one[0]] < MOST_DRAWN and estimates([scenario(*one[:2])])[0].ran]
    for one in draw(held, DRAWN):
        within_its_error_bar(*one)


@each("system", variant_names("systems"), few=6)
@each("batches", [1, 2, 3, 7, 66, 67, 300])
def test_an_estimate_of_a_run_is_all_its_equal_batches_scheduled_one_by_one(system, batches):
    asked = scenario("optane-kaggle", system, **{"run.batches": batches, "policy.mlp_staleness_bound_batches": None})
    m = ready(asked)
    line = schedule(m, expected_traffic(m.settled, batches))
    found = estimate(asked).results
    exact = 1e-9 if batches < 67 else 0.01  # a popular batch more or less among those that stand for others
    assert found[STEP] == pytest.approx(1e3 * line.steady.step, rel=exact)
    assert found["Elapsed [s]"] == pytest.approx(line.makespan, rel=exact)
    joules = line.makespan * sum(device.idle_watts for device in m.devices.values()) + work_done(line, line.makespan).joules.sum()
    assert found["Energy [J]"] == pytest.approx(joules, rel=exact)
    assert found[JOULES] == pytest.approx(line.steady.energy, rel=exact)


@each("bound", [0, 1, 5, 100, 700])
@each("batches", [60, 500, 1000, 5000])
def test_an_estimate_sees_every_turn_of_waits_for_a_late_log(bound, batches):
    asked = scenario("optane-rm4", "cxl", **{"policy.mlp_staleness_bound_batches": bound, "run.batches": batches})
    assert estimate(asked).results[STEP] == pytest.approx(1e3 * line(asked, batches).steady.step, rel=0.002)


@each(
    ("name", "system", "batches"),
    [
        ("optane-rm2", "scratchpipe", 200),
        ("fae-kaggle", "fae", 200),
        ("hotline-kaggle", "hotline", 200),
        ("bagpipe-kaggle", "fae", 300),
    ],
)
def test_what_stands_for_a_long_run_holds_whole_turns_and_the_runs_share_of_unlike_batches(name, system, batches):
    # 48 batches had 10 of scratchpipe's slow ones instead of 9.6, and and fewer or more of fae's popular ones than the run.
    m = ready(scenario(name, system, **{"run.batches": batches}))
    every = schedule(m, expected_traffic(m.settled, batches))
    assert estimate(m.scenario).results[STEP] == pytest.approx(1e3 * every.steady.step, rel=0.003)


@each(("sharding", "is_shared"), [("row-wise", True), ("table-wise", False)])
def test_the_busiest_part_has_more_by_chance_only_where_parts_share_rows(sharding, is_shared):
    m = ready(scenario("tiny", "all-hbm", **{"machine.num_gpus": 2, "policy.sharding": sharding}))
    mean = expected_traffic(m.settled, 1)
    variants = [(one.lookup_skew.item(), one.row_skew.item()) for one in _uneven_traffic(m.settled.placement, mean)]
    if is_shared:
        lookups, rows = (np.max(amounts) for amounts in (m.settled.placement.balance.lookups, m.settled.placement.balance.rows))
        busiest = [1 + np.sqrt(2 * np.log(2) / amount) for amount in (lookups, rows)]
        assert variants[0] == pytest.approx((mean.lookup_skew.item() * busiest[0], mean.row_skew.item() * busiest[1]))
    assert variants[1:] == [(mean.lookup_skew.item(), mean.row_skew.item())] * is_shared


@each("batch_size", [8, 2048])
def test_the_error_bar_knows_that_a_cache_smaller_than_a_batch_keeps_the_last_tables_rows(batch_size):
    """Popular tables come last: the cache holds more rows that the next batch uses than it does on average."""
    knobs = {"model.num_tables": 4, "model.num_embeddings": (40_000, 4000, 400, 50), "data.popularity": "uniform"}
    knobs |= {
        "model.pooling": 4,
        "policy.cache_load_factor": 0.05,
        "data.batch_size": batch_size,
        "run.batches": 300 if batch_size == 8 else 40,
    }
    s = scenario("tiny", "ssd", **knobs)
    told, ran = (one.results[STEP] for one in (estimate(s), simulate(s)))
    assert abs(100 * (told / ran - 1)) <= error_bar(s)[STEP]
    assert (100 * (told / ran - 1) > FORM) == (batch_size > 8)


def test_the_error_bar_is_what_a_miss_more_in_few_batches_would_cost():
    few, many = (error_bar(scenario("tiny", "bagpipe", **{"run.batches": batches}))[STEP] for batches in (30, 3000))
    assert few - FORM > 5 * (many - FORM) > 0  # three deviations of some 4, and of some 400 misses
    assert error_bar(scenario("tiny", "dram"))[STEP] < FORM + 1


@pytest.mark.parametrize("batch_size", [8, 512])
def test_the_error_bar_holds_that_some_part_has_more_rows_of_each_batch_than_any_is_expected_to(batch_size):
    slow = (("gpu.memory-bandwidth", 1.0), ("gpu.kernel-launch", 0.0), ("gpu.GEMM-fixed-time", 0.0))
    by_rows = {"policy.sharding": "row-wise", "machine.num_gpus": 8, "machine.framework": "none", "machine.assume": slow}
    model = {"model.num_tables": 4, "model.pooling": (5,), "model.embedding_dim": 64, "model.num_embeddings": (100_000,)}
    layers = {"model.bottom_mlp": (13, 64), "model.top_mlp": (4, 1), "data.popularity": "uniform", "data.batch_size": batch_size}
    s = scenario("tiny", "all-hbm", **by_rows, **model, **layers)
    told, ran = estimate(s).results[STEP], simulate(with_values(s, {"run.training": False})).results[STEP]
    assert -error_bar(s)[STEP] <= 100 * (told / ran - 1) < (-FORM if batch_size == 8 else FORM)


def test_an_estimate_leaves_faults_and_training_out_and_says_so():
    quiet = estimate(scenario("tiny", "cxl"))
    struck = estimate(scenario("tiny", "cxl", **{"faults.power_loss_at_seconds": (0.001,)}))
    assert quiet.results == struck.results
    assert "without faults" in quiet.outcome
    assert quiet.results["AUC"] is None


@each(
    ("system", "path", "value", "sentence"),
    [
        ("cxl-d", "policy.relaxed_lookup", True, "choose system=cxl"),
        ("pmem", "policy.mlp_staleness_bound_batches", 5, "set it to auto or 0, or choose system=cxl"),
        ("cxl", "policy.log", "redo", "keeps an undo log"),
        ("pcie", "policy.log", "undo", "keeps a redo log"),
        ("dram", "policy.log", "undo", "keeps no log"),
        ("dram", "policy.mlp_staleness_bound_batches", 1, "keeps no log; set it to auto or 0"),
    ],
)
def test_a_policy_that_a_system_cannot_have_is_refused_with_a_sentence(system, path, value, sentence):
    with pytest.raises(BadKnob, match=sentence) as refused:
        estimate(scenario("tiny", system, **{path: value}))
    assert path in str(refused.value)
    assert str(refused.value).endswith(".")


@each("batches", [3, 67, 300], few=2)
def test_a_log_that_may_be_older_than_its_run_is_estimated_as_its_batches_are_scheduled_one_by_one(batches):
    """They are scheduled with their own bound; the estimate plans all such runs once."""
    plans = []
    clear_memos()  # what others planned, so that none of these is in its way
    for bound in (batches, batches + 1, 50 * batches):
        asked = scenario("optane-kaggle", "cxl", **{"run.batches": batches, "policy.mlp_staleness_bound_batches": bound})
        m = ready(asked)
        line, found = schedule(m, expected_traffic(m.settled, batches)), estimate(asked).results
        assert m.log_policy.mlp_staleness_bound == bound
        assert found[STEP] == pytest.approx(1e3 * line.steady.step, rel=1e-9)
        assert found["Elapsed [s]"] == pytest.approx(line.makespan, rel=1e-9)
        plans.append(_planned_batches(m.settled))
    assert plans[0] is plans[1] is plans[2]
