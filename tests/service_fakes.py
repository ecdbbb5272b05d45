"""Computations that stand in for the simulation, so that the service is tested for what it promises itself.

They are named by import path and run in worker processes. What they should do is written in the scenario:
`data.seed` is the answer, `faults.detect_seconds` how long a computation takes.
"""

import os
import signal
import time
from pathlib import Path

from engine.errors import BadInput, Cancelled
from engine.keys import How
from engine.progress import Progress, Watcher
from engine.result import Result
from engine.scenario import Scenario

KILLER, BUGGY, REFUSED = 666, 667, 668


def result(scenario: Scenario) -> Result:
    """A result that only depends on the scenario."""
    seconds = scenario.data.seed / 7
    return Result(scenario, ran=True, outcome="It completed.", results={"Step time [ms]": seconds, "AUC": None})


def compute(scenario: Scenario, how: How, data: Path | None, progress: Watcher) -> Result:
    """Take `faults.detect_seconds`, telling progress; die, break or refuse where the seed says so."""
    seed = scenario.data.seed
    if seed == KILLER:
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == BUGGY:
        raise ZeroDivisionError("made up")
    if seed == REFUSED:
        raise BadInput("run.batches=1 is made up to be refused; choose 2.")
    steps = max(1, round(scenario.faults.detect_seconds / 0.02))
    for step in range(steps):
        time.sleep(scenario.faults.detect_seconds / steps)
        if step % 5 == 4 and progress(Progress(step + 1, steps, elapsed_simulated=float(step))):
            raise Cancelled("Nobody waits for it.")
    return result(scenario)
