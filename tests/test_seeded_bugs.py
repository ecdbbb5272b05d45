"""Is the crash checker awake? Each protocol broken on purpose must be caught."""

import pytest

from engine.crashcheck import explore, hunt, read, replay
from engine.crashcheck.bugs import broken, seeded

BUGS = tuple(seeded())


@pytest.mark.parametrize("name", BUGS)
def test_a_protocol_broken_on_purpose_is_caught_and_its_line_replays_at_the_first_try(name):
    bug = broken(name)
    report = hunt(bug)
    assert report.inconsistent
    line = report.failures[0].line
    assert read(line).bug == name
    with bug.install():
        assert replay(line, bug.wrap).problem == report.failures[0].problem


def test_the_bug_is_gone_when_it_is_no_longer_installed():
    for name in BUGS:
        with broken(name).install():
            pass
    assert explore("undo").inconsistent == 0
