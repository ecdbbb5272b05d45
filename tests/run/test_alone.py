"""Is a scenario's result, to the byte, what it is alone in a new process, whatever is computed with it and in which order?"""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import EmberpoolError
from engine.estimates import estimates
from engine.full_runs import runs
from engine.registry import names
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.sweep.links import link, read
from tests import ROOT
from tests.strategies import knob_values

OF_MACHINES = [path for path in KNOBS if path.startswith(("machine.", "policy."))]
changes = st.lists(
    st.sampled_from(OF_MACHINES).flatmap(lambda path: st.tuples(st.just(path), knob_values(KNOBS[path]))), max_size=3
).map(dict)


def made(system: str, changed: dict[str, Any]) -> Scenario:
    base = with_values(preset("tiny").scenario, {"system": system, "run.batches": 12, "data.held_out_samples": 64})
    try:
        return with_values(base, changed)
    except EmberpoolError:
        return base


def told(scenarios: Sequence[Scenario]) -> list[str]:
    """Return the estimate and the full run of each, as text."""
    pairs = zip(estimates(scenarios), runs(scenarios), strict=True)
    return [json.dumps([_facts(estimate), _facts(run)], sort_keys=True) for estimate, run in pairs]


def _facts(one: Result) -> list[Any]:
    return [one.results, one.outcome, one.warnings, one.finding]


@pytest.mark.slow
@settings(max_examples=6)
@given(st.lists(st.builds(made, st.sampled_from(names("systems")), changes), min_size=8, max_size=8), st.randoms())
def test_alone_in_a_new_process_or_among_others_in_any_order_the_result_is_the_same(some, rng):
    shuffled = rng.sample(some, len(some))
    found = dict(zip(shuffled, told(shuffled), strict=True))
    for scenario in some:
        command = [sys.executable, "-m", "tests.run.test_alone", link(scenario)]
        alone = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        assert alone == found[scenario]


if __name__ == "__main__":
    print(*told([read(sys.argv[1]).scenario]))
