"""Is a scenario's result, to the byte, what it is alone in a new process, whatever is computed with it and in which order?"""

import json
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.estimates import estimates
from engine.full_runs import full_runs
from engine.scenario.scenario import KNOBS, Scenario
from engine.sweep.links import link, open_link
from tests import ROOT
from tests.strategies import under_any_system

SHORT = {"run.batches": 12, "data.held_out_samples": 64}
OF_MACHINES = [path for path in KNOBS if path.startswith(("machine.", "policy."))]


def told(scenarios: Sequence[Scenario]) -> list[str]:
    """Return the estimate and the full run of each, as text."""
    pairs = zip(estimates(scenarios), full_runs(scenarios), strict=True)
    return [json.dumps([(one.results, one.outcome, one.warnings, one.finding) for one in pair]) for pair in pairs]


@pytest.mark.slow
@settings(max_examples=2)
@given(st.lists(under_any_system(OF_MACHINES, **SHORT), min_size=8, max_size=8), st.randoms())
def test_alone_in_a_new_process_or_among_others_in_any_order_the_result_is_the_same(some, rng):
    shuffled = rng.sample(some, len(some))
    found = dict(zip(shuffled, told(shuffled), strict=True))
    for scenario in some:
        command = [sys.executable, "-m", "tests.run.test_alone", link(scenario)]
        alone = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        assert alone == found[scenario]


if __name__ == "__main__":
    print(*told([open_link(sys.argv[1]).scenario]))
