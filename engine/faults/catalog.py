"""The faults of catalog.toml, a table each, and strikes that follow from other faults."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from heapq import merge
from itertools import compress
from pathlib import Path
from tomllib import loads

from ..scenario.scenario import Scenario
from .fault import Fault, Strike, share_flags, strikes_by_knobs


def _power_losses(scenario: Scenario) -> Iterator[Strike]:
    """Yield the power losses in which the flush of accepted writes succeeds."""
    faults = scenario.faults
    if faults.flush_failure_share == 1:
        return iter(())
    flush_fails = share_flags(faults.flush_failure_share, faults.seed, "power-loss")
    return compress(strikes_by_knobs(scenario, "power-loss"), (not failed for failed in flush_fails))


def _flush_failures(scenario: Scenario) -> Iterator[Strike]:
    """Yield the flush failures by their own knobs, and the power losses in which the flush fails."""
    faults, name = scenario.faults, "flush-failure"
    flush_fails = share_flags(faults.flush_failure_share, faults.seed, "power-loss")
    failed_flushes = compress(strikes_by_knobs(scenario, "power-loss"), flush_fails) if faults.flush_failure_share else iter(())
    return merge(strikes_by_knobs(scenario, name), (replace(strike, fault=name) for strike in failed_flushes))


def _shocks(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes that hit several nodes; the slowest repair holds up all of these nodes."""
    return strikes_by_knobs(scenario, "correlated-shock", scenario.faults.correlated_shock_nodes)


def _none_by_itself(scenario: Scenario) -> Iterator[Strike]:
    """Yield no strike: the fault only makes other faults worse, and is drawn with them."""
    return iter(())


# Faults that strike otherwise than by the instants and the MTBF of the knobs of their names.
OWN_STRIKES = {
    "power-loss": _power_losses,
    "flush-failure": _flush_failures,
    "fault-in-recovery": _none_by_itself,
    "correlated-shock": _shocks,
    "late-detection": _none_by_itself,
}
ROWS = loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FAULTS: Mapping[str, Fault] = {
    name: Fault(**{**row, "destroys": frozenset(row.get("destroys", ()))}, own_strikes=OWN_STRIKES.get(name))
    for name, row in ROWS.items()
}
