"""Lists of ids: texts of several ids are split, and lists of tokens lie end to end, of which samples know where theirs begin."""

import re
from typing import Any

import numpy as np
from pyarrow import compute, types

from ...core.arrays import Ints, Words
from ...errors import BadFile
from .cells import plain
from .ids import Place

MOST_LENGTH = 10_000  # of a list: what a model's pooling factor can be
BRACKETS = r"^(?:\[(?:.|\n)*\]|\((?:.|\n)*\)|\{(?:.|\n)*\}|<(?:.|\n)*>)$"
OTHERS = "[](){}<>\"',;|"
MARKS = r"[\[\](){}<>]"
CLOSING = {"]": "[", ")": "(", "}": "{", ">": "<"}
QUOTED = r"""^(['"])((.|\n)*)(['"])$"""


def is_list(kind: Any) -> bool:
    """Return whether a type of Arrow is a list."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


class ListTexts:
    """Splits a column's cells of text into ids, block by block.

    Empty pieces are dropped. Brackets around a cell are syntax, and so are quotation marks around a piece. Brackets or
    quotation marks with a separator inside are another syntax, which is refused.
    """

    def __init__(self, separator: str) -> None:
        """Start with what stands between two ids of a cell."""
        self._separator = separator
        mark = re.escape(separator)
        plain_id = f"[^{mark}{re.escape(OTHERS.replace(separator, ''))}]*"
        piece = rf"""\s*(?:'[^'{mark}]*'|"[^"{mark}]*"|{plain_id})\s*"""
        self._plain = rf"^[\[({{<]{piece}(?:{mark}{piece})*[\])}}>]$"

    def __call__(self, column: Any, place: Place) -> Any:
        """Return the column as lists of texts; raises BadFile for a cell that has a syntax of its own."""
        texts = plain(column).fill_null("")
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
        doubtful = compute.and_not(marked, compute.match_substring_regex(texts, self._plain))
        for row in np.flatnonzero(doubtful.to_numpy(zero_copy_only=False)):
            cell = texts[row].as_py()
            if why := self._fault(cell):
                raise BadFile(
                    f"{place(int(row))}={cell[:40]!r} {why}; write the ids alone, with {self._separator!r} between them."
                )

    def _fault(self, cell: str) -> str:
        """Return what is wrong with the syntax of a cell, "" where nothing is."""
        whole = cell[1:-1] if re.fullmatch(BRACKETS, cell) else cell
        pieces = [piece.strip() for piece in whole.split(self._separator)]
        if _is_balanced(cell) and not all(map(_is_balanced, pieces)):
            return "has lists or calls inside the list"
        if whole == cell:
            return ""
        for mark in "\"'":
            if any(piece.startswith(mark) != (piece.endswith(mark) and len(piece) > 1) for piece in pieces):
                return "has a separator inside an id's quotation marks"
        other = next((mark for mark in ",;|" if mark != self._separator and any(piece.endswith(mark) for piece in pieces)), "")
        return f"has its ids between {other!r}, where lists={self._separator!r}" if other else ""


def _is_balanced(text: str) -> bool:
    """Return whether each bracket of a text that opens closes in it."""
    opened: list[str] = []
    for letter in text:
        if letter in CLOSING.values():
            opened.append(letter)
        elif letter in CLOSING and (not opened or opened.pop() != CLOSING[letter]):
            return False
    return not opened


def _without_empty(lists: Any, pieces: Any) -> Any:
    """Return lists whose flat `pieces` are given, without the empty ones."""
    from pyarrow import LargeListArray, array

    sizes = np.asarray(compute.list_value_length(lists).to_numpy(zero_copy_only=False), dtype=np.int64)
    there = np.asarray(compute.not_equal(pieces, "").to_numpy(zero_copy_only=False), np.bool_)
    counts = np.concatenate(([0], np.cumsum(there)))
    starts = counts[np.concatenate(([0], np.cumsum(sizes)))]
    return LargeListArray.from_arrays(array(starts, "int64"), pieces.filter(array(there)))


def side_by_side(fields: list[tuple[Words, Ints]]) -> tuple[Words, Ints, Ints]:
    """Return tokens of samples, field by field inside each; where each sample's begin, (n,); and their lengths (n, F).

    `fields` has each field's tokens, sample by sample, and their lengths.
    """
    lengths = np.stack([sizes for _, sizes in fields], axis=1).astype(np.int64)
    begins = np.concatenate(([0], np.cumsum(lengths)))[:-1].reshape(lengths.shape)
    tokens = np.empty(int(lengths.sum()), np.uint64)
    for field, (held, sizes) in enumerate(fields):
        tokens[runs(begins[:, field], sizes)] = held
    return tokens, begins[:, 0], lengths


def runs(begins: Ints, lengths: Ints) -> Ints:
    """Return the places of runs of consecutive ones, run after run."""
    found: Ints = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    return found
