"""Is the check on the books awake? Each way to break them on purpose must be noticed. (I9)"""

from itertools import islice, pairwise

import pytest

from engine.faults.fault import Hazard, instants
from tests.cases import each
from tests.run.test_books import accounts, tiny
from tests.seeded_bugs import BUGS, installed

BOOKS = [name for name, bug in BUGS.items() if bug.check == "books"]
AT = (0.0, 0.0075, 0.015)


def problems(system):
    """Return what is wrong with the books of a run that loses power three times."""
    done, told = accounts(tiny(system, power_loss_at_seconds=AT, repair_median_seconds=0.003, repair_sigma=0.0))
    wrong = []
    if [crash.at for crash in done.crashes] != list(AT):
        wrong.append("faults")
    begins = [segment.begin for segment in done.segments[1:]]
    spent = [sum((a.detect, a.repair, a.restart, a.restore)) for crash in done.crashes for a in crash.outage.attempts]
    after = [crash.at + seconds for crash, seconds in zip(done.crashes, spent, strict=True)]
    if begins != pytest.approx(after, rel=1e-12):
        wrong.append("overlap")
    if sum(told.ledger.seconds.values()) != pytest.approx(done.elapsed, rel=1e-9):
        wrong.append("seconds")
    if sum(told.ledger.joules.values()) != pytest.approx(told.joules, rel=1e-9):
        wrong.append("joules")
    return wrong


def unbalanced():
    """Return what is wrong with the books, with a log and without, and with the rate of random faults."""
    wrong = [problem for system in ("cxl-b", "dram") for problem in problems(system)]
    times = list(islice(instants(Hazard(100.0, 0.6), 1, "any"), 20_000))
    if sum(b - a for a, b in pairwise(times)) / 19_999 != pytest.approx(100.0, rel=0.05):
        wrong.append("rate")
    return wrong


def test_the_books_balance():
    assert unbalanced() == []


@each("name", BOOKS)
def test_books_broken_on_purpose_do_not_balance(name):
    with installed(BUGS[name]):
        assert unbalanced() != []


def test_all_five_ways_of_the_group_are_there():
    assert len(BOOKS) == 5
