"""The targets of output: a file, written whole or not at all, or standard output for `-`."""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import BadFile, BadInput
from ..results.csv_table import check_writable, write_atomically

STANDARD = "-"
TARGETS = ("csv", "json", "trace", "bib", "toml")  # arguments of commands that name one


def check(arguments: argparse.Namespace) -> None:
    """Refuse a command's targets that cannot be written, before anything long begins; raises BadInput."""
    given = [vars(arguments).get(name) for name in TARGETS]
    targets = [target for target in given if isinstance(target, str)]
    if targets.count(STANDARD) > 1:
        raise BadInput("Only one output can be - (standard output); name a file for the other.")
    for target in targets:
        if target != STANDARD:
            check_writable(Path(target))


def write(target: str, text: str | Iterable[str]) -> None:
    """Write the text, whole or in pieces, to the target; raises BadFile."""
    if target != STANDARD:
        write_atomically(Path(target), text)
        return
    try:
        sys.stdout.writelines([text] if isinstance(text, str) else text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence()
    except OSError as error:
        silence()
        raise BadFile(f"Standard output cannot be written: {error.strerror}; name a file instead.") from error


def write_json_or(target: str | None, content: Any, text: str) -> None:
    """Write the content as JSON to the target; without one, the text for people to standard output."""
    write(target or STANDARD, json.dumps(content, indent=1) + "\n" if target else text)


def silence() -> None:
    """Send what is still unwritten nowhere: its reader, such as `head`, has gone, or its disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
