"""What does each fault destroy, how does the run go on, and is it, where it can be, the run without a fault to the bit?"""

import re
from dataclasses import replace
from functools import cache
from typing import get_args

import numpy as np
import pytest

from engine.core.work import Copy, Move
from engine.estimate import estimate
from engine.faults.fault import Kind, Loss, Strike, Unit
from engine.hardware.device import seconds
from engine.registry import all_variants
from engine.results.metrics import all_metrics
from engine.run import segment as course
from engine.run.crash_recovery import surviving_events
from engine.run.outage import outage_after
from engine.run.segment import SegmentSchedule, follow_segment
from engine.scenario.scenario import KNOBS
from engine.schedule.machine import schedule
from engine.simulate import simulate
from engine.systems.traffic import batch_range
from tests import ROOT
from tests.cases import each
from tests.machines import STRICT, SYSTEMS, counted_flow, ready, scenario

TIMES = {"faults.detect_seconds": 0.001, "faults.restart_seconds": 0.002}
LEARNED = ("Loss", "AUC", "AUC error", "Accuracy [%]", "Loss (training)", "AUC (training)", "AUC error (training)")
STOPS = ("power_loss", "host_crash", "gpu_crash", "memory_reset", "link_down", "torn_write", "correlated_shock", "false_alarm")
PASSES = ("log_full", "fail_slow")
FEW = ("cxl-b", "ssd")  # an undo log by near-data logic, a redo log by the host: for what costs many runs
LONG_ROWS = {"model.embedding_dim": 16, "model.bottom_mlp": (5, 8, 16)}  # rows of whole lines, which a log can repair
NOT_LISTED = ("fault-in-recovery", "late-detection")
LISTED = [
    name for name in all_variants("faults") if name not in NOT_LISTED and f"faults.{name.replace('-', '_')}_at_seconds" in KNOBS
]


def test_the_catalogue_of_faults_uses_known_words_alone():
    for name, fault in all_variants("faults").items():
        assert fault.kind in get_args(Kind) and fault.unit in get_args(Unit) and fault.destroys <= set(get_args(Loss)), name


def tiny(system, **knobs):
    """Return preset tiny with quick recoveries; knobs without a group are faults'."""
    given = {path if "." in path else f"faults.{path}": value for path, value in knobs.items()}
    return scenario("tiny", system, **{**TIMES, **given})


def timed(system, **knobs):
    """Return the same without training."""
    return tiny(system, **{"run.training": False, **knobs})


@cache
def quiet(system, **knobs):
    """Return the run without a fault."""
    return simulate(tiny(system, **knobs))


def span(system):
    """Return the seconds of a run without a fault."""
    return quiet(system).results["Elapsed [s]"]


def learned(result):
    """Return what training left: each batch's last loss, and the scores of the model."""
    return {row["Batch"]: row["Loss"] for row in result.training}, [result.results[name] for name in LEARNED]


def kinds(result):
    """Return the kinds of a run's events in order."""
    return [row["Kind"] for row in result.events]


@each("optimizer", ["sgd", "rowwise-adagrad", "adam"], few=8)
@each("system", STRICT)
@each("name", STOPS)
def test_a_strict_system_trains_the_same_model_to_the_bit_after_faults_that_stop_it(name, system, optimizer):
    knobs = {"model.optimizer": optimizer}
    at = (0.31 * span(system), 0.31 * span(system) + 0.0031 + 0.4 * span(system))
    struck = simulate(tiny(system, **knobs, **{f"{name}_at_seconds": at}))
    assert struck.ran and kinds(struck) == ["fault", "recovered"] * 2
    assert all_variants("faults")[name.replace("_", "-")].message in struck.events[0]["What"]
    assert learned(struck) == learned(quiet(system, **knobs))


@each("system", STRICT, few=6)
@each("name", PASSES)
def test_faults_that_do_not_stop_a_run_change_its_times_alone(name, system):
    struck = simulate(tiny(system, fail_slow_seconds=0.001, **{f"{name}_at_seconds": (0.3 * span(system), 0.7 * span(system))}))
    assert struck.ran and learned(struck) == learned(quiet(system))
    assert struck.outcome == f"completed after 2 {name.replace('_', '-' if name == 'fail_slow' else ' ')}s, without a stop"
    assert struck.results["Elapsed [s]"] > span(system)


@each("system", STRICT, few=2)
def test_all_kinds_of_faults_together_leave_the_model_of_a_run_without(system):
    hours = {f"{name}_mtbf_hours": 6 * span(system) / 3600 for name in (*STOPS, *PASSES)}
    struck = simulate(tiny(system, **hours, fail_slow_seconds=0.0005, fault_in_recovery_share=0.3, seed=5, detect_seconds=1e-4))
    assert struck.ran and struck.results["Faults"] >= 5
    assert learned(struck) == learned(quiet(system))


# Which of a few kilobytes survive a failed flush depends on what exactly was written last.
@each("name", [name for name in LISTED if name != "flush-failure"], few=13)
@each("system", ("cxl", "dram", *FEW))
def test_without_training_the_same_happens_at_the_same_times(system, name):
    at = (0.37 * span(system), 0.37 * span(system) + 0.0045)
    path = f"{name.replace('-', '_')}_at_seconds"
    struck = {path: at, "fail_slow_seconds": 0.001, **LONG_ROWS, "media_error_where": "logged row"}
    with_it, without = (simulate(tiny(system, **struck, **{"run.training": on})) for on in (True, False))
    times = [[(row["Elapsed [s]"], row["Kind"], row["Batch"]) for row in result.events] for result in (with_it, without)]
    assert times[0] == times[1] and times[0]
    assert with_it.ledger == without.ledger
    same = {metric.name for metric in all_metrics()} - set(LEARNED)
    assert {key: with_it.results[key] for key in same} == {key: without.results[key] for key in same}


def cut_while(system, *tasks, **knobs):
    """Return the machine of a run, its batches, and an instant at which these tasks of one batch are under way."""
    m = ready(timed(system, **knobs))
    amounts = counted_flow(timed(system, **knobs), 40)
    line = schedule(m, amounts)
    k = [line.graph.index(task) for task in tasks]
    starts, ends = line.start[:, k].max(axis=1), line.end[:, k].min(axis=1)
    n = next(n for n in range(2, 38) if starts[n] < ends[n])
    return m, amounts, float(starts[n] + 0.5 * (ends[n] - starts[n]))


def finished(system, name, *tasks, **knobs):
    """Return which persists that were under way when a fault struck are finished by what it spared."""
    m, amounts, at = cut_while(system, *tasks, **knobs)
    ahead = course.UpcomingFaults(
        replace(m.scenario, faults=replace(m.scenario.faults, **{f"{name.replace('-', '_')}_at_seconds": (at,)}))
    )
    segment, strike = follow_segment(SegmentSchedule(m, amounts, schedule(m, amounts), 0, 0.0, False), ahead)
    assert strike == Strike(at, name, 0, 0.001)
    down = outage_after(m, amounts, segment, strike, ahead, 0)
    torn = {event.op for event in segment.cut.events if event.done_share < 1}
    return torn - {event.op for event in surviving_events(m, segment, down) if event.done_share < 1}, torn


SLOW = {"machine.cxl_bandwidth_GBps": 0.1}
SPARED = {
    "power-loss": (set(), set()),
    "host-crash": ({"embedding log"}, set()),
    "gpu-crash": ({"embedding log"}, {"embedding log"}),
    "link-down": ({"embedding log"}, {"embedding log"}),
    "memory-reset": (set(), set()),
    "torn-write": (set(), set()),
    "false-alarm": ({"embedding log"}, {"embedding log"}),
}


@each("name", SPARED)
def test_row_logs_under_way_finish_where_the_fault_spares_who_writes_them(name):
    assert finished("cxl-b", name, "Embedding log") == (SPARED[name][0], {"embedding log"})
    assert finished("pmem", name, "Embedding log") == (SPARED[name][1], {"embedding log"})
    off = {"machine.near_data_compute": False}
    assert finished("cxl-b", name, "Embedding log", **off) == (SPARED[name][1], {"embedding log"})


@each("name", SPARED)
def test_an_mlp_log_under_way_is_cut_by_every_fault(name):
    assert finished("cxl-b", name, "MLP log", **SLOW) == (set(), {"mlp log"})


def test_a_commit_under_way_survives_a_gpu_crash_but_not_every_power_loss():
    resumed, batches = {}, range(2, 38, 3)
    for name in ("power_loss", "gpu_crash"):
        m, amounts, _ = cut_while("cxl-b", "Commit")
        line = schedule(m, amounts)
        commit = line.graph.index("Commit")
        middle = [float(line.start[n, commit] + line.end[n, commit]) / 2 for n in batches]
        runs = [simulate(timed("cxl-b", **{f"{name}_at_seconds": (at,)})) for at in middle]
        resumed[name] = {run.events[1]["Batch"] - n for n, run in zip(batches, runs, strict=True)}
    assert resumed == {"power_loss": {-1, 0}, "gpu_crash": {0}}


@each("system", SYSTEMS)
def test_a_memory_lost_for_good_ends_the_run_where_it_held_the_only_log(system):
    struck = simulate(tiny(system, memory_loss_at_seconds=(0.5 * span(system),)))
    if system == "dram":
        assert struck.ran and struck.events[1]["Batch"] == 0
        return
    assert not struck.ran and struck.outcome.startswith("unrecoverable: the memory that holds tables and logs")
    assert kinds(struck) == ["fault", "unrecoverable"] and struck.results["Unrecoverable"] == 1
    accounts = {row["Account"]: row["Time [s]"] for row in struck.ledger}
    assert accounts["useful"] == 0 and accounts["lost"] == pytest.approx(0.5 * span(system), rel=1e-9)
    assert struck.results["Goodput [samples/s]"] == 0 and struck.results["Effective training time ratio"] == 0


@each("system", FEW, few=1)
def test_a_poisoned_line_is_repaired_from_the_log_or_ends_the_run(system):
    outcomes = {}
    for where in ("logged row", "table", "row log", "mlp log"):
        for share in (0.21, 0.43, 0.66, 0.84):
            at = (share * span(system),)
            struck = simulate(tiny(system, media_error_at_seconds=at, media_error_where=where, **LONG_ROWS))
            same = struck.ran and learned(struck) == learned(quiet(system, **LONG_ROWS))
            assert same or struck.outcome.startswith("unrecoverable: "), "a third way out"
            outcomes.setdefault(where, set()).add(same)
    assert outcomes["logged row"] == {True} and False in outcomes["table"]
    assert False in outcomes["row log"] | outcomes["mlp log"], "the newest log was never hit"
    assert True in outcomes["row log"] | outcomes["mlp log"], "only the newest log was ever hit"


def test_rows_shorter_than_a_line_cannot_be_repaired_from_a_log():
    struck = simulate(tiny("cxl-b", media_error_at_seconds=(0.002,), media_error_where="logged row"))
    assert not struck.ran and "embedding rows are lost to media errors" in struck.outcome


@each("where", ["table", "mlp"])
def test_a_flip_that_no_checksum_covers_changes_the_model_and_is_counted(where):
    at = (0.2 * span("cxl-b"), 0.6 * span("cxl-b"))
    struck = simulate(tiny("cxl-b", silent_corruption_at_seconds=at, silent_corruption_where=where, seed=2))
    assert struck.ran and struck.results["Undetected corruptions"] == 2
    assert kinds(struck) == ["silent", "silent"] and "no checksum covers" in struck.events[0]["What"]
    assert learned(struck)[0] != learned(quiet("cxl-b"))[0]
    assert struck.ledger == quiet("cxl-b").ledger, "a flip takes no time"
    begun = struck.events[0]["Batch"]
    before = [row for row in struck.training if row["Batch"] <= begun]
    assert before == list(quiet("cxl-b").training[: begun + 1]), "the model is as ever until the bit flips"


def test_a_flip_in_a_log_is_seen_by_its_checksum_if_the_log_is_needed_and_else_does_nothing():
    m, _, at = cut_while("cxl-b", "Top MLP")
    flip = {"silent_corruption_where": "log", "silent_corruption_at_seconds": (at,)}
    alone = simulate(tiny("cxl-b", **flip))
    assert alone.ran and learned(alone) == learned(quiet("cxl-b")) and alone.results["Undetected corruptions"] == 0
    needed = simulate(tiny("cxl-b", **flip, gpu_crash_at_seconds=(np.nextafter(at, 1),)))
    assert not needed.ran and "no complete checkpoint" in needed.outcome
    later = simulate(tiny("cxl-b", **flip, gpu_crash_at_seconds=(at + 3 * span("cxl-b") / 40,)))
    assert later.ran and learned(later) == learned(quiet("cxl-b")), "the log was written anew since"
    assert m.log_policy.log == "undo"


@each("system", FEW, few=1)
def test_with_row_checksums_a_flip_in_a_table_stops_the_job_and_is_repaired_or_refused(system):
    seen = set()
    for share, batch in ((0.2, 16), (0.5, 16), (0.8, 16), (0.3, 400), (0.6, 400), (0.9, 400)):
        knobs = {"policy.row_checksums": True, "data.batch_size": batch}
        plain = quiet(system, **knobs)
        at = {"silent_corruption_at_seconds": (share * plain.results["Elapsed [s]"],)}
        struck, untrained = (simulate(tiny(system, **at, **knobs, **{"run.training": on})) for on in (True, False))
        assert struck.results["Undetected corruptions"] == 0 and struck.ran == untrained.ran
        assert "fail their checksum" in struck.outcome if not struck.ran else learned(struck) == learned(plain)
        seen.add(struck.ran)
    assert seen == {True, False}


@each(("training", "precision"), [(True, "fp32"), (False, "fp32"), (True, "int8"), (True, "bf16"), (True, "fp16")], few=2)
def test_a_flip_in_a_table_is_seen_by_its_digest_after_a_dirty_shutdown_and_not_after_a_clean_one(training, precision):
    large = {
        "model.row_precision": precision,
        "data.batch_size": 512,
        "model.bottom_mlp": (5, 8, 16),
        "model.embedding_dim": 16,
        "run.batches": 12,
    }
    whole = quiet("cxl-b", **large).results["Elapsed [s]"]
    knobs = {**large, "run.training": training, "silent_corruption_at_seconds": (0.2 * whole,)}
    unflipped = {**knobs, "silent_corruption_at_seconds": ()}
    late = next(
        at * whole
        for at in (0.6, 0.64, 0.68, 0.72, 0.76)
        if simulate(tiny("cxl-b", **unflipped, flush_failure_at_seconds=(at * whole,))).ran
    )  # a dirty shutdown that is recovered from where nothing flipped
    for name, seen in {"power_loss": False, "flush_failure": True}.items():
        struck = simulate(tiny("cxl-b", **knobs, **{f"{name}_at_seconds": (late,)}))
        assert struck.ran == (not seen)
        assert ("does not match the newest log" in struck.outcome) == seen
        assert struck.results["Undetected corruptions"] == (not seen)


@each("system", STRICT, few=2)
def test_a_flush_that_fails_is_reported_or_recovered_from_exactly(system):
    for seed in range(6):
        struck = simulate(tiny(system, power_loss_at_seconds=(0.4 * span(system),), flush_failure_share=1.0, seed=seed))
        assert "the flush failed" in struck.events[0]["What"]
        assert struck.outcome.startswith("unrecoverable: ") or learned(struck) == learned(quiet(system))


@each("system", STRICT)
def test_a_full_log_waits_for_the_batches_under_way_and_a_full_checkpoint(system):
    m = ready(timed(system))
    amounts = counted_flow(timed(system), 40)
    at = 0.5 * schedule(m, amounts).makespan
    struck = simulate(timed(system, log_full_at_seconds=(at,)))
    n = struck.events[0]["Batch"] + 1
    parts = schedule(m, batch_range(amounts, 0, n)).makespan + schedule(m, batch_range(amounts, n, 40)).makespan
    moved, link = amounts.mlp_bytes, m.devices["cxl" if "cxl" in m.devices else "pcie"]
    carry = seconds(link, Move(moved) if Move in link.seconds else Copy(moved, 1))
    wait = struck.results["Elapsed [s]"] - parts
    assert wait > 0 and wait >= carry * 0.999
    assert kinds(struck) == ["checkpoint"]


def test_the_first_batch_after_a_recovery_looks_all_its_rows_up_as_the_first_of_a_run_does():
    asked = timed("cxl", **{"machine.assume": (("pmem.sequential-write-rate", 0.01),)})
    m, amounts = ready(asked), counted_flow(asked, 40)
    planned = schedule(m, amounts)
    resumed = SegmentSchedule(m, amounts, planned, 20, 0.0, False).segment().timeline
    lookups = resumed.durations[:, resumed.graph.index("Embedding lookup")]
    assert lookups[0] > 0 and not lookups[1:].any()
    log = planned.template.roll
    assert resumed.graph.tasks[log].server == planned.graph.tasks[log].server == ("pmem", "")


def test_a_fault_during_a_full_checkpoint_recovers_from_the_log_before_it():
    at = 0.5 * span("cxl-b")
    knobs = {"machine.cxl_bandwidth_GBps": 0.1}
    alone = simulate(tiny("cxl-b", log_full_at_seconds=(at,), **knobs))
    n = alone.events[0]["Batch"]
    ends = [row["Elapsed [s]"] for row in alone.training]
    middle = (ends[n] + ends[n + 1]) / 2
    struck = simulate(tiny("cxl-b", log_full_at_seconds=(at,), gpu_crash_at_seconds=(middle,), **knobs))
    assert struck.ran and learned(struck) == learned(quiet("cxl-b", **knobs))
    assert struck.events[-1]["Batch"] in (n, n + 1)


@pytest.mark.parametrize("system", ["cxl-d", "cxl-b"])
def test_a_slow_link_is_a_link_built_with_a_fifth_of_the_bandwidth_and_ten_times_the_latency(system):
    usual = {"machine.cxl_bandwidth_GBps": 1.0, "machine.cxl_latency_ns": 2e3, "machine.cxl_switch_hops": 0}
    worse = {"machine.cxl_bandwidth_GBps": 0.2, "machine.cxl_latency_ns": 2e4, "machine.cxl_switch_hops": 0}
    long = {"fail_slow_at_seconds": (0.0,), "fail_slow_seconds": 1e3, "fail_slow_device": "link", "fail_slow_bandwidth": 0.2}
    slow = simulate(timed(system, **long, **usual))
    built = simulate(timed(system, **worse))
    assert slow.results["Elapsed [s]"] == pytest.approx(
        built.results["Elapsed [s]"], rel=0.02
    )  # but for what load adds to latency
    assert slow.results["Step time [ms]"] < built.results["Step time [ms]"], "the step time is that without a fault"


@each("device", ["memory", "link", "gpu"])
def test_a_slow_device_costs_time_from_its_first_batch_until_it_is_fast_again(device):
    knobs = {"machine.cxl_bandwidth_GBps": 1.0, "machine.cxl_latency_ns": 2e3}
    at, lasts = 0.3 * span("cxl-b"), (1.2 if device == "gpu" else 0.2) * span("cxl-b")
    slow = {"fail_slow_seconds": lasts, "fail_slow_device": device}
    struck = simulate(tiny("cxl-b", fail_slow_at_seconds=(at,), **slow, **knobs))
    assert kinds(struck) == ["slow", "full speed"]
    begun, fast = (row["Batch"] + 1 for row in struck.events)
    usual = np.diff([row["Elapsed [s]"] for row in quiet("cxl-b", **knobs).training])
    now = np.diff([row["Elapsed [s]"] for row in struck.training])
    assert now[: begun - 1] == pytest.approx(usual[: begun - 1], rel=1e-9)
    assert np.all(now[begun : fast - 1] > 1.05 * usual[begun : fast - 1]) and fast - begun > 1
    assert now[fast + 1 :] == pytest.approx(usual[fast + 1 :], rel=1e-6)


def test_a_device_that_is_slow_twice_is_fast_in_between_and_overlapping_times_are_one():
    at, lasts = (0.2 * span("cxl-b"), 0.6 * span("cxl-b")), 0.3 * span("cxl-b")
    twice = simulate(timed("cxl-b", fail_slow_at_seconds=at, fail_slow_seconds=lasts))
    once = simulate(timed("cxl-b", fail_slow_at_seconds=at[:1], fail_slow_seconds=lasts))
    assert kinds(twice) == ["slow", "full speed"] * 2
    ends = [result.results["Elapsed [s]"] for result in (twice, once)]
    assert ends[0] > ends[1] > span("cxl-b")
    overlapping = simulate(timed("cxl-b", fail_slow_at_seconds=(at[0], at[0] + 0.5 * lasts), fail_slow_seconds=lasts))
    longer = simulate(timed("cxl-b", fail_slow_at_seconds=at[:1], fail_slow_seconds=1.5 * lasts))
    assert kinds(overlapping) == ["slow", "slow", "full speed", "full speed"]
    assert overlapping.results["Elapsed [s]"] == pytest.approx(longer.results["Elapsed [s]"], rel=1e-12)


def test_what_a_system_does_not_have_cannot_become_slow():
    struck = simulate(scenario("optane-kaggle", "cpu-only", **{"run.batches": 4, "run.training": False}))
    again = scenario("optane-kaggle", "cpu-only", **{"run.batches": 4, "run.training": False})
    slow = replace(again, faults=replace(again.faults, fail_slow_at_seconds=(0.0,), fail_slow_device="gpu"))
    result = simulate(slow)
    assert result.results["Elapsed [s]"] == pytest.approx(struck.results["Elapsed [s]"], rel=1e-12)
    assert "the system has no such device" in result.events[0]["What"]


@each("system", STRICT, few=2)
def test_faults_at_the_start_on_a_batchs_end_and_twice_at_one_instant_are_all_recovered(system):
    ends = schedule(ready(timed(system)), counted_flow(timed(system), 40)).batch_ends
    for at in (0.0, float(ends[11])):
        one = simulate(tiny(system, gpu_crash_at_seconds=(at,)))
        two = simulate(tiny(system, gpu_crash_at_seconds=(at,), link_down_at_seconds=(at,)))
        assert learned(one) == learned(two) == learned(quiet(system))
        assert one.events[0]["Elapsed [s]"] == at and one.results["Elapsed [s]"] == two.results["Elapsed [s]"]
        assert "1 more during the recovery" in two.events[0]["What"] and two.results["Faults"] == 2


@each("name", LISTED, few=7)
def test_a_fault_after_the_end_changes_nothing_but_says_so(name):
    path = f"{name.replace('-', '_')}_at_seconds"
    late = simulate(tiny("cxl-b", **{path: (span("cxl-b"),)}))
    assert replace(late, scenario=quiet("cxl-b").scenario, warnings=quiet("cxl-b").warnings) == quiet("cxl-b")
    assert any(f"faults.{path}" in warning and "never struck" in warning for warning in late.warnings)


@each("system", STRICT, few=1)
@pytest.mark.parametrize("before", [(), (0.4,)])
def test_what_an_estimate_says_cannot_strike_never_does_and_what_is_clearly_late_is_said(system, before):
    ends = simulate(tiny(system, power_loss_at_seconds=tuple(share * span(system) for share in before))).results["Elapsed [s]"]
    for share in (0.5, 0.99, 1.01, 1.2, 4.0):
        asked = tiny(
            system, power_loss_at_seconds=tuple(one * span(system) for one in before), gpu_crash_at_seconds=(share * ends,)
        )
        said = [one for one in estimate(asked).warnings if re.match(r"GPU crash at [\d.,]+ s cannot strike", one)]
        missed = "never struck" in " ".join(simulate(asked).warnings)
        assert len(said) <= missed, "it was said not to strike, and struck"
        assert said or share < (1.2 if not before else 4.0)


def test_faults_in_a_recovery_start_it_over_to_any_depth():
    at = 0.4 * span("cxl-b")
    once = simulate(tiny("cxl-b", gpu_crash_at_seconds=(at,)))
    restore = once.results["Restore time [s]"]
    inside = 0.003 + 0.5 * restore  # in the middle of the restore, twice: the second one counts from the first
    for depth in (1, 2, 3):
        further = tuple(inside * n for n in range(1, depth + 1))
        struck = simulate(tiny("cxl-b", gpu_crash_at_seconds=(at,), fault_in_recovery_at_seconds=further))
        assert learned(struck) == learned(quiet("cxl-b"))
        assert f"({depth} more during the recovery)" in struck.events[0]["What"]
        again = [row["Elapsed [s]"] for row in struck.events if row["Kind"] == "fault in recovery"]
        assert again == pytest.approx([at + n * inside for n in range(1, depth + 1)]), "each has a place of its own"
        assert struck.results["Elapsed [s]"] == pytest.approx(once.results["Elapsed [s]"] + depth * inside, rel=1e-12)
        assert f"{depth} fault in recovery" in struck.outcome


@each("system", STRICT, few=2)
def test_a_recovery_after_a_failed_flush_can_be_interrupted_anywhere_too(system):
    for seed in range(8):
        knobs = {"flush_failure_at_seconds": (0.4 * span(system),), "fault_in_recovery_share": 0.8, "seed": seed}
        struck = simulate(timed(system, **knobs, restart_seconds=0.0, detect_seconds=0.0))
        assert struck.ran or struck.outcome.startswith("unrecoverable: ")


def test_training_that_diverges_after_a_flip_says_so():
    outcomes = [
        simulate(tiny("cxl-b", silent_corruption_at_seconds=(0.001,), silent_corruption_where="mlp", seed=seed)).outcome
        for seed in (20, 21)
    ]
    diverged = [outcome for outcome in outcomes if "diverged" in outcome]
    assert diverged and all("a bit had flipped" in outcome for outcome in diverged)


def test_a_share_of_recoveries_is_interrupted_at_random_and_recovers_all_the_same():
    at = tuple(np.arange(1, 40) * 0.004)
    struck = simulate(tiny("cxl-b", gpu_crash_at_seconds=at, fault_in_recovery_share=0.5, **{"run.batches": 400}))
    again = sum(int(found[1]) for row in struck.events if (found := re.search(r"\((\d+) more", row["What"])))
    stopped = kinds(struck).count("fault")
    assert struck.ran and 0.4 * stopped < again < 2 * stopped


def test_a_memory_lost_during_a_recovery_ends_the_run():
    at = 0.4 * span("cxl-b")
    struck = simulate(tiny("cxl-b", gpu_crash_at_seconds=(at,), memory_loss_at_seconds=(at + 0.002,)))
    assert not struck.ran and "lost, and there is no other copy" in struck.outcome


def test_a_repair_under_way_is_finished_before_another_fault_is_recovered_from():
    knobs = {"repair_median_seconds": 0.05, "gpu_crash_at_seconds": (0.002,)}
    once = simulate(timed("cxl-b", **knobs))
    twice = simulate(timed("cxl-b", **knobs, false_alarm_at_seconds=(0.01,)))
    assert twice.results["Elapsed [s]"] == once.results["Elapsed [s]"], "the second one is noticed and over before the repair"


@pytest.mark.parametrize("system", ["cxl", *(pytest.param(one, marks=pytest.mark.slow) for one in ("cxl-d", "ssd"))])
def test_scheduling_in_windows_changes_nothing(system, monkeypatch):
    hours = {f"{name}_mtbf_hours": 0.3 * span(system) / 3600 for name in ("power_loss", "fail_slow", "log_full")}
    asked = timed(system, **hours, fail_slow_seconds=0.0002, detect_seconds=0.0, **{"run.batches": 200, **SLOW})
    monkeypatch.setattr(course, "SPARE_BATCHES", 1)
    windows = simulate(asked)
    monkeypatch.setattr(course, "SPARE_BATCHES", 10**6)
    whole = simulate(asked)
    assert windows.results["Faults"] > 10 and whole.events == windows.events
    near = {name: value and pytest.approx(value, rel=1e-9) for name, value in windows.results.items()}
    assert whole.results == near


def test_many_crashes_schedule_every_batch_a_few_times_and_not_the_rest_of_the_run_each_time(monkeypatch):
    counted_batches = []

    def counting(m, traffic, *more):
        counted_batches.append(traffic.batches)
        return schedule(m, traffic, *more)

    monkeypatch.setattr(course, "schedule", counting)
    hours = 50 * span("cxl-b") / 60 / 3600
    struck = simulate(
        timed("cxl-b", power_loss_mtbf_hours=hours, detect_seconds=0.0, restart_seconds=1e-4, **{"run.batches": 2000})
    )
    crashes = kinds(struck).count("fault")
    assert struck.ran and crashes > 40
    assert sum(counted_batches) < 2 * 2000 + crashes * 3 * course.SPARE_BATCHES


def test_every_fault_knob_names_a_fault_or_a_knob_that_exists():
    for knob in KNOBS.values():
        assert not knob.needs or knob.needs in KNOBS or knob.needs in all_variants("faults"), knob.path


@each("name", all_variants("faults"), few=0)
def test_the_table_of_faults_in_the_docs_has_a_row_for_each(name):
    fault = all_variants("faults")[name]
    destroys = ", ".join(sorted(fault.destroys)) or "nothing"
    row = f"| {fault.id} | `{name}` | {destroys} | {fault.summary} |"
    assert row in (ROOT / "docs" / "faults.md").read_text(encoding="utf-8"), f"Add to the table of docs/faults.md: {row}"


def test_the_classes_of_faults_are_numbered_without_gaps():
    assert {fault.id for fault in all_variants("faults").values()} == {f"F{number}" for number in range(1, 15)}
