"""Output of commands to a file, or to standard output for `-`.

A file is written completely or not at all; standard output can have any encoding.
"""

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
from ..paths import user_path
from ..results.csv_table import check_can_write, write_atomically
from ..user_text import visible

STANDARD = "-"
TARGETS = ("csv", "json", "trace", "artefact", "bib", "toml", "plan")  # arguments of commands that name one
# A unit must stay legible where the terminal's encoding lacks its sign: "?s" could be any unit of seconds.
SIGNS = {"µ": "u", "μ": "u", "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "\N{MINUS SIGN}": "-", "·": ".", "→": "to"}
SIGNS |= {"█": "#", "∞": "inf"}
SIGNS |= dict.fromkeys("\N{EN DASH}\N{EM DASH}\N{HYPHEN}", "-")
LEGIBLE = "emberpool.legible"


def ascii_fallback(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for characters that an encoding lacks, and the position after them.

    Accented letters become plain letters.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    characters = error.object[error.start : error.end]
    return "".join(SIGNS.get(character) or _ascii_text(character) for character in characters), error.end


def _ascii_text(character: str) -> str:
    decomposed = unicodedata.normalize("NFKD", character)
    return "".join(letter for letter in decomposed if letter.isascii() and letter.isprintable()) or "?"


codecs.register_error(LEGIBLE, ascii_fallback)


def open_streams() -> None:
    """Let standard output and standard error accept any character.

    Text to a closed stream is dropped, in this process and in workers.
    """
    process.open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=LEGIBLE)


def check(arguments: argparse.Namespace) -> None:
    """Raise BadInput for output files that cannot be written, before long work begins."""
    arguments_given = [vars(arguments).get(name) for name in TARGETS]
    targets = [target for target in arguments_given if isinstance(target, str)]
    if vars(arguments).get("artefact") == STANDARD:
        raise BadInput("An artefact is a zip file, which cannot go to standard output; name a file.")
    if targets.count(STANDARD) > 1:
        raise BadInput("Only one output can be - (standard output); name a file for the other.")
    for target in targets:
        if target != STANDARD:
            check_can_write(user_path(target))


def write(target: str, text: str | bytes | Iterable[str]) -> None:
    """Write a text, pieces of a text, or bytes to the target; raises BadFile."""
    if target != STANDARD:
        write_atomically(user_path(target), text)
        return
    assert not isinstance(text, bytes)  # `check` has refused it
    if isinstance(sys.stdout, process.ClosedStream):
        raise BadFile("Standard output is closed; name a file instead.")
    try:
        sys.stdout.writelines([text] if isinstance(text, str) else text)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stream()
    except OSError as error:
        drop_stream()
        raise BadFile(f"Standard output cannot be written: {error.strerror}; name a file instead.") from error


def write_for_people(text: str, *targets: str | None) -> None:
    """Write the text for people to standard output, unless a target is standard output.

    Control characters in names that others have written are escaped. If all targets are files, a failure to write this text is
    only noted on standard error.
    """
    chosen_targets = [target for target in targets if target]
    if STANDARD in chosen_targets:
        return
    try:
        write(STANDARD, visible(text))
    except BadFile as error:
        if not chosen_targets:
            raise
        if not isinstance(sys.stdout, process.ClosedStream):  # who has closed it wants no summary
            note(
                f"{str(error).partition(';')[0]}, so the summary is lost; the requested output is in "
                f"{' and '.join(chosen_targets)}."
            )


def note(sentence: str) -> None:
    """Print a note about a command's output on standard error; print nothing for ""."""
    if sentence:
        tell(f"Note: {sentence}")


def tell(sentence: str) -> None:
    """Print a sentence on standard error, with control characters escaped."""
    print(visible(sentence), file=sys.stderr, flush=True)


def write_json_or(target: str | None, content: Any, text: str) -> None:
    """Write the content as JSON to the target, if there is one.

    Without a target, write the text for people to standard output.
    """
    write(target or STANDARD, json.dumps(content, indent=1) + "\n" if target else visible(text))


def drop_stream(stream: TextIO | None = None) -> None:
    """Discard all further output to a stream, standard output by default.

    It is called when the stream's reader, such as `head`, has ended, or the disk is full.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, (stream or sys.stdout).fileno())
    os.close(nowhere)
