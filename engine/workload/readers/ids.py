"""One rule for ids: how a cell of text or of any Parquet column becomes a token of 64 bits.

Blanks around a cell are no part of it, nor is a pair of quotation marks. A whole decimal number is that number, however it is
written: 12, 012, +12 and 12.0 are one id. Anything else is its text, by the FNV-1a hash. A null, NaN, empty or blank cell is
missing, which is a token of its own. Hexadecimal ids (Criteo's) are texts, upper and lower case alike. Bytes that are no text
(of a fixed size, or with others than printable characters of ASCII) are ids as they are, each byte of them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from pyarrow import ArrowException, compute, types

from ...core import figures
from ...core.arrays import Bytes, Ints, Words
from ...core.jit import entry, inner
from ...errors import BadFile

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
MISSING = BASIS  # the hash of the empty text
HEXADECIMAL = np.array([chr(byte) in "0123456789abcdefABCDEF" for byte in range(256)])
BLANK = np.array([chr(byte) in " \t\n\r\v\f" for byte in range(256)])
ZERO, NINE, POINT, PLUS, MINUS, QUOTE, SPACE, TILDE = (ord(letter) for letter in '09.+-" ~')
AS_TEXT, BYTES_OR_TEXT, AS_BYTES = range(3)  # what the cells of a column are
LARGEST, UPPER_A, UPPER_F, LOWER = 18, ord("A"), ord("F"), 32  # digits that surely fit into 63 bits
Place = Callable[[int], str]  # where a cell stands, and its column, as a message begins


def tokens(column: Any, place: Place, longest: int = 0) -> Words:
    """Return the token of each cell of an Arrow column.

    Raises BadFile for what is no id, and for a cell of other characters than `longest` hexadecimal digits, if that is not 0.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return _whole_numbers(column, place)
    if types.is_floating(kind):
        return _floats(column)
    if types.is_fixed_size_binary(kind):
        return _texts(_as_text(column, place), place, longest, AS_BYTES)
    binary = types.is_binary(kind) or types.is_large_binary(kind)
    return _texts(_as_text(column, place), place, longest, BYTES_OR_TEXT if binary else AS_TEXT)


def _as_text(column: Any, place: Place) -> Any:
    kind = column.type
    try:
        binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
        if types.is_fixed_size_binary(kind):
            column = column.cast("binary")
        return column.cast("large_binary" if binary else "large_string").fill_null(b"" if binary else "")
    except ArrowException as error:
        raise BadFile(f"{place(0)} is a column of {str(kind)[:60]} without ids; map one of whole numbers or texts.") from error


def _whole_numbers(column: Any, place: Place) -> Words:
    signed = types.is_signed_integer(column.type) or types.is_boolean(column.type)
    wide = column.cast("int64" if signed else "uint64")
    numbers: Words = np.array(wide.fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)
    if not signed and (large := numbers >= 2**63).any():
        numbers[large] = _texts(_as_text(wide.filter(_mask(large)), place), place, 0)
    numbers[column.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return numbers


def _mask(chosen: Any) -> Any:
    from pyarrow import array

    return array(chosen)


def _floats(column: Any) -> Words:
    """Return whole floats as the numbers that they are, others by their shortest text."""
    wide = column.cast("float64")
    numbers = wide.fill_null(np.nan).to_numpy(zero_copy_only=False)
    missing = np.isnan(numbers)
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63)
    found: Words = np.where(whole, numbers, 0.0).astype(np.int64).view(np.uint64)
    if (others := ~(whole | missing)).any():
        texts = column.filter(_mask(others)).cast("float32" if types.is_float16(column.type) else column.type)
        found[others] = _texts(texts.cast("large_string"), str, 0)
    found[missing] = MISSING
    return found


def _texts(texts: Any, place: Place, longest: int, mode: int = AS_TEXT) -> Words:
    if mode == AS_TEXT and types.is_large_string(texts.type) and _has_letters_beyond_ascii(texts):
        texts = compute.utf8_trim_whitespace(texts)  # which has other blanks too
    _, starts, characters = texts.buffers()
    starts = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    found = np.empty(len(texts), np.uint64)
    bad = _hash(np.frombuffer(characters or b"", np.uint8), starts, found, longest, mode)
    if bad >= 0:
        cell = str(texts[bad].as_py()).strip()
        long = f" of {figures.count(len(cell), 'character')}" if len(cell) > 40 else ""
        raise BadFile(f"{place(bad)}={cell[:40]!r}{long} is not an id; write up to {longest} hexadecimal digits, or nothing.")
    return found


def _has_letters_beyond_ascii(texts: Any) -> bool:
    characters = texts.buffers()[2]
    return characters is not None and bool((np.frombuffer(characters, np.uint8) > 127).any())


@entry
def _hash(texts: Bytes, starts: Ints, found: Words, longest: int, mode: int) -> int:
    """Fill in the token of each text; return the first that has other characters than `longest` hexadecimal digits, or -1."""
    for i in range(len(found)):
        begin, end = starts[i], starts[i + 1]
        if mode == AS_BYTES or (mode == BYTES_OR_TEXT and not _is_printable(texts, begin, end)):
            found[i] = _word(texts, begin, end)
            continue
        begin, end = _trimmed(texts, begin, end)
        if end - begin > 1 and texts[begin] == QUOTE and texts[end - 1] == QUOTE:
            begin, end = _trimmed(texts, begin + 1, end - 1)
        if longest:
            if end - begin > longest:
                return i
            for at in range(begin, end):
                if not HEXADECIMAL[texts[at]]:
                    return i
            found[i] = _hexadecimal(texts, begin, end)
        else:
            found[i] = _decimal(texts, begin, end)
    return -1


@inner
def _trimmed(texts: Any, begin: Any, end: Any) -> Any:
    """Return where a text begins and ends without blanks around it."""
    while begin < end and BLANK[texts[begin]]:
        begin += 1
    while begin < end and BLANK[texts[end - 1]]:
        end -= 1
    return begin, end


@inner
def _is_printable(texts: Any, begin: Any, end: Any) -> Any:
    printable = True
    for place in range(begin, end):
        printable &= SPACE <= texts[place] <= TILDE
    return printable


@inner
def _word(texts: Any, begin: Any, end: Any) -> Any:
    word = BASIS
    for place in range(begin, end):
        word = (word ^ np.uint64(texts[place])) * PRIME
    return word


@inner
def _hexadecimal(texts: Any, begin: Any, end: Any) -> Any:
    word = BASIS
    for at in range(begin, end):
        byte = texts[at]
        word = (word ^ np.uint64(byte + LOWER if UPPER_A <= byte <= UPPER_F else byte)) * PRIME
    return word


@inner
def _decimal(texts: Any, begin: Any, end: Any) -> Any:
    """Return a whole number as itself, and anything else by its hash."""
    at = begin
    negative = at < end and texts[at] == MINUS
    if at < end and (texts[at] == MINUS or texts[at] == PLUS):
        at += 1
    first = at
    while at < end and ZERO <= texts[at] <= NINE:
        at += 1
    last = at
    whole = last > first
    if whole and at < end and texts[at] == POINT:
        at += 1
        while at < end and texts[at] == ZERO:
            at += 1
    if not (whole and at == end):
        first, last, negative = begin, end, False
    else:
        while first < last - 1 and texts[first] == ZERO:
            first += 1
        if last - first <= LARGEST:
            number = np.int64(0)
            for digit in range(first, last):
                number = number * 10 + np.int64(texts[digit] - ZERO)
            return np.uint64(-number if negative else number)
    word = (BASIS ^ np.uint64(MINUS)) * PRIME if negative else BASIS
    for place in range(first, last):
        word = (word ^ np.uint64(texts[place])) * PRIME
    return word
