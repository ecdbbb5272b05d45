"""Cells with several ids, split into tokens.

The tokens of all cells are in one array, one list after the other.
"""

import re
from typing import Any

import numpy as np
from pyarrow import compute, types

from ...core.arrays import Ints, Words, run_positions
from ...errors import BadFile
from .cells import plain_column
from .ids import Place

BRACKETS = r"^(?:\[(?:.|\n)*\]|\((?:.|\n)*\)|\{(?:.|\n)*\}|<(?:.|\n)*>)$"
OTHER_MARKS = "[](){}<>\"',;|"
MARKS = r"[\[\](){}<>]"
CLOSING = {"]": "[", ")": "(", "}": "{", ">": "<"}
QUOTED = r"""^(['"])((.|\n)*)(['"])$"""


def is_list(kind: Any) -> bool:
    """Return whether an Arrow type is a list."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


class ListTexts:
    """A function that splits the text cells of a column into ids, block by block.

    Empty pieces are left out. Brackets around a cell and quotation marks around a piece are removed. Brackets or quotation marks
    with a separator inside them are an unknown syntax, which is refused.
    """

    def __init__(self, separator: str) -> None:
        """Start with the separator between two ids of a cell."""
        self._separator = separator
        mark = re.escape(separator)
        plain_id = f"[^{mark}{re.escape(OTHER_MARKS.replace(separator, ''))}]*"
        piece = rf"""\s*(?:'[^'{mark}]*'|"[^"{mark}]*"|{plain_id})\s*"""
        self._plain_list = rf"^[\[({{<]{piece}(?:{mark}{piece})*[\])}}>]$"

    def __call__(self, column: Any, place: Place) -> Any:
        """Return the column as lists of texts.

        Raises BadFile for a cell that has a syntax of its own.
        """
        texts = plain_column(column).fill_null("")
        bracketed = compute.match_substring_regex(texts, BRACKETS)
        self._check(texts, place)
        texts = compute.if_else(bracketed, compute.utf8_trim_whitespace(compute.utf8_slice_codeunits(texts, 1, -1)), texts)
        lists = compute.split_pattern(texts, self._separator)
        pieces = compute.utf8_trim_whitespace(lists.flatten())
        pieces = compute.replace_substring_regex(pieces, QUOTED, r"\2")
        return _without_empty(lists, pieces)

    def _check(self, texts: Any, place: Place) -> None:
        """Raise BadFile for a cell whose brackets or quotation marks hold more than one id."""
        marked = compute.match_substring_regex(texts, MARKS)
        is_doubtful = compute.and_not(marked, compute.match_substring_regex(texts, self._plain_list))
        for row in np.flatnonzero(is_doubtful.to_numpy(zero_copy_only=False)):
            cell = texts[row].as_py()
            if fault := self._fault(cell):
                raise BadFile(
                    f"{place(int(row))}={cell[:40]!r} {fault}; write only the ids, with {self._separator!r} between them."
                )

    def _fault(self, cell: str) -> str:
        """Return the fault in the syntax of a cell, or ""."""
        inner = cell[1:-1] if re.fullmatch(BRACKETS, cell) else cell
        pieces = [piece.strip() for piece in inner.split(self._separator)]
        if _is_balanced(cell) and not all(map(_is_balanced, pieces)):
            return "has lists or calls inside the list"
        if inner == cell:
            return ""
        for mark in "\"'":
            if any(piece.startswith(mark) != (piece.endswith(mark) and len(piece) > 1) for piece in pieces):
                return "has a separator inside an id's quotation marks"
        other_mark = next(
            (mark for mark in ",;|" if mark != self._separator and any(piece.endswith(mark) for piece in pieces)), ""
        )
        return f"has its ids between {other_mark!r}, where lists={self._separator!r}" if other_mark else ""


def _is_balanced(text: str) -> bool:
    """Return whether each opening bracket of a text is closed in the text."""
    open_brackets: list[str] = []
    for letter in text:
        if letter in CLOSING.values():
            open_brackets.append(letter)
        elif letter in CLOSING and (not open_brackets or open_brackets.pop() != CLOSING[letter]):
            return False
    return not open_brackets


def _without_empty(lists: Any, pieces: Any) -> Any:
    """Return lists whose flat `pieces` are given, without the empty ones."""
    from pyarrow import LargeListArray, array

    sizes = np.asarray(compute.list_value_length(lists).to_numpy(zero_copy_only=False), dtype=np.int64)
    is_filled = np.asarray(compute.not_equal(pieces, "").to_numpy(zero_copy_only=False), np.bool_)
    counts = np.concatenate(([0], np.cumsum(is_filled)))
    starts = counts[np.concatenate(([0], np.cumsum(sizes)))]
    return LargeListArray.from_arrays(array(starts, "int64"), pieces.filter(array(is_filled)))


def join_fields(fields: list[tuple[Words, Ints]]) -> tuple[Words, Ints, Ints]:
    """Return (tokens, position of each sample's first token, lengths) from separate fields.

    The tokens are sample by sample, and within a sample field by field. Positions are (n,), lengths (n, F). `fields` has for each
    field its tokens, sample by sample, and the number of tokens of each sample.
    """
    lengths = np.stack([sizes for _, sizes in fields], axis=1).astype(np.int64)
    begins = np.concatenate(([0], np.cumsum(lengths)))[:-1].reshape(lengths.shape)
    tokens = np.empty(int(lengths.sum()), np.uint64)
    for field, (field_tokens, sizes) in enumerate(fields):
        tokens[run_positions(begins[:, field], sizes)] = field_tokens
    return tokens, begins[:, 0], lengths
