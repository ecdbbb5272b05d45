"""Do the books of a run balance, does it cost nothing that no fault strikes, and is it the same in any process? (I9-I11)"""

from functools import cache

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from engine.estimate import estimate
from engine.registry import all_variants
from engine.results.ledger import ACCOUNTS, RECOVERY
from engine.results.report import run_report
from engine.run.run import follow_run
from engine.run.shared_training import untrained_resolve
from engine.scenario.scenario import KNOBS, with_values
from engine.schedule.machine import schedule
from engine.simulate import simulate
from engine.training.loop import Scores
from tests.cases import each, examples
from tests.machines import LOGGING, STRICT, SYSTEMS, counted_flow, ready, scenario

NOT_LISTED = ("fault-in-recovery", "late-detection")
WITH_KNOBS = [name for name in all_variants("faults") if f"faults.{name.replace('-', '_')}_at_seconds" in KNOBS]
NAMES = tuple(name.replace("-", "_") for name in WITH_KNOBS if name not in NOT_LISTED)
ENDS = ("memory-loss", "flush-failure")  # may end the run
STOPS = tuple(
    name.replace("-", "_") for name, fault in all_variants("faults").items() if fault.kind == "fail-stop" and name not in ENDS
)
STOPS = tuple(name for name in STOPS if name in NAMES)
QUICK = {"run.training": False, "run.batches": 40, "faults.detect_seconds": 1e-3, "faults.restart_seconds": 2e-3}


def tiny(system, **faults):
    """Return preset tiny, untrained, with quick recoveries and these fault knobs."""
    return scenario("tiny", system, **{**QUICK, **{f"faults.{name}": value for name, value in faults.items()}})


@cache
def amounts(system):
    """Return what the 40 batches touch; faults do not change it."""
    return counted_flow(tiny(system), 40)


@cache
def quiet(system):
    """Return the fault-free timeline."""
    return schedule(ready(tiny(system)), amounts(system))


def accounts(asked):
    """Return a run and its report."""
    m, asks = ready(asked), amounts(asked.system)
    done, _ = follow_run(m, asks, None, untrained_resolve(m))
    return done, run_report(done, asks, Scores())


instants = st.lists(st.tuples(st.sampled_from(NAMES), st.floats(0, 0.02)), max_size=5)
struck = {
    "system": st.sampled_from((*SYSTEMS, "cxl")),
    "at": instants,
    "seed": st.integers(0, 99),
    "share": st.sampled_from([0.0, 0.5]),
    "repair": st.sampled_from([0.0, 0.004]),
}


def faulty(system, at, seed, share, repair):
    """Return a scenario with these strikes."""
    lists = {f"{name}_at_seconds": tuple(sorted(x for one, x in at if one == name)) for name, _ in at}
    knobs = {"fault_in_recovery_share": share, "repair_median_seconds": repair, "fail_slow_seconds": 0.001}
    return tiny(system, **lists, **knobs, seed=seed, repair_sigma=0.5, media_error_where="row log")


@examples(25)
@given(**struck)
def test_I9_every_second_and_joule_is_entered_once(system, at, seed, share, repair):
    done, told = accounts(faulty(system, at, seed, share, repair))
    assert sum(told.ledger.seconds.values()) == pytest.approx(done.elapsed, rel=1e-9)
    assert sum(told.ledger.joules.values()) == pytest.approx(told.joules, rel=1e-9)
    assert min(*told.ledger.seconds.values(), *told.ledger.joules.values()) >= -1e-12
    phases = [attempt for crash in done.crashes for attempt in crash.outage.attempts]
    for name in ("detect", "repair", "restart", "restore"):
        assert told.ledger.seconds[name] == pytest.approx(sum(getattr(one, name) for one in phases), rel=1e-12)
    assert done.completed or told.ledger.seconds["useful"] == 0


@each("system", SYSTEMS)
def test_I9_one_fault_costs_what_its_phases_say_and_replay_is_entered_once(system):
    line = quiet(system)
    at = float(line.batch_ends[17] + 0.4 * (line.batch_ends[18] - line.batch_ends[17]))
    _, told = accounts(tiny(system, gpu_crash_at_seconds=(at,), repair_median_seconds=0.25))
    found = told.ledger.seconds
    assert (found["detect"], found["repair"], found["restart"]) == pytest.approx((1e-3, 0.25, 2e-3), rel=1e-12)
    resumed = told.crashes[0].resumption.embedding_batch
    ended = 18 if resumed <= 18 else 19
    assert found["lost"] == pytest.approx(0 if resumed == 19 else at - line.batch_ends[17], rel=1e-9)
    replayed = line.batch_ends[ended - 1] - (line.batch_ends[resumed - 1] if resumed else 0.0)
    assert found["replay"] == pytest.approx(replayed, rel=0.3, abs=0.3 * line.makespan / 40)
    assert (found["replay"] > 0) == (resumed < ended)
    kept = found["useful"] + found["checkpoint"] + found["stalled"]
    assert line.makespan <= kept + 1e-12 and kept <= 1.2 * line.makespan


def test_I9_work_of_a_run_that_starts_again_at_the_first_batch_is_lost_or_replayed():
    line = quiet("dram")
    at = float(line.batch_ends[20])
    _, told = accounts(tiny("dram", power_loss_at_seconds=(at,)))
    assert told.ledger.seconds["replay"] == pytest.approx(at, rel=1e-9), "21 batches ran twice, their second time is replay"
    assert told.ledger.seconds["lost"] == 0
    assert told.ledger.seconds["useful"] == pytest.approx(line.makespan, rel=1e-9)
    assert told.ledger.seconds["stalled"] == pytest.approx(0, abs=1e-12)


@each("answer", [simulate, estimate])
@each("system", [*SYSTEMS, "cached-embedding", "fae"])
def test_I9_the_books_of_a_result_are_its_elapsed_time_and_energy(system, answer):
    result = answer(with_values(tiny(system), {"policy.cache_load_factor": 1.0}))
    books = {row["Account"]: row for row in result.ledger}
    assert tuple(books) == ACCOUNTS
    assert sum(row["Time [s]"] for row in result.ledger) == pytest.approx(result.results["Elapsed [s]"], rel=1e-9)
    assert sum(row["Energy [J]"] for row in result.ledger) == pytest.approx(result.results["Energy [J]"], rel=1e-9)
    parts = ("Useful", "Checkpoint", "Lost", "Recovery")
    assert sum(result.results[f"{part} energy [J]"] for part in parts) == pytest.approx(result.results["Energy [J]"], rel=1e-9)
    exposed = sum(row["Exposed [s]"] for row in result.breakdown if row["Stage"] == "Checkpoint")
    assert books["checkpoint"]["Time [s]"] == pytest.approx(40 * exposed, rel=0.05, abs=1e-12)
    assert (books["checkpoint"]["Energy [J]"] > 0) == (system in LOGGING)


def test_I9_metrics_are_the_books_in_other_words():
    result = simulate(tiny("cxl-b", gpu_crash_at_seconds=(0.002, 0.0075), repair_median_seconds=0.001))
    time = {row["Account"]: row["Time [s]"] for row in result.ledger}
    told = result.results
    assert told["Effective training time ratio"] == time["useful"] / told["Elapsed [s]"]
    assert told["Goodput [samples/s]"] == pytest.approx(40 * 16 / told["Elapsed [s]"], rel=1e-12)
    assert told["Lost work [s]"] == time["lost"] + time["replay"]
    names = {"Detection": "detect", "Repair": "repair", "Restart": "restart", "Restore": "restore", "Replay": "replay"}
    assert {name: told[f"{name} time [s]"] for name in names} == {name: time[account] / 2 for name, account in names.items()}
    parts = [told[f"{name} time [s]"] for name in list(names)[:-1]]
    assert told["Recovery time [s]"] == pytest.approx(sum(parts), rel=1e-12)
    energy = {row["Account"]: row["Energy [J]"] for row in result.ledger}
    assert told["Recovery energy [J]"] == pytest.approx(sum(energy[name] for name in RECOVERY), rel=1e-12)
    assert told["RPO embeddings [batches]"] == told["RPO MLP [batches]"] in (1, 2)
    assert simulate(tiny("cxl-b")).results["RPO MLP [batches]"] is None, "no fault, nothing to say"


def test_I9_a_relaxed_recovery_loses_more_batches_of_the_mlp_than_of_the_embeddings():
    slow = {"machine.cxl_bandwidth_GBps": 0.1, "machine.cxl_latency_ns": 1e5}
    asked = with_values(tiny("cxl", power_loss_at_seconds=tuple(0.0041 * n for n in range(1, 6))), slow)
    told = simulate(asked).results
    assert told["RPO MLP [batches]"] > told["RPO embeddings [batches]"] >= 1


@each("system", SYSTEMS)
def test_I10_faults_that_come_too_rarely_to_strike_cost_exactly_nothing(system):
    never = simulate(tiny(system))
    rare = simulate(tiny(system, **{f"{name}_mtbf_hours": 1e9 for name in NAMES}, rates="llama3", fault_in_recovery_share=0.5))
    assert rare.results == never.results and rare.ledger == never.ledger and rare.outcome == never.outcome


@examples(15)
@given(
    system=st.sampled_from((*STRICT, "dram")),
    at=st.lists(st.tuples(st.sampled_from(STOPS), st.floats(0, 0.02)), max_size=4),
    name=st.sampled_from(STOPS),
    more=st.floats(0, 0.02),
)
@example("cxl-b", [("correlated_shock", 0.0), ("correlated_shock", 0.0029), ("correlated_shock", 0.00596)], "host_crash", 0.0039)
def test_I10_adding_a_fault_that_stops_the_job_never_raises_useful_work(system, at, name, more):
    line = quiet(system)
    # A persist under way ends at once where the first fault spares it, so a mild fault just before a hard one would save it.
    assume(all(abs(more - when) > line.makespan / 40 for _, when in at))
    _, told = accounts(faulty(system, at, 1, 0.0, 0.0))
    _, worse = accounts(faulty(system, [*at, (name, more)], 1, 0.0, 0.0))
    # While a recovery starts over no batch begins whose rows the next fault would have to put back.
    recovery = QUICK["faults.detect_seconds"] + QUICK["faults.restart_seconds"]
    spared = told.ledger.seconds["restore"] if any(more < when < more + recovery for _, when in at) else 0.0
    assert worse.ledger.seconds["useful"] <= line.makespan * (1 + 1e-12)
    least = told.elapsed - spared
    assert worse.ledger.seconds["useful"] / worse.elapsed <= told.ledger.seconds["useful"] / least * (1 + 1e-9)
    assert worse.elapsed >= least * (1 - 1e-9)
