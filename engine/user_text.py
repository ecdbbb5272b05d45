"""Text files of users: UTF-8, JSON that has one reading, and TOML.

All functions raise BadFile. Its sentence begins with `name`, which is the file's name or another subject.
"""

import json
import re
import tomllib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from .errors import BadFile
from .paths import read_regular

# Control characters but line feed and tab, marks of direction and width, line separators, lone surrogates, tags.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
MAX_FILE_BYTES = 1 << 26  # of a text that is read whole

BYTE_ORDER_MARKS = {BOM_UTF32_LE: "UTF-32", BOM_UTF32_BE: "UTF-32", BOM_UTF16_LE: "UTF-16", BOM_UTF16_BE: "UTF-16"}
HEAD_BYTES = 1000  # of a text in which NUL bytes show UTF-16 without a byte order mark
LEAST_NUL_SHARE = 0.9  # of every second byte: Latin text in UTF-16 has a NUL in nearly each of them


def visible(text: str) -> str:
    """Return a text for a terminal: control characters and marks of direction become escapes."""
    return HIDDEN.sub(lambda letter: letter[0].encode("unicode_escape").decode("ascii"), text)


def decoded(content: bytes, name: object) -> str:
    """Return the text of a user's bytes in UTF-8, without a byte order mark.

    Each line of the text ends in a line feed alone.
    """
    if encoding := _wide_encoding(content):
        raise BadFile(f"{name}:1: the text is {encoding}, but it must be UTF-8; save it as UTF-8.")
    try:
        text = content.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, error.object[error.start]
        raise BadFile(
            f"{name}:{line}: byte {hex(byte)} is not UTF-8; the text may be ISO-8859-1 or Windows-1252; save it as UTF-8."
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _wide_encoding(content: bytes) -> str:
    """Return the name of an encoding of two or four bytes a character that the bytes show, else ""."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return encoding
    head = content[:HEAD_BYTES]
    halves = (head[::2], head[1::2]) if len(head) >= 4 else ()
    return "UTF-16" if any(half.count(0) >= LEAST_NUL_SHARE * len(half) for half in halves) else ""


def decoded_file(path: Path, name: object = "", most_bytes: int = MAX_FILE_BYTES) -> str:
    """Return the text of a user's file of at most `most_bytes`.

    `name` is the path if it is not given.
    """
    return decoded(read_regular(path, most_bytes), name or path)


def toml_table(text: str, name: object, remedy: str = "correct that line") -> dict[str, Any]:
    """Return the table of a TOML text; its refusal ends in `remedy`."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for a number of too many digits
        raise BadFile(f"{name} is not valid TOML: {str(error).rstrip('.')}; {remedy}.") from None


def read_toml_table(path: Path, name: object = "", most_bytes: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """Return the table of a user's TOML file of at most `most_bytes`.

    `name` is the path if it is not given.
    """
    return toml_table(decoded_file(path, name, most_bytes), name or path)


def json_content(text: str, name: object) -> Any:
    """Return the content of a JSON text with distinct keys and finite numbers.

    Raises ValueError and RecursionError for a text that is no JSON, and BadFile for JSON with more than one reading.
    """

    def object_of(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            ((key, times),) = Counter(key for key, _ in pairs).most_common(1)
            raise BadFile(
                f"{name} has the key {key[:60]!r} {times} times in one object; keep one of them.",
                kind="a key stands twice",
            )
        return content

    def refused_number(word: str) -> float:
        raise BadFile(f"{name} has {word[:60]} as a number; write a finite number.", kind="a number is not finite")

    def finite_number(word: str) -> float:
        return number if isfinite(number := float(word)) else refused_number(word)

    return json.loads(
        text.removeprefix("\ufeff"), object_pairs_hook=object_of, parse_constant=refused_number, parse_float=finite_number
    )
