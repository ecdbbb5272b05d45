"""The label among a table's columns: its name, its rule, and copies of it.

A column that is named like a label is the label or asked about. It is never an input.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.arithmetic import total
from .records import is_number

LABEL_WORDS = Path(__file__).with_name("label_words.toml")
WORDS = {role: words.split() for role, words in tomllib.loads(LABEL_WORDS.read_text(encoding="utf-8")).items()}
NAME = re.compile(
    rf"((is|has|was|did|user|ad)_?)?({'|'.join(WORDS['names'])})(_?(flag|label|yn|bool|binary|true|train|test|01))?"
)
OTHER_PREFIX = re.compile(r"(no|not|non|un|without)[\W_]?\w+", re.I)  # "no click", "unclicked"
NEARLY_ALL = 0.9  # share of 0 and 1 from which a label has misspelt values, rather than several classes
CELLS_PER_CLASS, MOST_CLASSES = 10, 20  # rows for each value that show a copy; values of a label


class LabelRule(NamedTuple):
    """The rule of a label by its values.

    rule: the rule of a click, such as "== 1"; "" for 0 and 1; None if the values do not say which is a click.
    note: a sentence for the user; "" where nothing is in doubt.
    """

    rule: str | None
    note: str = ""


def plain_name(name: str) -> str:
    """Return a column's name in small letters, its words with underscores between them."""
    return re.sub(r"[\W_]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()).strip("_")


def is_label_name(name: str) -> bool:
    """Return whether a column is named like a label, such as "label", "isClick" or "y"."""
    return NAME.fullmatch(plain_name(name)) is not None


def truth(cell: str) -> int | None:
    """Return 0 or 1 for a number or a truth value, None for other cells."""
    if is_number(cell):
        return int(float(cell)) if float(cell) in (0, 1) else None
    return {"true": 1, "false": 0}.get(cell.lower())


def label_rule(name: str, cells: Iterable[str]) -> LabelRule:
    """Return the rule of a column that is named like a label.

    `cells` are its first cells without missing ones.
    """
    counts = Counter(f"{float(cell):g}" if is_number(cell) else cell for cell in cells)
    truths = [value for value in counts if truth(value) is not None]
    misspelt = [value for value in counts if truth(value) is None]
    if {truth(value) for value in truths} == {0, 1}:
        if not misspelt:
            return LabelRule("")
        if total(counts[value] for value in truths) >= NEARLY_ALL * counts.total():
            return LabelRule("", f"{name} is the label, but has {_examples(misspelt)} beside 0 and 1: correct these cells.")
    if len(counts) == 2 and (click := _click(*counts)) is not None:
        (other,) = {*counts} - {click}
        said = f"{name} is taken as the label: {click!r} is a click and {other!r} is none; correct the rule if not."
        return LabelRule(f"== {click}" if is_number(click) else f"== '{click}'", said)
    return LabelRule(None, _question(name, counts))


def _click(*values: str) -> str | None:
    """Return the one of two values that means a click: the larger number or the word for it, None without such a word."""
    if all(map(is_number, values)):
        return max(values, key=float)
    clicks = [value for value in values if value.casefold() in WORDS["click"]]
    others = [value for value in values if value.casefold() in WORDS["none"] or OTHER_PREFIX.fullmatch(value)]
    rest = [value for value in values if value not in others]
    click = clicks if len(clicks) == 1 else rest if len(others) == 1 else []
    return click[0] if len(click) == 1 and not {"'", '"'} & set(click[0]) else None


def _question(name: str, counts: Counter[str]) -> str:
    values = [value for value, _ in counts.most_common()]
    numbers = sorted(float(value) for value in values if is_number(value))
    example = f"{name} == 'WORD'"
    if numbers and len(numbers) == len(values):
        example = f"{name} > 0" if numbers[0] <= 0 else f"{name} >= {numbers[-1]:g}"
    fault = f"is named like the label, but its values ({_examples(values)}) do not say which is a click"
    return f'{name} {fault}, so it is left out: write label = "{example}", or its name among ids or dense if it is an input.'


def _examples(values: Sequence[str]) -> str:
    return ", ".join(repr(value[:20]) for value in values[:3]) + (", ..." if len(values) > 3 else "")


def copies_of(label: str, columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the columns that are copies of the label in the first rows.

    A copy may have other words for the label's values. `columns` are the first cells by name, the label's among them.
    """
    cells = [cell.strip() for cell in columns[label]]
    classes = len({*cells} - {""})
    if not 2 <= classes <= MOST_CLASSES or len(cells) < CELLS_PER_CLASS * classes:
        return ()
    return tuple(name for name, others in columns.items() if name != label and _are_alike(cells, others))


def _are_alike(cells: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether each value of a column stands beside one value of the other, and the other way about."""
    pairs = {*zip(cells, (cell.strip() for cell in others), strict=True)}
    return len(pairs) == len({cell for cell, _ in pairs}) == len({cell for _, cell in pairs})
