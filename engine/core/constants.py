"""A physical constant: its value with unit, range, how sure it is, and where it comes from."""

from dataclasses import dataclass, replace
from typing import Literal

from ..errors import BadKnob

Confidence = Literal["measured", "stated", "vendor", "derived", "secondary", "unsourced", "calibrated"]


# Units of rates, sizes and counts.
LEAST = 1e-12  # of what divides: as far below 1 as assumptions may lie above
DIVISORS = ("1/s", "B", "GB", "GB/s", "TFLOPS", "GFLOPS", "cores", "lines", "reads", "samples", "threads", "accesses",
            "of bandwidth", "of copy rate", "of input", "of peak", "of raw", "of sustained", "of the rate")  # fmt: skip
Said = tuple[float, float, float, Confidence, str]


@dataclass(frozen=True, slots=True)
class Constant:
    """One number of a device: `low` to `high` is its plausible range, in the same unit.

    Sources that contradict each other are never averaged: `others` is what they say, by the choices of the
    machine's knob `switch`; any other choice leaves the constant as it is. `zero` says that 0 stands for that there is none.
    """

    name: str
    value: float
    unit: str
    low: float
    high: float
    confidence: Confidence
    source: str
    note: str = ""
    switch: str = ""
    others: tuple[tuple[str, "Constant"], ...] = ()
    zero: bool = False

    def __post_init__(self) -> None:
        """Refuse a constant whose value lies outside its own range."""
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.name}={self.value} {self.unit} lies outside its range {self.low} to {self.high}.")

    def disputed(self, switch: str, **others: Said) -> "Constant":
        """Return the constant with what other sources say: value, low, high, confidence and source by choice of `switch`."""
        said = ((choice, Constant(self.name, one[0], self.unit, *one[1:])) for choice, one in others.items())
        return replace(self, switch=switch, others=tuple(said))

    def assumed(self, value: float) -> "Constant":
        """Return the constant with an assumed value, to which its range reaches; raises BadKnob for too little of a divisor."""
        if value < LEAST and not (self.zero and value == 0) and self.unit in DIVISORS:
            given = f"machine.assume gives {self.name} {value:g} {self.unit}"
            raise BadKnob(f"{given}, by which work is divided; assume {LEAST:g} or more.")
        low, high = min(self.low, value), max(self.high, value)
        rest = self.confidence, self.source, self.note, self.switch, self.others, self.zero
        return Constant(self.name, value, self.unit, low, high, *rest)

    def according_to(self, choice: str) -> "Constant":
        """Return what the chosen source says."""
        return next((one for name, one in self.others if name == choice), self)
