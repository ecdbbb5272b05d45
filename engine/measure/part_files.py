"""Parts of this machine as files of the catalogue: what was measured, and for the rest the nearest part's own constants."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import floor, log10
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..core import catalog
from ..core.constants import LEAST
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
OF_GPU = {"framework": "measured-gpu"}  # names of parts that differ where a GPU is driven: a call there costs a host nothing
USES = {"host": ("dram", "copy-path"), "gpu": ("fabric",)}  # kinds that a part names, each this machine's where it was measured
NO_NAMES: Mapping[str, str] = MappingProxyType({})
LEFT_OUT = ("availability", "price")  # of the nearest part
DIGITS = 6
NO_CURVES: Mapping[str, LatencyPoints] = MappingProxyType({})


def written(
    folder: Path,
    about: str,
    figures: Mapping[str, Mapping[str, MeasuredFigure]],
    nearest: Mapping[str, str] = NEAREST,
    names: Mapping[str, str] = NO_NAMES,
    curves: Mapping[str, LatencyPoints] = NO_CURVES,
    beside: Iterable[str] = (),
) -> list[Path]:
    """Write a file for each kind, FOLDER/KIND/NAME.toml; return their paths. `about` names machine and software in a line.

    `nearest` part by kind; `names` of parts that are not NAME; `curves` by kind; kinds that are measured `beside` these.
    """
    found = []
    for kind, measured in figures.items():
        path = folder / kind / f"{names.get(kind, NAME)}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        content = text(kind, about, measured, nearest[kind], (*figures, *beside), curves.get(kind))
        part.write_text(content, encoding="utf-8")
        part.replace(path)
        found.append(path)
    return found


def text(
    kind: str,
    about: str,
    measured: Mapping[str, MeasuredFigure],
    near: str,
    kinds: Sequence[str],
    curve: LatencyPoints | None = None,
) -> str:
    """Return a part's file, of a machine whose parts of some kinds are measured; for the rest it is the part `near`."""
    base = {**catalog.content(kind, near)}
    content: dict[str, Any] = {"title": f"This machine, {kind}", "summary": about}
    content |= {key: value for key, value in base.items() if isinstance(value, str) and key not in content}
    content |= {used: NAME for used in USES.get(kind, ()) if used in kinds}
    units = catalog.units(kind)
    tables = {key: _copied(value, near) for key, value in base.items() if isinstance(value, dict) and key not in LEFT_OUT}
    for key, one in measured.items():
        origin = "not measured here," if one.confidence == "unsourced" else one.confidence
        source = f"{origin} {date.today().isoformat()} by emberpool measure {release()}"
        numbers = dict(zip(("value", "low", "high"), map(rounded, one[:3]), strict=True))
        tables[key] = {**numbers, "unit": units[key], "confidence": one.confidence, "source": source, "note": one.note}
    if curve:
        points = {"loads": _digits(curve.loads), "latencies": _digits(curve.latencies), "unit": "ns"}
        tables[CURVE] = {**points, "confidence": curve.confidence, "source": curve.source}
    lines = [f"{key} = {_value(value)}" for key, value in content.items()]
    for key, table in tables.items():
        lines += ["", f"[{key}]", *(f"{name} = {_value(value)}" for name, value in table.items() if not isinstance(value, dict))]
    return "\n".join(lines) + "\n"


def _copied(table: Mapping[str, Any], near: str) -> dict[str, Any]:
    """Return a constant of the nearest part as one that nobody has measured here."""
    source = f"not measured here: that of {near}, {table['source']}"
    return {**table, "confidence": "unsourced", "source": source[:MOST_LETTERS]}


def rounded(value: float) -> float:
    """Return a number of DIGITS digits; one below what a part's file may say is 0."""
    return round(float(value), DIGITS - 1 - floor(log10(value))) if value >= LEAST else 0.0


def _digits(numbers: tuple[float, ...]) -> list[float]:
    return [rounded(number) for number in numbers]


def _value(value: Any) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)
