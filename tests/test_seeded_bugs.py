"""Is the crash checker awake? Each protocol broken on purpose must be caught."""

import pytest
from crash_states import failures
from seeded_bugs import BUGS, installed
from training_story import story


@pytest.mark.parametrize("name", BUGS)
def test_a_protocol_broken_on_purpose_is_caught(name):
    bug = BUGS[name]
    with installed(bug):
        assert next(failures(story(**bug.run)), None) is not None


def test_the_bug_is_gone_when_it_is_no_longer_installed():
    for bug in BUGS.values():
        with installed(bug):
            pass
    assert next(failures(story(batches=2)), None) is None
