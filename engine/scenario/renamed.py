"""Knobs that had another name or unit: what an old link, file or history says is read as the knob of today.

Only what was written before is translated; whoever writes an old name now is told the new one by `scenario.known`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..units import GB, GiB

RANGE, LIST = ":", ","
WRITTEN = re.compile(r"(\s*)([\w.]+)(\s*(?:[=:≤≥]|[<>]=?)?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Renamed:
    """Today's dotted path, and how much of today's unit is one of the old."""

    path: str
    factor: float = 1.0

    @property
    def remedy(self) -> str:
        """What to write instead, as the end of a sentence."""
        scale = f", with numbers {self.factor:.10g} times as large" if self.factor != 1 else ""
        return f"write {self.path}{scale}."


# The same bytes take the same whole modules, of whatever size the medium's are.
RENAMED: Mapping[str, Renamed] = {"machine.pmem_capacity_GiB": Renamed("machine.pmem_capacity_GB", GiB / GB)}


def translated(path: str, text: str) -> tuple[str, str]:
    """Return a knob and the text of its value, or of an axis's values, as they are written today."""
    old = RENAMED.get(path)
    if old is None:
        return path, text
    words = re.split(f"([{RANGE}{LIST}])", text)
    numbers = 3 if RANGE in words else len(words)  # LOW:HIGH, then COUNT and the scale
    return old.path, "".join([_scaled(word, old.factor) for word in words[:numbers]] + words[numbers:])


def rewritten(text: str) -> str:
    """Return an axis `KNOB:VALUES` or a bound `KNOB<=NUMBER` as it is written today; other texts as they are."""
    found = WRITTEN.fullmatch(text)
    if found is None or found[2] not in RENAMED:
        return text
    path, values = translated(found[2], found[4])
    return f"{found[1]}{path}{found[3]}{values}"


def _scaled(word: str, factor: float) -> str:
    """Return a number in the new unit; "auto" and what is no number stay, to be read or refused as they are."""
    try:
        return word if factor == 1 else f"{float(word) * factor:.15g}"
    except ValueError:
        return word
