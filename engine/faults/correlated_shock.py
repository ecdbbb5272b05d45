"""Correlated shock: several nodes crash at once, and the slowest repair holds all of them up."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.correlated_shock_*` at the site."""
    return struck(scenario, "correlated-shock", nodes=scenario.faults.correlated_shock_nodes)


FAULT = Fault(
    id="F12",
    title="Correlated shock",
    summary="Several nodes crash at once; the slowest repair counts.",
    kind="fail-stop",
    destroys=frozenset({"gpu", "host"}),
    strikes=strikes,
    unit="site",
    said="several nodes crashed at once",
)
