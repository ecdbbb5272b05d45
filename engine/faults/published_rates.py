"""Published failure rates, one file each in engine/rates: how often a unit of a machine is struck, by class of fault."""

from functools import cache
from pathlib import Path
from tomllib import loads
from typing import Any

from ..registry import NO_RATES
from ..units import HOUR

FOLDER = Path(__file__).parent / "rates"


@cache
def published(name: str) -> dict[str, Any]:
    """Return a file of rates: its title and source, and by class of fault the events, units and hours with their source."""
    return loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def mtbfs(name: str) -> dict[str, float]:
    """Return by class of fault the mean seconds between two at one unit: units watched, times hours, over events."""
    faults = published(name)["faults"] if name != NO_RATES else {}
    return {fault: one["units"] * one["hours"] * HOUR / one["events"] for fault, one in faults.items()}
