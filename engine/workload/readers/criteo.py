"""The layout of Criteo's click logs: TSV without a header, or CSV with one.

A line is `label, I1..I13, C1..C26`, in CSV with an optional leading `Id`.
"""

from ...errors import BadFile
from .layouts import Layout

DENSE, IDS = tuple(f"I{i}" for i in range(1, 14)), tuple(f"C{i}" for i in range(1, 27))
NAMES = ("label", *DENSE, *IDS)
LONGEST_ID = 32


def layout(name: str, first: str) -> Layout:
    """Return the layout of a Criteo file by its first line; raises BadFile."""
    delimiter = "\t" if "\t" in first else ","
    words = tuple(word.strip() for word in first.split(delimiter))
    headed = words[0].lower() in ("id", "label")
    if headed:
        words = words[words[0].lower() == "id" :]
        _check_header(name, words)
    elif delimiter == "," and first.strip() and first.isprintable():
        raise BadFile(
            f"{name}:1: {first[:40]!r} starts neither a tab-separated sample nor a CSV header; "
            "a Criteo CSV starts with Id,Label,I1,... or label,I1,..."
        )
    label, *others = words if headed else NAMES
    dense, ids = tuple(others[: len(DENSE)]), tuple(others[len(DENSE) :])
    columns, delimiter = ((), delimiter) if headed else (NAMES, "\t")
    return Layout("criteo", label, ids, dense, columns=columns, delimiter=delimiter, longest_id=LONGEST_ID)


def _check_header(name: str, words: tuple[str, ...]) -> None:
    if len(words) != len(NAMES):
        raise BadFile(f"{name}:1: the header names {len(words)} columns besides Id; write {len(NAMES)}: label, I1..I13, C1..C26.")
    for word, wanted in zip(words, NAMES, strict=True):
        if word.lower() != wanted.lower():
            raise BadFile(f"{name}:1: the header has {word[:40]!r} where {wanted} is expected: label, I1..I13, C1..C26.")
