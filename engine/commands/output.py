"""The targets of output: a file, written whole or not at all, or standard output for `-`, whatever its encoding."""

import argparse
import codecs
import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any

from ..errors import BadFile, BadInput
from ..paths import written_path
from ..results.csv_table import check_writable, write_atomically

STANDARD = "-"
TARGETS = ("csv", "json", "trace", "bib", "toml")  # arguments of commands that name one
# A unit must stay legible where the terminal's encoding lacks its sign: "?s" may be any second.
SIGNS = {"µ": "u", "μ": "u", "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "\N{MINUS SIGN}": "-", "·": ".", "█": "#"}
SIGNS |= dict.fromkeys("\N{EN DASH}\N{EM DASH}\N{HYPHEN}", "-")
LEGIBLE = "emberpool.legible"


def legible(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for characters that an encoding lacks, and where to go on; letters lose their accents."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(SIGNS.get(one) or _plain(one) for one in characters), error.end


def _plain(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character)
    return "".join(one for one in decomposed if one.isascii() and one.isprintable()) or "?"


codecs.register_error(LEGIBLE, legible)


def open_streams() -> None:
    """Make both standard streams take any character; a closed one for complaints and progress leads nowhere."""
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (it stays open to the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=LEGIBLE)


def check(arguments: argparse.Namespace) -> None:
    """Refuse a command's targets that cannot be written, before anything long begins; raises BadInput."""
    given = [vars(arguments).get(name) for name in TARGETS]
    targets = [target for target in given if isinstance(target, str)]
    if targets.count(STANDARD) > 1:
        raise BadInput("Only one output can be - (standard output); name a file for the other.")
    for target in targets:
        if target != STANDARD:
            check_writable(written_path(target))


def write(target: str, text: str | Iterable[str]) -> None:
    """Write the text, whole or in pieces, to the target; raises BadFile."""
    if target != STANDARD:
        write_atomically(written_path(target), text)
        return
    if sys.stdout is None:
        raise BadFile("Standard output is closed; name a file instead.")
    try:
        sys.stdout.writelines([text] if isinstance(text, str) else text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        raise BadFile(f"Standard output cannot be written: {error.strerror}; name a file instead.") from error


def note(sentence: str) -> None:
    """Tell a reservation about what a command wrote, if there is one, on standard error."""
    if sentence:
        print(f"Note: {sentence}", file=sys.stderr)


def write_json_or(target: str | None, content: Any, text: str) -> None:
    """Write the content as JSON to the target; without one, the text for people to standard output."""
    write(target or STANDARD, json.dumps(content, indent=1) + "\n" if target else text)


def silence() -> None:
    """Send what is still unwritten nowhere: its reader, such as `head`, has gone, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
