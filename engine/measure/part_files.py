"""This machine's parts as files of the catalogue.

Constants that were not measured are copied from the catalogue's most similar part.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import floor, log10
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..core import catalog
from ..core.constants import MIN_DIVISOR
from ..core.part_files.curves import CURVE, LatencyPoints
from ..core.part_files.tables import MAX_LINE_LETTERS
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
GPU_PART_NAMES = {"framework": "measured-gpu"}  # names of parts that drive a GPU: a call of the host's framework costs nothing
USED_KINDS = {
    "host": ("dram", "copy-path"),
    "gpu": ("fabric",),
}  # kinds of parts that a part names, this machine's where measured
NO_NAMES: Mapping[str, str] = MappingProxyType({})
LEFT_OUT = ("availability", "price")  # tables of the nearest part that are left out
DIGITS = 6
NO_CURVES: Mapping[str, LatencyPoints] = MappingProxyType({})


def write_parts(
    folder: Path,
    machine: str,
    figures: Mapping[str, Mapping[str, MeasuredFigure]],
    nearest: Mapping[str, str] = NEAREST,
    names: Mapping[str, str] = NO_NAMES,
    curves: Mapping[str, LatencyPoints] = NO_CURVES,
    beside: Iterable[str] = (),
) -> list[Path]:
    """Write FOLDER/KIND/NAME.toml for each kind of part; return the paths.

    machine: machine and software as one line of text.
    figures: measured constants by kind and key.
    nearest: the catalogue's most similar part, by kind.
    names: file names by kind, where the name is not NAME.
    curves: latency curves by kind.
    beside: further measured kinds, whose files are written by another call.
    """
    paths = []
    for kind, constants in figures.items():
        path = folder / kind / f"{names.get(kind, NAME)}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        content = part_text(kind, machine, constants, nearest[kind], (*figures, *beside), curves.get(kind))
        part.write_text(content, encoding="utf-8")
        part.replace(path)
        paths.append(path)
    return paths


def part_text(
    kind: str,
    machine: str,
    constants: Mapping[str, MeasuredFigure],
    nearest_part: str,
    kinds: Sequence[str],
    curve: LatencyPoints | None = None,
) -> str:
    """Return the text of a part's file.

    Constants that were not measured are those of `nearest_part`. `kinds` are all measured kinds, which a part refers to by name.
    """
    base = {**catalog.part_content(kind, nearest_part)}
    content: dict[str, Any] = {"title": f"This machine, {kind}", "summary": machine}
    content |= {key: words for key, words in base.items() if isinstance(words, str) and key not in content}
    content |= {part_kind: NAME for part_kind in USED_KINDS.get(kind, ()) if part_kind in kinds}
    units = catalog.units(kind)
    tables = {
        key: _nearest_constant(table, nearest_part)
        for key, table in base.items()
        if isinstance(table, dict) and key not in LEFT_OUT
    }
    for key, constant in constants.items():
        origin = "not measured here," if constant.confidence == "unsourced" else constant.confidence
        source = f"{origin} {date.today().isoformat()} by emberpool measure {release()}"
        numbers = dict(zip(("value", "low", "high"), map(round_digits, constant[:3]), strict=True))
        tables[key] = {**numbers, "unit": units[key], "confidence": constant.confidence, "source": source, "note": constant.note}
    if curve:
        points = {"loads": _rounded_all(curve.loads), "latencies": _rounded_all(curve.latencies), "unit": "ns"}
        tables[CURVE] = {**points, "confidence": curve.confidence, "source": curve.source}
    lines = [f"{key} = {_toml_scalar(scalar)}" for key, scalar in content.items()]
    for key, table in tables.items():
        lines += [
            "",
            f"[{key}]",
            *(f"{name} = {_toml_scalar(scalar)}" for name, scalar in table.items() if not isinstance(scalar, dict)),
        ]
    return "\n".join(lines) + "\n"


def _nearest_constant(table: Mapping[str, Any], nearest_part: str) -> dict[str, Any]:
    """Return a constant of the nearest part, marked as unsourced here."""
    source = f"not measured here: that of {nearest_part}, {table['source']}"
    return {**table, "confidence": "unsourced", "source": source[:MAX_LINE_LETTERS]}


def round_digits(number: float) -> float:
    """Return a number rounded to DIGITS digits; 0 if it is below MIN_DIVISOR."""
    return round(float(number), DIGITS - 1 - floor(log10(number))) if number >= MIN_DIVISOR else 0.0


def _rounded_all(numbers: tuple[float, ...]) -> list[float]:
    return [round_digits(number) for number in numbers]


def _toml_scalar(scalar: Any) -> str:
    return '"' + scalar.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(scalar, str) else repr(scalar)
