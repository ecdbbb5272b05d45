"""Lists of ids: texts of several ids are split, and lists of tokens lie end to end, of which samples know where theirs begin."""

from typing import Any

import numpy as np
from pyarrow import compute, types

from ...core.arrays import Flags, Ints, Words
from ...errors import BadFile
from .cells import plain
from .ids import Place

MOST_LENGTH = 10_000  # of a list: what a model's pooling factor can be
BRACKETS = r"^[\[\(\{](.|\n)*[\]\)\}]$"
QUOTED = r"""^(['"])((.|\n)*)(['"])$"""


def is_list(kind: Any) -> bool:
    """Return whether a type of Arrow is a list."""
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


class ListTexts:
    """Splits a column's cells of text into ids, block by block.

    Empty pieces are dropped. Brackets around most cells of the first block are syntax, and so are quotation marks around a piece.
    """

    def __init__(self, separator: str) -> None:
        """Start with what stands between two ids of a cell."""
        self._separator = separator
        self._bracketed: bool | None = None

    def __call__(self, column: Any, place: Place) -> Any:
        """Return the column as lists of texts; raises BadFile where brackets are syntax in one part of the file alone."""
        texts = plain(column).fill_null("")
        bracketed = np.asarray(compute.match_substring_regex(texts, BRACKETS).to_numpy(zero_copy_only=False), np.bool_)
        filled = np.asarray(compute.not_equal(texts, "").to_numpy(zero_copy_only=False), np.bool_)
        if self._bracketed is None and filled.any():
            self._bracketed = bool(2 * bracketed.sum() > filled.sum())
        if self._bracketed:
            if (bare := filled & ~bracketed).any():
                raise _bare(texts, bare, place)
            texts = compute.utf8_slice_codeunits(texts, 1, -1)
        lists = compute.split_pattern(texts, self._separator)
        pieces = compute.utf8_trim_whitespace(lists.flatten())
        if self._bracketed:
            pieces = compute.replace_substring_regex(pieces, QUOTED, r"\2")
        return _without_empty(lists, pieces)


def _bare(texts: Any, bare: Flags, place: Place) -> BadFile:
    row = int(bare.argmax())
    return BadFile(
        f"{place(row)}={texts[row].as_py()[:40]!r} has no brackets, which stand around the other lists of the column; "
        "write all lists alike."
    )


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
