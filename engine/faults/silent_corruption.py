"""Silent corruption: one bit flips and nothing notices, unless a checksum covers it."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.silent_corruption_*`, by GPU and so by node."""
    return struck(scenario, "silent-corruption")


FAULT = Fault(
    id="F8",
    title="Silent corruption",
    summary="One bit flips unnoticed; only a checksum can see it.",
    kind="damage",
    destroys=frozenset({"bits"}),
    strikes=strikes,
    unit="gpu",
    said="a bit flipped unnoticed",
)
