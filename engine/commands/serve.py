"""`serve`: computes whatever is asked for in a store, until idle; the explorer starts it by itself."""

import argparse

from engine.commands.parser import Subparsers, add_store, seconds
from engine.service import IDLE_EXIT_SECONDS, serve


def add(commands: Subparsers) -> None:
    """Declare the command."""
    parser = commands.add_parser("serve", help="compute what the explorer and sweeps ask for")
    add_store(parser)
    parser.add_argument(
        "--idle-exit", type=seconds, default=IDLE_EXIT_SECONDS, metavar="SECONDS", help="leave when idle for so long"
    )
    parser.set_defaults(call=call)


def call(arguments: argparse.Namespace) -> int:
    """Serve until idle; returns the exit status."""
    serve(arguments.store, arguments.jobs, arguments.idle_exit, cluster=arguments.cluster)
    return 0
