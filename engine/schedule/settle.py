"""A scenario settled on its machine: what is automatic is chosen, and how many batches show its steady state."""

from collections.abc import Mapping
from typing import Any

from ..amounts.expected import expected_traffic
from ..core.memo import Seen, remembered
from ..scenario.scenario import Scenario, with_checked
from ..systems.capacity import Fit
from ..systems.node_count import sized
from ..systems.system import LogPolicy
from .machine import Machine, machine_of, schedule
from .steady_state import steady
from .timeline import Timeline

WINDOW, TURNS, LONGEST = 64, 3, 2048


def settle(scenario: Scenario) -> Fit:
    """Choose what is automatic, nodes included where a throughput is asked for, and check that everything fits."""
    changes, problems, automatic = _settled(scenario, scenario.system)
    return Fit(with_checked(scenario, changes) if changes else scenario, problems, automatic)


@remembered()
def _settled(s: Scenario, system: str) -> tuple[Mapping[str, Any], tuple[str, ...], bool]:
    found = sized(s, _throughput)
    changes = found.scenario.changes if isinstance(found.scenario, Seen) else {}
    return changes, found.problems, found.capacity_is_automatic


def _throughput(settled: Scenario) -> float:
    m = machine_of(settled)
    return settled.data.batch_size / steady(expected_line(m), m.devices).step


def expected_line(m: Machine, batches: int | None = None) -> Timeline:
    """Schedule batches of expected accesses, as many as the steady state takes; the scenario must fit its machine."""
    return schedule(m, expected_traffic(m.scenario, batches or window(m.log_policy)))


def window(log_policy: LogPolicy) -> int:
    """Return how many batches show the steady state: two to begin with, then whole turns of bound + 1 batches.

    A log that cannot keep up makes somebody wait once in a turn; a run of fewer turns may end before the first wait.
    """
    turn = log_policy.mlp_staleness_bound + 1
    turns = min(max(TURNS, -(-WINDOW // turn)), max(LONGEST // turn, 1))
    return 2 + min(turns * turn, LONGEST)
