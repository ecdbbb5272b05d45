"""Cells of Arrow's columns, of text or of any other type, as numbers, as times and as tokens."""

import re
from collections.abc import Callable
from contextlib import suppress
from math import isnan, nan
from typing import Any

import numpy as np
from pyarrow import ArrowException, ArrowInvalid, ArrowNotImplementedError, compute, types

from ...core.arrays import Bytes, Flags, Floats, Ints, Words
from ...core.jit import entry
from ...errors import BadFile

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
HEXADECIMAL = np.array([chr(byte) in "0123456789abcdefABCDEF" for byte in range(256)])
Place = Callable[[int], str]  # where a cell stands, and its column, as a message begins


def numbers(held: Any, place: Place) -> Floats:
    """Return each cell as a number, nothing as 0; raises BadFile for one that is none."""
    try:
        found = _read(held.fill_null("")) if _is_text(held.type) else _cast(held)
    except (ArrowInvalid, ArrowNotImplementedError) as error:
        raise BadFile(f"{place(0)} is a column of {held.type} without numbers ({str(error)[:80]}); map another one.") from error
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        cell = str(held[bad[0]].as_py())[:40]
        raise BadFile(f"{place(bad[0])}={cell!r} is not a finite number; write one, or nothing where it is missing.")
    return found


def _cast(held: Any) -> Floats:
    whole = held.cast("int64") if types.is_temporal(held.type) else held
    found: Floats = whole.cast("float64", safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    return found


def _read(texts: Any) -> Floats:
    """Return the numbers of texts, NaN for what is none; Arrow knows most ways to write one, and is quick."""
    with suppress(ArrowInvalid):
        return _cast(compute.if_else(compute.equal(texts, ""), "0", texts))
    return np.array([_number(cell) for cell in texts.to_pylist()])


def _number(cell: str) -> float:
    return float(cell or 0) if NUMBER.fullmatch(cell or "0") else nan


def times(held: Any, place: Place) -> Floats:
    """Return times as numbers, of ISO dates the microseconds; raises BadFile."""
    if _is_text(held.type) and len(held) and isnan(_number(held[0].as_py())):
        with suppress(ArrowInvalid):
            return _cast(compute.cast(held, "timestamp[us]"))
    return numbers(held, place)


def tokens(held: Any, place: Place, longest: int = 0) -> Words:
    """Return a whole number as itself, anything else by the hash of its text; nothing is a token of its own.

    Raises BadFile for what is no id, and for what has other characters than `longest` hexadecimal digits, if that is not 0.
    """
    kind = held.type
    if types.is_integer(kind) or types.is_boolean(kind):
        wide = "int64" if types.is_signed_integer(kind) else "uint64"
        found: Words = np.array(held.cast(wide).fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)
        found[held.is_null().to_numpy(zero_copy_only=False)] = np.uint64(2**64 - 1)
        return found
    try:
        texts = held.cast("large_binary" if types.is_binary(kind) else "large_string").fill_null("")
    except ArrowException as error:
        raise BadFile(f"{place(0)} is a column of {str(kind)[:60]} without ids; map one of whole numbers or texts.") from error
    _, starts, characters = texts.buffers()
    starts = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    found = np.empty(len(texts), np.uint64)
    hexadecimal = _hash(np.frombuffer(characters or b"", np.uint8), starts, found)
    if longest and not (hexadecimal and np.diff(starts).max(initial=0) <= longest):
        raise _no_id(texts, place, longest)
    return found


def _no_id(texts: Any, place: Place, longest: int) -> BadFile:
    digits = re.compile(f"[0-9A-Fa-f]{{0,{longest}}}")
    row, cell = next((row, cell) for row, cell in enumerate(texts.to_pylist()) if not digits.fullmatch(cell))
    long = f" of {len(cell):,} characters" if len(cell) > 40 else ""
    return BadFile(f"{place(row)}={cell[:40]!r}{long} is not an id; write up to {longest} hexadecimal digits, or nothing.")


def missing(held: Any) -> Flags:
    """Return which cells are not there: null, or an empty text."""
    found = compute.equal(held, "").fill_null(True) if _is_text(held.type) else held.is_null()
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _is_text(kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


@entry
def _hash(texts: Bytes, starts: Ints, found: Words) -> bool:
    """Fill in the FNV-1a hash of each text; return whether all are hexadecimal."""
    hexadecimal = True
    for i in range(len(found)):
        word = BASIS
        for at in range(starts[i], starts[i + 1]):
            word = (word ^ np.uint64(texts[at])) * PRIME
            hexadecimal &= HEXADECIMAL[texts[at]]
        found[i] = word
    return hexadecimal
