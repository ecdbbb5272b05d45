"""Twenty visitors for ten minutes: does any of them meet an error, and what do they leave in memory?

Seconds are those of row P17 of the benchmarks; here they are printed only.
"""

import pytest

from tests.pages.load.crowd import crowd

MOST_MIB, MOST_KEPT_MIB = 10.0, 200.0  # of the server's memory: a session, and what is kept once all have left
PATIENCE = 600.0  # seconds: other tests run beside this one


@pytest.mark.slow
@pytest.mark.browser
def test_a_crowd_meets_no_error_and_each_session_keeps_little(capsys):
    report = crowd(patience=PATIENCE)
    with capsys.disabled():
        print(f"\n{report}")
    assert not report.errors
    assert report.opened <= MOST_MIB and report.kept <= MOST_KEPT_MIB
