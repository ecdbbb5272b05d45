"""Parts of this machine as files of the catalogue: what was measured, and for the rest the nearest part's own constants."""

from collections.abc import Mapping
from datetime import date
from math import floor, log10
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..core import catalog
from ..core.part_files.curves import CURVE, LatencyPoints
from ..core.part_files.tables import MOST_LETTERS
from ..version import release
from .fitted import MeasuredFigure

NAME = "measured"
NEAREST = {
    "host": "server",
    "dram": "ddr4-3200",
    "host-software": "tuned",
    "framework": "none",
    "drive": "pm9a3",
    "expander": "cmm-d-256",
}
LEFT_OUT = ("availability", "price")  # of the nearest part
DIGITS = 6
NO_CURVES: Mapping[str, LatencyPoints] = MappingProxyType({})


def written(
    folder: Path, about: str, figures: Mapping[str, Mapping[str, MeasuredFigure]], curves: Mapping[str, LatencyPoints] = NO_CURVES
) -> list[Path]:
    """Write a file for each kind, FOLDER/KIND/measured.toml; return their paths. `about` names machine and software in a line."""
    found = []
    for kind, measured in figures.items():
        path = folder / kind / f"{NAME}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(text(kind, about, measured, curves.get(kind)), encoding="utf-8")
        part.replace(path)
        found.append(path)
    return found


def text(kind: str, about: str, measured: Mapping[str, MeasuredFigure], curve: LatencyPoints | None = None) -> str:
    """Return a part's file, with its curve of latency under load where it has one."""
    base = {**catalog.content(kind, NEAREST[kind])}
    content: dict[str, Any] = {"title": f"This machine, {kind}", "summary": about}
    content |= {key: value for key, value in base.items() if isinstance(value, str) and key not in content}
    if kind == "host":
        content["dram"] = NAME
    units = catalog.units(kind)
    tables = {key: _copied(value, kind) for key, value in base.items() if isinstance(value, dict) and key not in LEFT_OUT}
    for key, one in measured.items():
        origin = "not measured here," if one.confidence == "unsourced" else one.confidence
        source = f"{origin} {date.today().isoformat()} by emberpool measure {release()}"
        numbers = dict(zip(("value", "low", "high"), map(_rounded, one[:3]), strict=True))
        tables[key] = {**numbers, "unit": units[key], "confidence": one.confidence, "source": source, "note": one.note}
    if curve:
        points = {"loads": _digits(curve.loads), "latencies": _digits(curve.latencies), "unit": "ns"}
        tables[CURVE] = {**points, "confidence": curve.confidence, "source": curve.source}
    lines = [f"{key} = {_value(value)}" for key, value in content.items()]
    for key, table in tables.items():
        lines += ["", f"[{key}]", *(f"{name} = {_value(value)}" for name, value in table.items() if not isinstance(value, dict))]
    return "\n".join(lines) + "\n"


def _copied(table: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a constant of the nearest part as one that nobody has measured here."""
    source = f"not measured here: that of {NEAREST[kind]}, {table['source']}"
    return {**table, "confidence": "unsourced", "source": source[:MOST_LETTERS]}


def _rounded(value: float) -> float:
    """Return a number of DIGITS digits."""
    return round(float(value), DIGITS - 1 - floor(log10(value))) if value > 0 else 0.0


def _digits(numbers: tuple[float, ...]) -> list[float]:
    return [_rounded(number) for number in numbers]


def _value(value: Any) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)
