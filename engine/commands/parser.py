"""The command line's grammar: every complaint is one sentence, and what several commands share."""

import argparse
import sys
from functools import partial
from math import nan
from typing import Any, NoReturn

from ..core.catalog import VARIABLE
from ..core.figures import exact
from ..errors import BadInput
from ..paths import written_path
from ..store.database import DEFAULT
from . import output

Subparsers = Any  # argparse keeps this type private
A_BUG, BAD_INPUT, FAILED, INTERRUPTED = 1, 2, 3, 130  # exit statuses beside 0
NO_VERDICT = A_BUG  # of a check that could not finish what it looked at


class Parser(argparse.ArgumentParser):
    """Complains by raising BadInput instead of printing its usage; every command takes a folder of one's own parts."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **more})
        told = f"take the parts of a folder too, DIR/gpu/NAME.toml and the like ({VARIABLE})"
        self.add_argument("--parts-dir", type=written_path, default=argparse.SUPPRESS, metavar="DIR", help=told)

    def error(self, message: str) -> NoReturn:
        """Raise the complaint as one sentence."""
        raise BadInput(f"{message}; see `{self.prog} --help`.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help or versions to standard output; raises BadFile where they would be lost, which argparse hides."""
        if file is None or file is sys.stdout:
            output.write(output.STANDARD, message)
        else:
            super()._print_message(message, file)


def add_outputs(parser: argparse.ArgumentParser, csv_required: bool = False) -> None:
    """Declare where the table of results goes."""
    parser.add_argument("--csv", metavar="FILE", required=csv_required, help="write the table here; - is standard output")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Declare where finished points are kept, and how many are computed at once."""
    parser.add_argument(
        "--store", type=written_path, default=DEFAULT, metavar="FILE", help=f"keep finished points here ({DEFAULT})"
    )
    parser.add_argument("--jobs", type=jobs, metavar="N", help="points computed at once (-1, one per core)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="compute on the workers of a Dask scheduler, as in tcp://HOST:8786")


def number(text: str) -> float:
    """Read a number; what is none is NaN, which lies in no range."""
    try:
        return float(text)
    except ValueError:
        return nan


def amount(text: str, what: str, least: float, most: float) -> float:
    """Read a number of something from `least` to `most`."""
    if not least <= number(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} from {exact(least)} to {exact(most)}")
    return number(text)


def percentage(text: str, least: float, most: float) -> float:
    """Read a number of percent, with its sign or without."""
    return amount(text.strip().removesuffix("%"), "percent", least, most)


def positive(text: str, what: str, most: float) -> float:
    """Read a number of something above 0 and up to `most`."""
    if not 0 < number(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} above 0 and up to {exact(most)}")
    return number(text)


def whole_number(text: str, what: str, most: int, least: int = 1) -> int:
    """Read a whole number from `least` to `most`."""
    if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} from {least} to {most}")
    return int(text)


def jobs(text: str) -> int | None:
    """Read a number of workers; None is one per core, as is -1 in scripts and in joblib."""
    return None if text.strip() == "-1" else whole_number(text, "workers", 1024)


points = partial(whole_number, what="points", most=100_000)
