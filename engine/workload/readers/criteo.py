"""The layout of Criteo's click logs: TSV without a header, or CSV with a header.

TSV files are recognised by their rows, CSV files by their header.
A line is `label, I1..I13, C1..C26`; in CSV an `Id` may come first.
"""

import json
import re

from ...core.figures import count
from ...errors import BadFile, UndescribedTable
from ...version import PROGRAM
from .layouts import Layout
from .mapping_text import mapping_text
from .sniffing import NUMBER, FirstRows, Row

DENSE, IDS = tuple(f"I{i}" for i in range(1, 14)), tuple(f"C{i}" for i in range(1, 27))
FEATURES = (*DENSE, *IDS)
NAMES = ("label", *FEATURES)
LONGEST_ID = 32
HEXADECIMAL, UNLIKE_A_NUMBER = (
    re.compile(f"[0-9A-Fa-f]{{0,{LONGEST_ID}}}"),
    re.compile(r"[0-9A-Fa-f]*[A-Fa-f][0-9A-Fa-f]*|[0-9]{8}"),
)
MAJORITY = 0.5  # share of the first rows, or of a header's names, beyond which a file is one of Criteo's


def is_headed(words: Row) -> bool:
    """Return whether a header is Criteo's, perhaps with mistakes.

    A header is Criteo's if most of the names I1 to C26 are in it.
    """
    feature_names = {word.lower() for word in words} & {name.lower() for name in FEATURES}
    return len(feature_names) > MAJORITY * max(len(FEATURES), len(words))


def is_unlabelled(rows: FirstRows) -> bool:
    """Return whether a file has all of Criteo's columns except the label, as test.txt has."""
    words = _besides_id(rows)
    headed = len(words) == len(FEATURES) and is_headed(words) and words[0].lower() == "i1"
    return headed or is_sampled(rows, labelled=False)


def is_sampled(rows: FirstRows, labelled: bool = True) -> bool:
    """Return whether rows without a header are samples of Criteo's logs.

    Such rows have 40 columns with a label, else 39; the last 26 columns are hexadecimal.
    """
    if rows.header or rows.width != len(FEATURES) + labelled or rows.even_share <= MAJORITY:
        return False
    sample_rows = [row for row in rows.rows if _is_sample(row, labelled)]
    ids = [cell for row in sample_rows for cell in row[-len(IDS) :] if cell]
    return len(sample_rows) > MAJORITY * len(rows.rows) and (not ids or any(map(UNLIKE_A_NUMBER.fullmatch, ids)))


def _is_sample(row: Row, labelled: bool) -> bool:
    dense, ids = row[labelled : -len(IDS)], row[-len(IDS) :]
    numbers = all(NUMBER.fullmatch(cell) for cell in dense if cell)
    return numbers and all(map(HEXADECIMAL.fullmatch, ids)) and (not labelled or row[0] in ("0", "1", "0.0", "1.0"))


def criteo_layout(name: str, rows: FirstRows) -> Layout:
    """Return the layout of a Criteo file with or without a header.

    Raises BadFile.
    """
    words = _besides_id(rows)
    if words:
        _check_header(name, words, rows)
    label, *feature_columns = words or NAMES
    dense, ids = tuple(feature_columns[: len(DENSE)]), tuple(feature_columns[len(DENSE) :])
    columns, delimiter = ((), rows.delimiter) if words else (NAMES, rows.delimiter if rows.width == len(NAMES) else "\t")
    return Layout("criteo", label, ids, dense, columns=columns, delimiter=delimiter, longest_id=LONGEST_ID)


def unlabelled_refusal(name: str, rows: FirstRows) -> UndescribedTable:
    """Return the refusal of a Criteo file without labels, such as test.txt.

    The refusal has a mapping with which commands that need no labels can read the file.
    """
    return UndescribedTable(
        f"{name} is a file of Criteo without labels, such as test.txt. A run needs labels: give train.txt or day_0. `{PROGRAM} "
        f"workload fit` and `{PROGRAM} workload count` need no labels: save these lines as {name}.toml for them:",
        remedy=_mapping(rows),
    )


def _mapping(rows: FirstRows) -> str:
    """Return a mapping of samples without labels."""
    names = [name for name in rows.header or FEATURES if name.lower() != "id"]
    lines = [f"ids = {json.dumps(names[len(DENSE) :])}", f"dense = {json.dumps(names[: len(DENSE)])}"]
    lines += [] if rows.header else [f"columns = {json.dumps(names)}"]
    return "\n".join([*lines, *([] if rows.delimiter == "," else [f"delimiter = {json.dumps(rows.delimiter)}"])])


def _besides_id(rows: FirstRows) -> Row:
    return rows.header[bool(rows.header and rows.header[0].lower() == "id") :]


def _check_header(name: str, words: Row, rows: FirstRows) -> None:
    fault = ""
    if len(words) != len(NAMES):
        fault = f"names {count(len(words), 'column')} besides Id, where Criteo's has {len(NAMES)}"
    else:
        mismatches = [pair for pair in zip(words, NAMES, strict=True) if pair[0].lower() != pair[1].lower()]
        fault = f"has {mismatches[0][0][:40]!r} where {mismatches[0][1]} is expected" if mismatches else ""
    if fault:
        raise BadFile(
            f"{name}:1: the header {fault}: label, I1..I13, C1..C26. Mend the header, or if it is right, save these lines as "
            f"{name}.toml:",
            remedy=mapping_text(rows.header, rows.delimiter, rows=[row for row in rows.rows if len(row) == len(rows.header)]),
        )
