"""Bugs of the books: seconds and joules entered twice or never, and faults that come at the wrong rate or not at all.

`tests/run/test_seeded_books.py` is their check; the crash explorer knows nothing of them.
"""

from dataclasses import replace

from engine.faults.fault import strikes
from engine.results.ledger import _enter
from engine.run.outage import outage
from tests.seeded_bugs import bug


@bug("engine.results.ledger._enter", check="books")
def lost_work_is_entered_twice(segment, fate, plan, devices, seconds, dynamic):
    before = seconds["lost"]
    _enter(segment, fate, plan, devices, seconds, dynamic)
    seconds["lost"] += seconds["lost"] - before


@bug("engine.results.ledger._enter", check="books")
def energy_of_the_replay_is_missing(segment, fate, plan, devices, seconds, dynamic):
    _enter(segment, fate, plan, devices, seconds, dynamic)
    dynamic["replay"] = 0.0


@bug("engine.run.run.outage", check="books")
def repair_overlaps_training(m, traffic, segment, strike, ahead, number):
    found = outage(m, traffic, segment, strike, ahead, number)
    return replace(found, resumed=found.resumed - found.attempts[-1].repair)


@bug("engine.faults.fault._renewals", check="books")
def mean_time_between_faults_moves_with_the_shape(hazard, rng):
    now = 0.0
    while hazard.mtbf is not None:
        now += hazard.mtbf * float(rng.weibull(hazard.shape))
        yield now


@bug("engine.run.upcoming_faults.strikes", check="books")
def a_fault_on_the_boundary_of_a_run_is_dropped(scenario):
    return (strike for strike in strikes(scenario) if strike.at > 0)
