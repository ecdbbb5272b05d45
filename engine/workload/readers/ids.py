"""The rule for ids: how a cell becomes a token of 64 bits.

Texts and all types of Parquet columns have the same rule. Blanks around a cell do not count, nor does a pair of quotation marks.
A whole decimal number has one id in all its spellings: 12, 012, +12 and 12.0 are the same id. Each other cell is identified by
the FNV-1a hash of its text. A null, NaN, empty or blank cell is missing; all missing cells have one token of their own.
Hexadecimal ids (Criteo's) are texts, in which upper and lower case are equal. Bytes that are no text (of a fixed size, or with
characters other than printable ASCII) are identified by all their bytes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from pyarrow import ArrowException, compute, types

from ...core import figures
from ...core.arrays import Bytes, Ints, Words
from ...core.jit import entry_kernel, inner_kernel
from ...errors import BadFile

BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # of FNV-1a
MISSING_TOKEN = BASIS  # the hash of the empty text
HEXADECIMAL = np.array([chr(byte) in "0123456789abcdefABCDEF" for byte in range(256)])
BLANK = np.array([chr(byte) in " \t\n\r\v\f" for byte in range(256)])
ZERO, NINE, POINT, PLUS, MINUS, QUOTE, SPACE, TILDE = (ord(letter) for letter in '09.+-" ~')
AS_TEXT, BYTES_OR_TEXT, AS_BYTES = range(3)  # kinds of a column's cells
MAX_DIGITS, UPPER_A, UPPER_F, LOWER = 18, ord("A"), ord("F"), 32  # LARGEST: digits that surely fit into 63 bits
Place = Callable[[int], str]  # from a cell's row to its place and column, as the beginning of a message


def id_tokens(column: Any, place: Place, longest: int = 0) -> Words:
    """Return the token of each cell of an Arrow column.

    If `longest` is not 0, an id may have at most so many hexadecimal digits. Raises BadFile for a cell that is no id.
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
    widened = column.cast("int64" if signed else "uint64")
    numbers: Words = np.array(widened.fill_null(0).to_numpy(zero_copy_only=False)).view(np.uint64)
    if not signed and (large := numbers >= 2**63).any():
        numbers[large] = _texts(_as_text(widened.filter(_mask(large)), place), place, 0)
    numbers[column.is_null().to_numpy(zero_copy_only=False)] = MISSING_TOKEN
    return numbers


def _mask(flags: Any) -> Any:
    from pyarrow import array

    return array(flags)


def _floats(column: Any) -> Words:
    """Return the tokens of floats: whole floats as whole numbers, other floats by their shortest text."""
    widened = column.cast("float64")
    numbers = widened.fill_null(np.nan).to_numpy(zero_copy_only=False)
    is_missing = np.isnan(numbers)
    is_whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**63)
    column_tokens: Words = np.where(is_whole, numbers, 0.0).astype(np.int64).view(np.uint64)
    if (needs_text := ~(is_whole | is_missing)).any():
        texts = column.filter(_mask(needs_text)).cast("float32" if types.is_float16(column.type) else column.type)
        column_tokens[needs_text] = _texts(texts.cast("large_string"), str, 0)
    column_tokens[is_missing] = MISSING_TOKEN
    return column_tokens


def _texts(texts: Any, place: Place, longest: int, mode: int = AS_TEXT) -> Words:
    if mode == AS_TEXT and not compute.all(compute.string_is_ascii(texts), min_count=0).as_py():
        texts = compute.utf8_trim_whitespace(texts)  # Unicode has more blanks than ASCII
    _, starts, characters = texts.buffers()
    starts = np.frombuffer(starts, np.int64)[texts.offset :]
    text_tokens = np.empty(len(texts), np.uint64)
    bad_row = _hash(np.frombuffer(characters or b"", np.uint8), starts, text_tokens, longest, mode)
    if bad_row >= 0:
        cell = str(texts[bad_row].as_py()).strip()
        length_text = f" of {figures.count(len(cell), 'character')}" if len(cell) > 40 else ""
        raise BadFile(
            f"{place(bad_row)}={cell[:40]!r}{length_text} is not an id; write up to {longest} hexadecimal digits, or nothing."
        )
    return text_tokens


@entry_kernel
def _hash(texts: Bytes, starts: Ints, text_tokens: Words, longest: int, mode: int) -> int:
    """Fill in the token of each text; return the first text that is no id, or -1.

    If `longest` is not 0, an id has at most so many hexadecimal digits.
    """
    for i in range(len(text_tokens)):
        start, end = starts[i], starts[i + 1]
        if mode == AS_BYTES or (mode == BYTES_OR_TEXT and not _is_printable(texts, start, end)):
            text_tokens[i] = _word(texts, start, end)
            continue
        start, end = _trimmed(texts, start, end)
        if end - start > 1 and texts[start] == QUOTE and texts[end - 1] == QUOTE:
            start, end = _trimmed(texts, start + 1, end - 1)
        if longest:
            if end - start > longest:
                return i
            for position in range(start, end):
                if not HEXADECIMAL[texts[position]]:
                    return i
            text_tokens[i] = _hexadecimal(texts, start, end)
        else:
            text_tokens[i] = _decimal(texts, start, end)
    return -1


@inner_kernel
def _trimmed(texts: Any, start: Any, end: Any) -> Any:
    """Return the start and end of a text without blanks around the text."""
    while start < end and BLANK[texts[start]]:
        start += 1
    while start < end and BLANK[texts[end - 1]]:
        end -= 1
    return start, end


@inner_kernel
def _is_printable(texts: Any, start: Any, end: Any) -> Any:
    printable = True
    for position in range(start, end):
        printable &= SPACE <= texts[position] <= TILDE
    return printable


@inner_kernel
def _word(texts: Any, start: Any, end: Any) -> Any:
    word = BASIS
    for position in range(start, end):
        word = (word ^ np.uint64(texts[position])) * PRIME
    return word


@inner_kernel
def _hexadecimal(texts: Any, start: Any, end: Any) -> Any:
    word = BASIS
    for position in range(start, end):
        byte = texts[position]
        word = (word ^ np.uint64(byte + LOWER if UPPER_A <= byte <= UPPER_F else byte)) * PRIME
    return word


@inner_kernel
def _decimal(texts: Any, start: Any, end: Any) -> Any:
    """Return the token of a text: a whole number as itself, any other text by its hash."""
    position = start
    negative = position < end and texts[position] == MINUS
    if position < end and (texts[position] == MINUS or texts[position] == PLUS):
        position += 1
    digits_start = position
    while position < end and ZERO <= texts[position] <= NINE:
        position += 1
    digits_end = position
    has_digits = digits_end > digits_start
    if has_digits and position < end and texts[position] == POINT:
        position += 1
        while position < end and texts[position] == ZERO:
            position += 1
    if not (has_digits and position == end):
        digits_start, digits_end, negative = start, end, False
    else:
        while digits_start < digits_end - 1 and texts[digits_start] == ZERO:
            digits_start += 1
        if digits_end - digits_start <= MAX_DIGITS:
            number = np.int64(0)
            for digit in range(digits_start, digits_end):
                number = number * 10 + np.int64(texts[digit] - ZERO)
            return np.uint64(-number if negative else number)
    word = (BASIS ^ np.uint64(MINUS)) * PRIME if negative else BASIS
    for digit_position in range(digits_start, digits_end):
        word = (word ^ np.uint64(texts[digit_position])) * PRIME
    return word
