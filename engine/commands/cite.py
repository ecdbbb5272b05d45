"""`cite`: BibTeX of the works on which a scenario's results are based."""

import argparse

from ..results.citations import bibtex
from . import output, scenario_arguments
from .parser import Subparsers


def add(commands: Subparsers) -> None:
    """Add this command and its arguments to the command line's parser."""
    parser = commands.add_parser("cite", help="write BibTeX entries of the sources of a scenario's results")
    scenario_arguments.add(parser)
    parser.add_argument("--bib", metavar="FILE", default=output.STANDARD, help="write the BibTeX here; - is standard output")
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Write the entries; returns 0."""
    output.write(arguments.bib, bibtex(scenario_arguments.selected_scenario(arguments).scenario))
    return 0
