"""A physical constant: its value with unit, range, how sure it is, and where it comes from."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from ..errors import BadKnob

Confidence = Literal["measured", "stated", "vendor", "derived", "secondary", "unsourced", "calibrated"]


REPLACED = {"row-log-rate": "read-write-mix"}  # keys of constants in older parts and links, and what says it now
# Units of rates, sizes and counts.
LEAST = 1e-12  # of what divides: as far below 1 as assumptions may lie above
DIVISORS = ("1/s", "B", "GB", "GB/s", "TFLOPS", "GFLOPS", "cores", "lines", "reads", "samples", "threads", "accesses",
            "of bandwidth", "of copy rate", "of input", "of peak", "of raw", "of sustained", "of the rate")  # fmt: skip
COUNTS = ("channels", "generation", "lanes", "modules", "sockets")  # of which there is a whole one at least, or none
Said = tuple[float, float, float, Confidence, str]
WIDER = 1.25  # a price's range, each way, for each year between its date and the year asked for


@dataclass(frozen=True, slots=True)
class Constant:
    """One number of a device: `low` to `high` is its plausible range, in the same unit.

    Sources that contradict each other are never averaged: `others` is what they say, by the choices of the
    machine's knob `switch`; any other choice leaves the constant as it is. `zero` says that 0 stands for that there is none.
    The range of a `choice` is what vendors offer, not uncertainty: it can be assumed, but is never drawn.
    A price is of a `year`, 0 for all else, and `years` are its values of other years.
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
    choice: bool = False
    year: int = 0
    years: tuple[tuple[int, "Constant"], ...] = ()

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
        least = least_of(self.unit) if self.unit in (*DIVISORS, *COUNTS) else 0
        if value < least and not (self.zero and value == 0):
            given = f"machine.assume gives {self.name} {value:g} {self.unit}"
            why = "which are whole ones" if self.unit in COUNTS else "by which work is divided"
            raise BadKnob(f"{given}, {why}; assume {least:g} or more.")
        low, high = min(self.low, value), max(self.high, value)
        rest = self.confidence, self.source, self.note, self.switch, self.others, self.zero, self.choice
        return Constant(self.name, value, self.unit, low, high, *rest)

    def dated(self, years: dict[int, Said]) -> "Constant":
        """Return the price with its values of other years: value, low, high, confidence and source by year."""
        said = ((year, Constant(self.name, one[0], self.unit, *one[1:], year=year)) for year, one in years.items())
        return replace(self, years=tuple(said))

    def in_year(self, year: int) -> "Constant":
        """Return the price of a year, or that of the nearest year, of two as near the later, with a wider range.

        Each year between divides the low end and multiplies the high end by WIDER; the source says so.
        """
        return _in_year(self, year)

    def according_to(self, choice: str) -> "Constant":
        """Return what the chosen source says."""
        return next((one for name, one in self.others if name == choice), self)


def least_of(unit: str) -> float:
    """Return the least that a constant in a unit can be, where it is not 0."""
    return 1 if unit in COUNTS else LEAST


@lru_cache(maxsize=1024)
def _in_year(price: Constant, year: int) -> Constant:
    nearest = min((price, *(one for _, one in price.years)), key=lambda one: (abs(one.year - year), -one.year))
    if not (apart := abs(nearest.year - year)):
        return nearest
    wider, said = WIDER**apart, f"{apart} year{'s' if apart > 1 else ''}"
    return replace(
        nearest,
        low=nearest.low / wider,
        high=nearest.high * wider,
        source=f"{nearest.source}; price of {nearest.year}, range widened for {said}",
        years=(),
    )
