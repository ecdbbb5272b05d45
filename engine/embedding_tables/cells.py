"""Cells of a list of tables: whole numbers, and the words of other programs.

A thousands separator is only accepted where its meaning is clear: "1.000" is a thousand in one country and 1 in another.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any

from ..core.figures import count
from ..errors import BadInput

SPACES = " \u00a0\u202f'\u2019_"  # always thousands separators between groups of digits
POINTS = ".,"
GROUPED = re.compile(rf"[0-9]{{1,3}}(?:(?P<mark>[{SPACES}{POINTS}])[0-9]{{3}})(?:(?P=mark)[0-9]{{3}})*")
PLAIN_NUMBER = re.compile("[+-]?[0-9]{1,18}")
WHOLE_NUMBER = re.compile(r"([0-9]+)[.,]0{1,2}")  # whole numbers with a point, as some programs write them
FRACTION = re.compile("[0-9]+,[0-9]+")
SCALED = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:e\+?([0-9]{1,2}))?\s*(k|m|million|g|b|billion)?", re.IGNORECASE)
SCALE_FACTORS = {"k": 10**3, "m": 10**6, "million": 10**6, "g": 10**9, "b": 10**9, "billion": 10**9}
PRECISION_WORDS = {
    "float32": "fp32",
    "float": "fp32",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
}
OPTIMIZER_WORDS = {
    "row-wise-adagrad": "rowwise-adagrad",
    "exact-row-wise-adagrad": "rowwise-adagrad",
    "exact-rowwise-adagrad": "rowwise-adagrad",
    "exact-adagrad": "adagrad",
    "exact-sgd": "sgd",
}


def thousands_marks(texts: Iterable[str]) -> frozenset[str]:
    """Return a column's thousands separators: each point or comma that one number has twice."""
    groupings = (GROUPED.fullmatch(text.strip()) for text in texts if "." in text or "," in text)
    return frozenset(match["mark"] for match in groupings if match and match[0].count(match["mark"]) > 1)


def whole_number(cell: Any, marks: frozenset[str] = frozenset()) -> int:
    """Return the whole number of a cell; `marks` are its column's thousands separators. Raises BadInput."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return _integer(Decimal(cell), cell) if isfinite(cell) else _refuse(cell)
    text = str(cell).strip()
    if PLAIN_NUMBER.fullmatch(text):
        return int(text)
    if grouped := GROUPED.fullmatch(text):
        return _grouped(text, grouped["mark"], marks)
    if point := WHOLE_NUMBER.fullmatch(text):
        return int(point[1])
    scaled = SCALED.fullmatch(text.replace(",", ".") if FRACTION.fullmatch(text) else text)
    if scaled is None:
        return _refuse(cell)
    return _integer(Decimal(scaled[1]) * 10 ** int(scaled[2] or 0) * SCALE_FACTORS.get((scaled[3] or "").lower(), 1), cell)


def _grouped(text: str, mark: str, marks: frozenset[str]) -> int:
    number = int(text.replace(mark, ""))
    if mark in POINTS and text.count(mark) == 1 and mark not in marks:
        raise BadInput(
            f"{text!r} can mean {count(number)} or {text.partition(mark)[0]}, because countries write numbers differently; "
            "write the number without a mark between its digits."
        )
    return number


def _integer(number: Decimal, cell: Any) -> int:
    if number != int(number):
        raise BadInput(f"{_cell_text(cell)} is not a whole number; write a whole number.")
    return int(number)


def _refuse(cell: Any) -> int:
    raise BadInput(f"{_cell_text(cell)} is not a number; write a whole number, such as 5000000 or 5 M.")


def _cell_text(cell: Any) -> str:
    return repr(str(cell).strip()[:40])


def known_word(cell: Any, names: Mapping[str, str]) -> str:
    """Return a cell's word as a knob's word; `names` maps other words to knobs' words.

    Words are in small letters, with hyphens for blanks.
    """
    word = re.sub(r"[\s_]+", "-", str(cell).strip().lower())
    return names.get(word, word)
