"""The targets of output: a file, written whole or not at all, or standard output for `-`, whatever its encoding."""

import argparse
import codecs
import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any, TextIO

from ..core import process
from ..errors import BadFile, BadInput
from ..paths import written_path
from ..results.csv_table import check_writable, write_atomically

STANDARD = "-"
TARGETS = ("csv", "json", "trace", "artefact", "bib", "toml", "plan")  # arguments of commands that name one
# A unit must stay legible where the terminal's encoding lacks its sign: "?s" may be any second.
SIGNS = {"µ": "u", "μ": "u", "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "\N{MINUS SIGN}": "-", "·": ".", "█": "#", "∞": "inf"}
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
    """Make both standard streams take any character; what is closed leads nowhere, here and in workers."""
    process.open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=LEGIBLE)


def check(arguments: argparse.Namespace) -> None:
    """Refuse a command's targets that cannot be written, before anything long begins; raises BadInput."""
    given = [vars(arguments).get(name) for name in TARGETS]
    targets = [target for target in given if isinstance(target, str)]
    if vars(arguments).get("artefact") == STANDARD:
        raise BadInput("An artefact is no text for standard output; name a file.")
    if targets.count(STANDARD) > 1:
        raise BadInput("Only one output can be - (standard output); name a file for the other.")
    for target in targets:
        if target != STANDARD:
            check_writable(written_path(target))


def write(target: str, text: str | bytes | Iterable[str]) -> None:
    """Write the text, whole or in pieces, or bytes, to the target; raises BadFile."""
    if target != STANDARD:
        write_atomically(written_path(target), text)
        return
    assert not isinstance(text, bytes)  # `check` has refused it
    if isinstance(sys.stdout, process.ClosedStream):
        raise BadFile("Standard output is closed; name a file instead.")
    try:
        sys.stdout.writelines([text] if isinstance(text, str) else text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        raise BadFile(f"Standard output cannot be written: {error.strerror}; name a file instead.") from error


def say(text: str, *targets: str | None) -> None:
    """Write the text for people to standard output unless a target is that; beside another one its loss is only noted."""
    named = [target for target in targets if target]
    if STANDARD in named:
        return
    try:
        write(STANDARD, text)
    except BadFile as error:
        if not named:
            raise
        if not isinstance(sys.stdout, process.ClosedStream):  # who has closed it wants no summary
            note(f"{str(error).partition(';')[0]}, so the summary is lost; {' and '.join(named)} has what was asked for.")


def note(sentence: str) -> None:
    """Tell a reservation about what a command wrote, if there is one, on standard error."""
    if sentence:
        print(f"Note: {sentence}", file=sys.stderr)


def write_json_or(target: str | None, content: Any, text: str) -> None:
    """Write the content as JSON to the target; without one, the text for people to standard output."""
    write(target or STANDARD, json.dumps(content, indent=1) + "\n" if target else text)


def silence(stream: TextIO | None = None) -> None:
    """Send what is still unwritten nowhere: its reader, such as `head`, has gone, or its disk is full."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (stream or sys.stdout).fileno())
    os.close(nowhere)
