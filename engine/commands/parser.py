"""The command line's parser, and arguments that several commands share.

A refused argument gives one sentence.
"""

import argparse
import sys
from functools import partial
from math import nan
from typing import Any, NoReturn

from ..core.catalog import VARIABLE
from ..core.figures import exact
from ..errors import BadInput
from ..paths import user_path
from ..scenario.presets import VARIABLE as PRESETS_VARIABLE
from ..store.database import DEFAULT
from . import output

Subparsers = Any  # argparse keeps this type private
BUG, BAD_INPUT, FAILED, INTERRUPTED = 1, 2, 3, 130  # exit statuses beside 0
NO_VERDICT = BUG  # of a check that could not finish


class Parser(argparse.ArgumentParser):
    """A parser that raises BadInput instead of printing its usage.

    Every command accepts a folder of the user's own parts, and a folder of own presets.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **options})
        help_text = f"take the parts of a folder too, DIR/gpu/NAME.toml and the like ({VARIABLE})"
        self.add_argument("--parts-dir", type=user_path, default=argparse.SUPPRESS, metavar="DIR", help=help_text)
        help_text = f"take the presets of a folder too, DIR/NAME.toml ({PRESETS_VARIABLE})"
        self.add_argument("--presets-dir", type=user_path, default=argparse.SUPPRESS, metavar="DIR", help=help_text)

    def error(self, message: str) -> NoReturn:
        """Raise BadInput with the message as one sentence."""
        raise BadInput(f"{message}; see `{self.prog} --help`.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help or versions to standard output; raises BadFile where they would be lost, which argparse hides."""
        if file is None or file is sys.stdout:
            output.write(output.STANDARD, message)
        else:
            super()._print_message(message, file)


def add_outputs(parser: argparse.ArgumentParser, csv_required: bool = False) -> None:
    """Declare the arguments that say where the table of results is written."""
    parser.add_argument("--csv", metavar="FILE", required=csv_required, help="write the table here; - is standard output")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments for the store of finished points, and for the number of workers."""
    parser.add_argument("--store", type=user_path, default=DEFAULT, metavar="FILE", help=f"keep finished points here ({DEFAULT})")
    workers = parser.add_mutually_exclusive_group()
    workers.add_argument("--jobs", type=jobs, metavar="N", help="points computed at once (-1, one per core)")
    workers.add_argument("--cluster", metavar="ADDRESS", help="compute on the workers of a Dask scheduler, as in tcp://HOST:8786")


def number(text: str) -> float:
    """Return the number that a text states.

    Return NaN, which lies in no range, for a text that states no number.
    """
    try:
        return float(text)
    except ValueError:
        return nan


def amount(text: str, noun: str, minimum: float, maximum: float) -> float:
    """Return the number of a text, from `minimum` to `maximum`.

    noun: the unit, for the sentence that refuses another number.
    """
    if not minimum <= number(text) <= maximum:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {noun} from {exact(minimum)} to {exact(maximum)}")
    return number(text)


def percentage(text: str, minimum: float, maximum: float) -> float:
    """Return the percentage that a text states, with or without "%"."""
    return amount(text.strip().removesuffix("%"), "percent", minimum, maximum)


def positive(text: str, noun: str, maximum: float) -> float:
    """Return the number of a text, above 0 and at most `maximum`.

    noun: the unit, for the sentence that refuses another number.
    """
    if not 0 < number(text) <= maximum:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {noun} above 0 and up to {exact(maximum)}")
    return number(text)


def whole_number(text: str, what: str, most: int, least: int = 1) -> int:
    """Return the whole number of a text, from `least` to `most`.

    what: the unit, for the sentence that refuses another number.
    """
    if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} from {least} to {most}")
    return int(text)


def jobs(text: str) -> int | None:
    """Return the number of workers that a text states.

    Return None for -1, which means one worker for each core, as in joblib.
    """
    return None if text.strip() == "-1" else whole_number(text, "workers", 1024)


points = partial(whole_number, what="points", most=100_000)
