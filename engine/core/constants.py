"""A physical constant: its value with unit, plausible range, confidence and source; and assumed constants."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from types import MappingProxyType
from typing import Literal

from ..errors import BadKnob
from .figures import exact

Confidence = Literal["measured", "stated", "vendor", "derived", "secondary", "unsourced", "calibrated"]


REPLACED = {"row-log-rate": "read-write-mix"}  # keys of constants in older parts and links, and the present keys
# Units of rates, sizes and counts.
MIN_DIVISOR = 1e-12  # lower limit of divisors: as far below 1 as assumptions may lie above
DIVISORS = ("1/s", "B", "GB", "GB/s", "TFLOPS", "GFLOPS", "cores", "lines", "reads", "samples", "threads", "accesses",
            "of bandwidth", "of copy rate", "of input", "of peak", "of raw", "of sustained", "of the rate")  # fmt: skip
RISE = "of idle"  # a coefficient: the one unit beginning with "of" that is no share, and may be above 1
HIGHEST_SHARES = {"read-write mix": 2.0}  # shares above 1: reads and appends can overlap
COUNTS = ("channels", "generation", "lanes", "modules", "sockets")  # units whose constants are 1 or more, or 0 for none
SourcedValue = tuple[float, float, float, Confidence, str]
RANGE_FACTOR_PER_YEAR = 1.25  # factor on a price's range, each way, for each year between its date and the scenario's year


@dataclass(frozen=True, slots=True)
class Constant:
    """One number of a device with its plausible range and its source.

    name, unit: the name in the part's file, and the unit of value, low and high.
    value, low, high: the number, and the ends of its plausible range.
    confidence, source, note: how sure the number is, where it comes from, and a remark.
    switch: the machine's knob that chooses among sources that contradict each other; the sources are never averaged.
    other_sources: the constants of the other sources by choice of `switch`; any other choice leaves the constant as it is.
    zero: True if the number may be 0, which means that the device has no such property.
    choice: True if the range is what vendors offer, not uncertainty: the number can be assumed, but is never drawn at random.
    year: the year of a price; 0 for a constant that is no price.
    years: the constants of the same price in other years.
    used: True for the price of a used part.
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
    other_sources: tuple[tuple[str, "Constant"], ...] = ()
    zero: bool = False
    choice: bool = False
    year: int = 0
    years: tuple[tuple[int, "Constant"], ...] = ()
    used: bool = False

    def __post_init__(self) -> None:
        """Raise an error if the value lies outside its range."""
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.name}={self.value} {self.unit} lies outside its range {self.low} to {self.high}.")

    def with_other_sources(self, switch: str, **source_values: SourcedValue) -> "Constant":
        """Return the constant with the differing values of other sources.

        `source_values` has value, low, high, confidence and source of each other source, by choice of the knob `switch`.
        """
        constants = (
            (choice, Constant(self.name, source_value[0], self.unit, *source_value[1:]))
            for choice, source_value in source_values.items()
        )
        return replace(self, switch=switch, other_sources=tuple(constants))

    def with_assumption(self, assumption: float) -> "Constant":
        """Return the constant with an assumed value and its range widened to include that value.

        Raises BadKnob if the constant is a divisor and the value is nearly 0, or a share that is too large.
        """
        minimum = lower_limit(self.unit) if self.unit in (*DIVISORS, *COUNTS) else 0
        if assumption < minimum and not (self.zero and assumption == 0):
            assumption_text = f"machine.assume gives {self.name} {assumption:g} {self.unit}"
            reason = "which are whole ones" if self.unit in COUNTS else "by which work is divided"
            raise BadKnob(f"{assumption_text}, {reason}; assume {minimum:g} or more.")
        if assumption > (maximum := upper_limit(self.name, self.unit)):
            raise BadKnob(
                f"machine.assume gives {self.name} {exact(assumption)} {self.unit}, a share; assume {exact(maximum)} or less."
            )
        low, high = min(self.low, assumption), max(self.high, assumption)
        rest = self.confidence, self.source, self.note, self.switch, self.other_sources, self.zero, self.choice
        return Constant(self.name, assumption, self.unit, low, high, *rest)

    def with_years(self, years: dict[int, SourcedValue], used: Collection[int] = ()) -> "Constant":
        """Return the price with its values in other years.

        `years` has value, low, high, confidence and source by year; `used` has the years with prices of used parts.
        """
        prices = (
            (year, Constant(self.name, source_value[0], self.unit, *source_value[1:], year=year, used=year in used))
            for year, source_value in years.items()
        )
        return replace(self, years=tuple(prices))

    def in_year(self, year: int) -> "Constant":
        """Return the price of a year, or of the closest known year, with widened range.

        Of two years equally close, the later year is taken. For each year of difference, low is divided and high is multiplied
        by RANGE_FACTOR_PER_YEAR; the source says so.
        """
        return _in_year(self, year)

    def from_source(self, choice: str) -> "Constant":
        """Return the constant of the source that `choice` names."""
        return next((constant for name, constant in self.other_sources if name == choice), self)


def lower_limit(unit: str) -> float:
    """Return the lower limit of a constant by its unit, for divisors and counts."""
    return 1 if unit in COUNTS else MIN_DIVISOR


def upper_limit(name: str, unit: str) -> float:
    """Return the upper limit of a constant: 1 for a share, which a percentage exceeds."""
    return HIGHEST_SHARES.get(name, 1.0) if unit.startswith("of ") and unit != RISE else inf


@lru_cache(maxsize=1024)
def _in_year(price: Constant, year: int) -> Constant:
    nearest = min(
        (price, *(dated_price for _, dated_price in price.years)),
        key=lambda dated_price: (abs(dated_price.year - year), -dated_price.year),
    )
    if not (years_apart := abs(nearest.year - year)):
        return nearest
    wider, years_text = RANGE_FACTOR_PER_YEAR**years_apart, f"{years_apart} year{'s' if years_apart > 1 else ''}"
    return replace(
        nearest,
        low=nearest.low / wider,
        high=nearest.high * wider,
        source=f"{nearest.source}; price of {nearest.year}, range widened for {years_text}",
        years=(),
    )


@dataclass(frozen=True)
class Assumptions:
    """Assumed constants as attributes; None for a constant without an assumption.

    A memoised stage is computed again only if an attribute that it has read changes. The attribute's name is the constant's name
    with ":" instead of the point, as in `pmem:read-rate`.
    """

    constants: Mapping[str, float]

    def __getattr__(self, name: str) -> float | None:
        if name.startswith("__"):
            raise AttributeError(name)
        number = self.constants.get(name)
        object.__setattr__(self, name, number)  # the next read finds it without this call
        return number


@lru_cache(maxsize=512)
def assumptions_of(assume: tuple[tuple[str, float], ...]) -> Assumptions:
    """Return the value of the knob `machine.assume` as Assumptions."""
    return Assumptions(MappingProxyType({name.replace(".", ":"): number for name, number in assume}))
