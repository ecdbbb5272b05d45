"""A physical constant: its value with unit, range, how sure it is, and where it comes from."""

from dataclasses import dataclass
from typing import Literal

Confidence = Literal["measured", "stated", "vendor", "derived", "secondary", "unsourced", "calibrated"]


@dataclass(frozen=True, slots=True)
class Constant:
    """One number of a device: `low` to `high` is its plausible range, in the same unit."""

    name: str
    value: float
    unit: str
    low: float
    high: float
    confidence: Confidence
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a constant whose value lies outside its own range."""
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.name}={self.value} {self.unit} lies outside its range {self.low} to {self.high}.")
