"""Published failure rates, one file each in engine/rates: how often a unit of a machine is struck, by class of fault."""

from functools import cache
from pathlib import Path
from tomllib import loads

from engine.units import HOUR

FOLDER = Path(__file__).parent / "rates"
NONE = "none"


@cache
def rate_names() -> tuple[str, ...]:
    """Return what `faults.rates` can be: nothing, or a file's name."""
    return (NONE, *sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def mtbfs(name: str) -> dict[str, float]:
    """Return by class of fault the mean seconds between two at one unit: units watched, times hours, over events."""
    if name == NONE:
        return {}
    content = loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return {fault: one["units"] * one["hours"] * HOUR / one["events"] for fault, one in content["faults"].items()}
