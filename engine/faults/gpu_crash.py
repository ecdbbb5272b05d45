"""GPU crash: MLPs, activations and dirty lines are gone, and an MLP log under way is cut in the middle."""

from collections.abc import Iterator

from engine.fault import Fault, Strike, struck
from engine.scenario import Scenario


def strikes(scenario: Scenario) -> Iterator[Strike]:
    """Yield the strikes of `faults.gpu_crash_*`, by GPU and so by node."""
    return struck(scenario, "gpu-crash")


FAULT = Fault(
    id="F3",
    title="GPU crash",
    summary="MLPs and activations are gone; an MLP log under way is cut, embedding writes finish.",
    kind="fail-stop",
    destroys=frozenset({"gpu"}),
    strikes=strikes,
    unit="gpu",
    said="a GPU crashed",
)
