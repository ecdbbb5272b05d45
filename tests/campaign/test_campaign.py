"""Campaigns: does every second and joule have its place, and does closed arithmetic agree with going batch by batch?"""

from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.campaign.accounts import exact_sums
from engine.campaign.fold import CampaignTerms, FaultArrival, run_faults
from engine.campaign.protection import LOSSES, Protection, ProtectionPlan
from tests.cases import examples
from tests.oracles import batch_by_batch

KEEPS = {**dict.fromkeys(LOSSES, "exact"), "line": "lossy", "media": "lost", "bits": "older"}
WAYS = {
    "gpu": frozenset({"gpu"}),
    "line": frozenset({"line", "host"}),
    "media": frozenset({"media"}),
    "bits": frozenset({"bits"}),
}
PROTECTION = Protection("Test", "For tests.", KEEPS, lambda site: ProtectionPlan(1.0, 1.0))


def terms_of(plan, useful=None, detect=3.0, restart=5.0, fresh=0.0):
    useful = useful or plan.step
    return CampaignTerms(
        PROTECTION, plan, useful, 2.0 * useful, 1.5, detect, restart, plan.restore + plan.backup_drain + fresh, {"media": 1.0}
    )


@st.composite
def campaigns(draw):
    """Draw small campaigns on a grid of quarter seconds, so that faults also meet the ends of batches and pauses."""
    grain = st.integers(0, 16).map(lambda n: n / 4)
    every, step = draw(st.integers(0, 5)), draw(st.integers(2, 8)) / 4
    pause = draw(grain) if every else 0.0
    drain = min(draw(grain), every * step)
    plan = ProtectionPlan(
        step, 7.0 * step, every, pause, drain, 11.0, restore=draw(grain), restore_joules=13.0, partial=draw(st.booleans())
    )
    plan = replace(plan, backup_interval=draw(st.integers(0, 7)), backup_drain=draw(grain))
    useful = step * draw(st.sampled_from((1.0, 0.5)))
    end = draw(st.integers(1, 400)) / 4
    times = sorted(draw(st.lists(st.integers(0, int(end * 4) - 1).map(lambda n: n / 4), max_size=8)))
    arrivals = [FaultArrival(at, kind, WAYS[kind]) for at in times for kind in [draw(st.sampled_from(sorted(WAYS)))]]
    return terms_of(plan, useful, draw(grain), draw(grain), draw(grain)), arrivals, end


@given(campaigns())
@examples(60)
def test_closed_arithmetic_agrees_with_going_batch_by_batch(drawn):
    terms, arrivals, end = drawn
    state, counts = run_faults(terms, arrivals, end)
    slow = batch_by_batch.simulate(terms, arrivals, end)
    seconds, extra = exact_sums(state.ledger.seconds), terms.plan.step - terms.useful_seconds
    final = slow.batch + slow.rest
    again = min(max(slow.high_mark - slow.batch, 0.0), slow.rest)
    assert counts == pytest.approx(final, abs=1e-9)
    assert seconds["useful"] == pytest.approx(final * terms.useful_seconds, abs=1e-9)
    assert seconds["replay"] == pytest.approx((slow.replays + again) * terms.useful_seconds, abs=1e-9)
    executed = slow.spent["step"] / terms.plan.step
    assert seconds["checkpoint"] == pytest.approx(executed * extra + slow.spent["pause"], abs=1e-9)
    assert {name: seconds[name] for name in ("detect", "restart", "restore")} == pytest.approx(
        {name: slow.spent[name] for name in ("detect", "restart", "restore")}, abs=1e-9
    )


def test_a_rare_copy_that_a_fault_cut_is_not_finished_by_training_on_from_a_later_batch():
    # Batch 2 is done at 1 s and its copy at 1.75 s; the fault at 1.5 s comes back at batch 3, and batch 4 comes too late.
    plan = ProtectionPlan(0.5, 1.0, checkpoint_interval=1, backup_interval=2, backup_drain=0.75)
    arrivals = [FaultArrival(1.5, "gpu", WAYS["gpu"]), FaultArrival(2.5, "bits", WAYS["bits"])]
    state, _ = run_faults(terms_of(plan, detect=0.0, restart=0.0), arrivals, 10.0)
    assert [recovery.embedding_batches for recovery in state.recoveries] == [0, 5]


@given(campaigns())
@examples(50)
def test_I9_every_second_and_joule_of_a_campaign_is_booked_once(drawn):
    terms, arrivals, end = drawn
    rare = max(terms.plan.backup_interval, 1)
    each = {"remote": 1 / rare}
    plan = replace(terms.plan, checkpoint_bytes={"tape": 1.0}, watts=0.25, backup_interval=rare, batch_bytes=each)
    terms = replace(terms, plan=plan)
    state, _ = run_faults(terms, arrivals, end)
    seconds, joules = exact_sums(state.ledger.seconds), exact_sums(state.ledger.joules)
    assert fsum(seconds.values()) == pytest.approx(end, rel=1e-9)
    executed = exact_sums(state.ledger.training_bytes).get("media", 0.0)
    checkpoints = exact_sums(state.ledger.protection_bytes).get("tape", 0.0)
    restores = batch_by_batch.simulate(terms, arrivals, end).spent["restores"]
    assert exact_sums(state.ledger.protection_bytes).get("remote", 0.0) == pytest.approx(executed / rare)
    standing = end - executed * plan.step
    spent = executed * plan.joules + checkpoints * plan.checkpoint_joules + restores * plan.restore_joules
    assert fsum(joules.values()) == pytest.approx(spent + standing * terms.watts + end * plan.watts, rel=1e-9)
    assert all(value >= -1e-9 for books in (seconds, joules) for value in books.values())


@given(campaigns(), st.data())
@examples(60)
def test_I10_one_more_fault_never_raises_useful_work(drawn, data):
    terms, arrivals, end = drawn
    if terms.plan.backup_interval:  # who goes back to a rare copy of a batch does not stand still for its checkpoint
        terms = replace(terms, plan=replace(terms.plan, pause=0.0))
    more = FaultArrival(data.draw(st.integers(0, int(end * 4) - 1)) / 4, "gpu", WAYS[data.draw(st.sampled_from(sorted(WAYS)))])
    state, counts = run_faults(terms, arrivals, end)
    worse, fewer = run_faults(terms, sorted([*arrivals, more]), end)
    assert fewer <= counts + 1e-9
    assert exact_sums(worse.ledger.seconds)["useful"] <= exact_sums(state.ledger.seconds)["useful"] + 1e-9


def test_a_fault_during_a_recovery_starts_it_over_and_the_worst_of_both_counts():
    plan = ProtectionPlan(1.0, 1.0, checkpoint_interval=10, restore=4.0)
    arrivals = [
        FaultArrival(25.5, "gpu", WAYS["gpu"]),
        FaultArrival(30.0, "media", WAYS["media"]),
        FaultArrival(34.0, "gpu", WAYS["gpu"]),
    ]
    state, counts = run_faults(terms_of(replace(plan, restore_joules=13.0), fresh=2.0), arrivals, 100.0)
    (recovery,) = state.recoveries
    assert (recovery.fidelity, recovery.num_restarts, recovery.embedding_batches) == ("lost", 2, 25)
    # 4.5 s and 4 s of abandoned attempts, then 3 s of detection, 5 s of restart and 6 s until first values are there.
    assert counts == 100 - 25.5 - 4.5 - 4.0 - 14.0
    # Nothing was read back: idle watts alone.
    assert (exact_sums(state.ledger.seconds)["restore"], exact_sums(state.ledger.joules)["restore"]) == (6.0, 6.0 * 1.5)


def test_a_partial_recovery_replays_nothing_and_says_what_went_back():
    plan = ProtectionPlan(1.0, 1.0, checkpoint_interval=10, restore=4.0, partial=True)
    state, counts = run_faults(terms_of(plan), [FaultArrival(25.5, "line", WAYS["line"])], 100.0)
    (recovery,) = state.recoveries
    assert (recovery.embedding_batches, recovery.mlp_batches, recovery.replay) == (5, 0, 0.0)
    assert counts == 25 + (100 - 25.5 - 12)
    whole, _ = run_faults(terms_of(plan), [FaultArrival(25.5, "gpu", WAYS["gpu"])], 100.0)
    assert (whole.recoveries[0].embedding_batches, whole.recoveries[0].replay) == (5, 5.0)


def test_what_once_counted_counts_still_after_a_partial_recovery():
    """The copy that drained while a fault cut its batch is not undone with that batch."""
    plan = ProtectionPlan(1.0, 1.0, checkpoint_interval=2, drain=1.5, partial=True)
    arrivals = [FaultArrival(3.75, "line", WAYS["line"]), FaultArrival(12.0, "gpu", WAYS["gpu"])]
    state, _ = run_faults(terms_of(plan), arrivals, 30.0)
    assert [recovery.embedding_batches for recovery in state.recoveries] == [1, 1]


def test_an_old_mlp_is_told_apart_from_the_embeddings():
    plan = ProtectionPlan(1.0, 1.0, checkpoint_interval=1, mlp_age=30)
    state, _ = run_faults(terms_of(plan), [FaultArrival(50.5, "line", WAYS["line"])], 100.0)
    assert (state.recoveries[0].embedding_batches, state.recoveries[0].mlp_batches) == (0, 30)


def test_a_slow_stretch_costs_its_share_and_destroys_nothing():
    plan = ProtectionPlan(1.0, 1.0)
    slow = FaultArrival(10.0, "fail-slow", frozenset(), slow_seconds=30.0, slow_factor=10.0)
    state, counts = run_faults(terms_of(plan), [slow], 100.0)
    assert counts == pytest.approx(10 + 3 + 60)
    assert exact_sums(state.ledger.seconds)["slow"] == pytest.approx(27.0)
